"""What the local Laplacian filter computes, written with NumPy alone, in float64; gray values are
float32, since they choose from a table.
"""

import numpy as np

from tests.apps.formulas_blending import MARGIN, bands, doubled, pyramid


def local_laplacian(inputs, ranges, levels, intensities, alpha, beta):
    (x, width), (y, height), _ = ranges
    image = inputs["input"]
    red, green, blue = image / np.float32(65535)
    gray = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    centers = np.arange(intensities) / (intensities - 1)
    step = np.clip((gray * np.float32((intensities - 1) * 256)).astype(int), 0, None)
    step = np.minimum(step, (intensities - 1) * 256)
    remapped = []
    for k, center in enumerate(centers):
        t = step / 256 - k
        curve = alpha * t * np.exp(-t * t / 2)
        remapped.append(bands(pyramid(beta * (gray - center) + center + curve, levels)))

    mixed = []
    for level, plain in enumerate(pyramid(gray, levels)):
        place = plain * (intensities - 1)
        lower = np.clip(np.floor(place).astype(int), 0, intensities - 2)
        near = np.stack([bands_[level] for bands_ in remapped])
        below, above = (np.take_along_axis(near, (lower + i)[None], 0)[0] for i in (0, 1))
        mixed.append(below + (place - lower) * (above - below))
    rebuilt = mixed[-1]
    for band in reversed(mixed[:-1]):
        rebuilt = doubled(rebuilt) + band
    inner = (slice(y, y + height), slice(x, x + width))
    wanted = rebuilt[MARGIN : MARGIN + gray.shape[0], MARGIN : MARGIN + gray.shape[1]][inner]
    scaled = image[:, *inner] * (wanted + 0.01) / (gray[inner] + 0.01)
    return np.clip(scaled, 0, 65535)
