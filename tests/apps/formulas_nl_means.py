"""What non-local means computes, with NumPy alone: a shift of the whole picture at a time."""

import numpy as np


def nl_means(inputs, ranges, sigma=0.12, patch=7, search=7):
    (x, width), (y, height), _ = ranges
    image = inputs["input"].astype(np.float64)
    near, reach = search // 2, patch // 2

    def shifted(dx, dy, border):
        """The part that is computed, with a border, of the picture moved by a shift."""
        rows = np.arange(y - border, y + height + border) + dy
        columns = np.arange(x - border, x + width + border) + dx
        rows, columns = (
            np.clip(rows, 0, image.shape[1] - 1),
            np.clip(columns, 0, image.shape[2] - 1),
        )
        return image[:, rows[:, None], columns]

    total, weights = np.zeros((3, height, width)), np.zeros((height, width))
    for dy in range(-near, search - near):
        for dx in range(-near, search - near):
            apart = ((shifted(0, 0, reach) - shifted(dx, dy, reach)) ** 2).sum(0)
            rows = sum(apart[i : i + height] for i in range(patch))
            sums = sum(rows[:, i : i + width] for i in range(patch))
            weight = np.exp(-sums / (sigma * patch) ** 2)
            total += weight * shifted(dx, dy, 0)
            weights += weight
    return np.clip(total / weights, 0, 1)
