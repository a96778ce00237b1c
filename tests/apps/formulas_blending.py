"""The values of pyramid blending and bilateral guided upsampling, in NumPy."""

import itertools

import numpy as np

MARGIN = 64
"""Pixels around a picture, in whose outer half neighbors are wrong."""


def halved(a):
    """The last two axes at half the resolution, by weights 1 3 3 1."""
    for axis in (-1, -2):
        a = np.moveaxis(a, axis, 0)
        even, odd = a[0::2], a[1::2]
        a = (np.roll(odd, 1, 0) + 3 * (even + odd) + np.roll(even, -1, 0)) / 8
        a = np.moveaxis(a, 0, axis)
    return a


def doubled(a):
    """The last two axes at twice the resolution, by weights 1/4 and 3/4."""
    for axis in (-1, -2):
        a = np.moveaxis(a, axis, 0)
        up = np.empty((2 * len(a), *a.shape[1:]))
        up[0::2] = (np.roll(a, 1, 0) + 3 * a) / 4
        up[1::2] = (np.roll(a, -1, 0) + 3 * a) / 4
        a = np.moveaxis(up, 0, axis)
    return a


def padded(image):
    """Edge pixels repeated, up to a size that can be halved three times."""
    height, width = image.shape[-2:]
    ends = [(MARGIN, MARGIN + -extent % 8) for extent in (height, width)]
    return np.pad(image.astype(np.float64), [*[(0, 0)] * (image.ndim - 2), *ends], mode="edge")


def pyramid(image, levels):
    result = [padded(image)]
    for _ in range(levels - 1):
        result.append(halved(result[-1]))
    return result


def bands(levels):
    between = [fine - doubled(coarse) for fine, coarse in itertools.pairwise(levels)]
    return [*between, levels[-1]]


def pyramid_blend(inputs, ranges, levels=3):
    (x, width), (y, height), (c, channels) = ranges
    masks = pyramid(inputs["mask"], levels)
    first, second = (bands(pyramid(inputs[name], levels)) for name in ("first", "second"))
    mixed = [m * a + (1 - m) * b for m, a, b in zip(masks, first, second, strict=True)]
    result = mixed[-1]
    for band in reversed(mixed[:-1]):
        result = doubled(result) + band
    top, left = y + MARGIN, x + MARGIN
    return result[c : c + channels, top : top + height, left : left + width]


def gray(planes):
    return 0.25 * planes[0] + 0.5 * planes[1] + 0.25 * planes[2]


def bgu(inputs, ranges, factor=8, cell=16, bins=8):
    """Sums over cells of the grid, spread to their neighbors, a solution for each cell, and a
    trilinear sample of the solutions for each pixel.
    """
    inputs = {name: array.astype(np.float64) for name, array in inputs.items()}
    (x, width), (y, height), _ = ranges
    sums, first_x, first_y = _cell_sums(inputs, ranges, factor, cell, bins)
    taps = np.array([1 / 64, 1 / 27, 1 / 8, 1, 1 / 8, 1 / 27, 1 / 64])
    for axis in range(3):
        inner = sums.shape[axis] - 6
        sums = sum(t * np.take(sums, range(i, i + inner), axis) for i, t in enumerate(taps))
    matrices = sums[..., :4, :] + 0.1 * np.eye(4)
    wanted = np.swapaxes(sums[..., 4:, :], -1, -2) + 0.1 * np.eye(4, 3)
    maps = np.linalg.solve(matrices, wanted)

    large = inputs["slice_loc"][:, y : y + height, x : x + width]
    at_y, at_x = (np.arange(y, y + height)[:, None], np.arange(x, x + width)[None])
    size = factor * cell
    places = (at_x / size - first_x, at_y / size - first_y, np.clip(gray(large), 0, 1) * bins)
    total = np.zeros((height, width, 4, 3))
    for corner in np.ndindex(2, 2, 2):
        lows = [np.floor(p).astype(int) for p in places]
        parts = [abs(1 - d - (p - low)) for d, p, low in zip(corner, places, lows, strict=True)]
        at = [low + d for d, low in zip(corner, lows, strict=True)]
        total += (parts[0] * parts[1] * parts[2])[..., None, None] * maps[tuple(at)]
    colors = np.stack([*large, np.ones((height, width))], axis=-1)
    return np.clip(np.einsum("yxi,yxik->kyx", colors, total), 0, 1)


def _cell_sums(inputs, ranges, factor, cell, bins):
    """For each cell [x, y, brightness] that matters, products of (r, g, b, 1) with itself, and with
    the colors of the values below. Then the first cell that is interpolated along x and y.
    """
    source, values = inputs["splat_loc"], inputs["values"]
    (x, width), (y, height), _ = ranges
    first_x, first_y = x // (factor * cell), y // (factor * cell)
    cells_x = range(first_x - 3, (x + width - 1) // (factor * cell) + 5)
    cells_y = range(first_y - 3, (y + height - 1) // (factor * cell) + 5)
    sums = np.zeros((len(cells_x), len(cells_y), bins + 8, 7, 4))
    for i, cell_x in enumerate(cells_x):
        for j, cell_y in enumerate(cells_y):
            rows = np.clip(cell_y * cell + np.arange(cell) - cell // 2, 0, source.shape[1] - 1)
            columns = np.clip(cell_x * cell + np.arange(cell) - cell // 2, 0, source.shape[2] - 1)
            color = source[:, rows][:, :, columns].reshape(3, -1)
            value = values[:, rows][:, :, columns].reshape(3, -1)
            bin = np.floor(np.clip(gray(color), 0, 1) * bins + 0.5).astype(int)
            homogeneous = np.vstack([color, np.ones(color.shape[1])])
            products = np.einsum("ip,jp->pij", np.vstack([homogeneous, value]), homogeneous)
            np.add.at(sums[i, j], bin + 3, products)
    return sums, first_x, first_y
