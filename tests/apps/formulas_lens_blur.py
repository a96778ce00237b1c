"""The values that the lens blur computes, in NumPy and float64."""

import numpy as np

from tests.apps.formulas_blending import doubled, halved

MARGIN = 48
"""Pixels around each level of a pyramid, in which its values are right, too."""

REACH = 9
"""The largest blur, in pixels."""


def random(seed, *coordinates):
    """MurmurHash3's finaliser over the seed and the coordinates, 23 bits of it as a fraction."""
    step = state = np.array([0x9E3779B9], np.uint32)
    for word in (seed, *coordinates):
        bits = (state * np.uint32(5) + step) ^ np.asarray(word).astype(np.uint32)
        bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        bits = (bits ^ (bits >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        state = bits ^ (bits >> np.uint32(16))
    return (state >> np.uint32(9)) / 2.0**23


def lens_blur(inputs, ranges, slices, samples, levels, focus=13, spread=0.5):
    (x, width), (y, height), _ = ranges
    left, right = inputs["left"], inputs["right"]
    smooth = smoothed(costs(left, right, slices), left.shape[1], left.shape[2], levels)
    depth = smooth.argmin(axis=0)
    radius = np.abs(depth - focus) * spread
    colors = edged(left.astype(np.float64))

    rows, columns = np.mgrid[y : y + height, x : x + width]
    here = (rows + MARGIN, columns + MARGIN)
    window = [(dy, dx) for dy in range(-REACH, REACH + 1) for dx in range(-REACH, REACH + 1)]
    worst = np.max([radius[here[0] + dy, here[1] + dx] for dy, dx in window], axis=0)
    total, weights = colors[:, *here], np.full((height, width), 255.0)
    for z in range(samples):
        dx, dy = (
            np.trunc((random(seed, columns, rows, z) - 0.5) * 2 * worst).astype(int)
            for seed in (1, 2)
        )
        there = (here[0] + dy, here[1] + dx)
        squared = dx**2 + dy**2
        seen = (squared < radius[here] ** 2) | (depth[there] < depth[here])
        weight = seen & (squared < radius[there] ** 2)
        total = total + weight * colors[:, *there]
        weights = weights + weight * 255.0
    return total / weights


def edged(a):
    return np.pad(a, [*[(0, 0)] * (a.ndim - 2), (MARGIN, MARGIN), (MARGIN, MARGIN)], mode="edge")


def costs(left, right, slices):
    """Squared differences [slice, y, x] of views [color, y, x], in the margin, too."""
    columns = np.arange(-MARGIN, left.shape[2] + MARGIN)
    last = right.shape[2] - 1
    wide = edged(left.astype(np.float64))
    high = np.pad(right.astype(np.float64), ((0, 0), (MARGIN, MARGIN), (0, 0)), mode="edge")
    result = []
    for z in range(slices):
        shifted = [high[:, :, np.clip(columns + 2 * z + odd, 0, last)] for odd in (0, 1)]
        apart = np.minimum(*(np.abs(wide - s) for s in shifted))
        result.append((apart**2).sum(0))
    return np.stack(result)


def smoothed(cost, height, width, levels):
    """Averages of the costs by how much those of a pixel vary, over smaller and smaller copies."""
    variance = cost.var(axis=0)
    pushed = [np.stack([cost * variance, np.broadcast_to(variance, cost.shape)])]
    for _ in range(levels - 1):
        height, width = height // 2, width // 2
        even = [(0, 0), (0, 0), *[(0, extent % 2) for extent in pushed[-1].shape[-2:]]]
        half = halved(np.pad(pushed[-1], even, mode="edge"))
        first = MARGIN // 2
        pushed.append(edged(half[..., first : first + height, first : first + width]))
    pulled = pushed[-1]
    for level in reversed(pushed[:-1]):
        rows, columns = (slice(MARGIN, MARGIN + extent) for extent in level.shape[-2:])
        pulled = (doubled(pulled)[..., rows, columns] + level) / 2
    return pulled[0] / pulled[1]
