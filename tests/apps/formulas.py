"""The values of each app in NumPy: slices, without schedules and expressions."""

import itertools

import numpy as np

LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def photograph(height, width, seed=0):
    """Random pixels, 8-bit RGB."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def blur(inputs, ranges):
    image = inputs["input"]
    across = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) // np.uint16(3)
    return (across[:-2] + across[1:-1] + across[2:]) // np.uint16(3)


def unsharp(inputs, ranges):
    image = inputs["input"].astype(np.float64)
    height, width = image.shape[1:]
    gray = np.tensordot(LUMA.astype(np.float64), image, 1)
    weights = np.exp(-(np.arange(-3, 4) ** 2) / 4.5) / (np.sqrt(2 * np.pi) * 1.5)
    padded = np.pad(gray, 3, mode="edge")
    down = sum(w * padded[i : i + height] for i, w in enumerate(weights))
    blurred = sum(w * down[:, i : i + width] for i, w in enumerate(weights))
    return (2 * gray - blurred) / gray * image


def harris(inputs, ranges, k=0.04):
    gray = np.tensordot(LUMA.astype(np.float64), inputs["input"].astype(np.float64), 1)
    smooth = gray[:-2] + 2 * gray[1:-1] + gray[2:]
    ix = (smooth[:, 2:] - smooth[:, :-2]) / 12
    smooth = gray[:, :-2] + 2 * gray[:, 1:-1] + gray[:, 2:]
    iy = (smooth[2:] - smooth[:-2]) / 12

    def box(a):
        rows = a[:-2] + a[1:-1] + a[2:]
        return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]

    sxx, syy, sxy = box(ix * ix), box(iy * iy), box(ix * iy)
    return sxx * syy - sxy * sxy - k * (sxx + syy) ** 2


def toy_trig(inputs, ranges):
    (x0, width), (y0, height) = ranges
    x, y = np.arange(x0, x0 + width + 1), np.arange(y0, y0 + height + 1)
    with np.errstate(invalid="ignore"):
        g = np.sqrt(np.cos(x)[None, :] + np.sin(y)[:, None])
    return g[:-1, :-1] + g[:-1, 1:] + g[1:, :-1] + g[1:, 1:]


def toy_blur(inputs, ranges):
    image = inputs["input"].astype(np.float64)
    once = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) / 3
    return (once[:, :-2] + once[:, 1:-1] + once[:, 2:]) / 3


def toy_sum(inputs, ranges):
    (x0, width), (y0, height) = ranges
    return np.add.outer(np.arange(y0, y0 + height), np.arange(x0, x0 + width))


def bilateral_grid(inputs, ranges, cell=8, steps=10):
    image = inputs["input"].astype(np.float64)
    height, width = image.shape
    beyond = 4 * cell
    padded = np.pad(image, beyond, mode="edge")
    rows, columns = ((np.arange(n) + cell // 2) // cell for n in padded.shape)
    # Cells are counted from -4, and intensities from -2, with room for the blur on both sides.
    grid = np.zeros((2, rows[-1] + 1, columns[-1] + 1, steps + 6))
    place = rows[:, None], columns[None, :], (padded * steps + 0.5).astype(int) + 2
    np.add.at(grid[0], place, padded)
    np.add.at(grid[1], place, 1.0)
    for axis in (1, 2, 3):
        grid = np.apply_along_axis(np.convolve, axis, grid, [1, 4, 6, 4, 1], "same")
    y, x, z = np.arange(height) / cell + 4, np.arange(width) / cell + 4, image * steps + 2
    total = np.zeros((2, height, width))
    for corner in np.ndindex(2, 2, 2):
        at, weight = [], 1.0
        for place, far in zip((y[:, None], x[None, :], z), corner, strict=True):
            part = place - np.floor(place)
            at.append(np.floor(place).astype(int) + far)
            weight = weight * (part if far else 1 - part)
        total += weight * grid[:, *at]
    return total[0] / total[1]


def hist(inputs, ranges):
    image = inputs["input"].astype(np.float32)
    gray = image[0] * LUMA[0] + image[1] * LUMA[1] + image[2] * LUMA[2]
    level = np.clip(gray, 0, 255).astype(np.uint8)
    brighter = np.cumsum(np.bincount(level.ravel(), minlength=256)).astype(np.float32)
    even = np.clip(brighter[level] * np.float32(255 / gray.size), 0, 255)
    red = (image[0] - gray) * np.float32(0.713) + np.float32(128) - np.float32(128)
    blue = (image[2] - gray) * np.float32(0.564) + np.float32(128) - np.float32(128)
    green = even - np.float32(0.343) * blue - np.float32(0.711) * red
    planes = np.stack([even + red * np.float32(1.4), green, even + blue * np.float32(1.765)])
    return np.clip(planes, 0, 255).astype(np.uint8)


def interpolate(inputs, ranges, levels=10, limited=4):
    """Along each axis, a step from level to level is a matrix."""
    image = inputs["input"].astype(np.float64)
    across, along = (_pyramid(extent, levels, limited) for extent in image.shape[:0:-1])
    image = np.concatenate([image[:3] * image[3:], image[3:]])
    shrunk = [along[0][0] @ image @ across[0][0].T]
    for level in range(1, levels):
        shrunk.append(along[0][level] @ shrunk[-1] @ across[0][level].T)
    filled = shrunk[-1]
    for level in reversed(range(levels - 1)):
        coarser = along[1][level] @ filled @ across[1][level].T
        filled = shrunk[level] + (1 - shrunk[level][3]) * coarser
    height, width = image.shape[1:]
    top, left = (-_lows(extent, levels, limited)[0] for extent in image.shape[1:])
    result = filled[:, top : top + height, left : left + width]
    return result[:3] / result[3]


def _places(extent, levels, limited):
    """The coordinates of each level that the finest one depends on, as (first, last)."""
    read = [(0, extent - 1)]
    for _ in range(1, levels):
        read.append((read[-1][0] // 2, (read[-1][1] + 1) // 2))
    for level in reversed(range(1, levels)):
        low, high = 2 * read[level][0] - 1, 2 * read[level][1] + 1
        if level == limited:
            low, high = 0, extent >> (limited - 1)
        low, high = min(low, read[level - 1][0]), max(high, read[level - 1][1])
        read[level - 1] = low, high
    return read


def _lows(extent, levels, limited):
    return [low for low, _ in _places(extent, levels, limited)]


def _pyramid(extent, levels, limited):
    """Matrices from each level to the coarser, the first from the image, and to the finer."""
    places = [np.arange(low, high + 1) for low, high in _places(extent, levels, limited)]
    down = [np.eye(extent)[np.clip(places[0], 0, extent - 1)]]
    up = []
    for level, (finer, coarser) in enumerate(itertools.pairwise(places), start=1):
        matrix = np.zeros((len(coarser), len(finer)))
        for offset, weight in ((-1, 0.25), (0, 0.5), (1, 0.25)):
            at = 2 * coarser + offset
            if level == limited:
                at = np.clip(at, 0, extent >> (limited - 1))
            np.add.at(matrix, (np.arange(len(coarser)), at - finer[0]), weight)
        down.append(matrix)
        matrix = np.zeros((len(finer), len(coarser)))
        for at in (finer // 2, (finer + 1) // 2):
            inside = np.clip(at - coarser[0], 0, len(coarser) - 1)  # what is not read may be wrong
            np.add.at(matrix, (np.arange(len(finer)), inside), 0.5)
        up.append(matrix)
    return down, up


def max_filter(inputs, ranges, radius=26):
    """A column of the disk reaches one pixel further up and down than the disk itself."""
    beyond = radius + 1
    padded = np.pad(inputs["input"], ((0, 0), (beyond, beyond), (beyond, beyond)), mode="edge")
    height, width = inputs["input"].shape[1:]
    result = np.full_like(inputs["input"], -np.inf)
    for dx in range(-radius, radius + 1):
        reach = sum(dx**2 + dy**2 < (radius + 0.25) ** 2 for dy in range(radius + 1))
        for dy in range(-reach, reach + 1):
            y, x = beyond + dy, beyond + dx
            np.maximum(result, padded[:, y : y + height, x : x + width], out=result)
    return result


def stencil_chain(inputs, ranges, stencils=32):
    values = np.pad(inputs["input"], 2 * stencils, mode="edge")
    for _ in range(stencils):
        height, width = values.shape[0] - 4, values.shape[1] - 4
        weighted = [
            values[j : j + height, i : i + width] * np.uint16((i + 1) * (j + 1))
            for i in range(5)
            for j in range(5)
        ]
        values = np.sum(weighted, axis=0, dtype=np.uint16)
    return values


def conv_layer(inputs, ranges):
    image, weights, bias = (inputs[name].astype(np.float64) for name in ("input", "filter", "bias"))
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.maximum(0, np.einsum("nyxijk,ikjc->nyxc", windows.swapaxes(4, 5), weights) + bias)


def sgemm(inputs, ranges):
    a, b, c = (inputs[name].astype(np.float64) for name in "ABC")
    return 0.75 * a @ b + 0.25 * c


def iir_blur(inputs, ranges, alpha=0.1):
    result = inputs["input"].astype(np.float64)
    for axis in (1, 2):
        lines = np.moveaxis(result.copy(), axis, 0)
        for order in (range(1, len(lines)), range(len(lines) - 2, -1, -1)):
            step = order.step
            for i in order:
                lines[i] = (1 - alpha) * lines[i - step] + alpha * lines[i]
        result = np.moveaxis(lines, 0, axis)
    return result


FORMULAS = {
    f.__name__: f
    for f in (
        *(blur, unsharp, harris, bilateral_grid, hist, interpolate, max_filter, stencil_chain),
        *(conv_layer, sgemm, iir_blur, toy_trig, toy_blur, toy_sum),
    )
}
"""The formula of each app: takes its inputs and the ranges of its output."""
