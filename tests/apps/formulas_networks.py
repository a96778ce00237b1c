"""The values that the networks compute, in NumPy and float64."""

import numpy as np


def convolved(picture, weights, bias):
    """3x3 pixels of [y, x, channel] by [dy, dx, input, output]; the edge pixels are lost."""
    height, width = (extent - 2 for extent in picture.shape[:2])
    shifted = [[picture[dy : dy + height, dx : dx + width] for dx in range(3)] for dy in range(3)]
    return sum(shifted[dy][dx] @ weights[dy, dx] for dy in range(3) for dx in range(3)) + bias


def relu(values):
    return np.maximum(values, 0)


def inner_layers(picture, inputs):
    """The first layer and the inner ones."""
    first = convolved(picture, inputs["first_weights"], inputs["first_bias"])
    active = relu(first)
    for weights, bias in zip(inputs["weights"], inputs["biases"], strict=True):
        active = relu(convolved(active, weights, bias))
    return active


def wide(inputs):
    return {name: array.astype(np.float64) for name, array in inputs.items()}


def vdsr(inputs, ranges):
    inputs = wide(inputs)
    (x, width), (y, height) = ranges
    margin = len(inputs["weights"]) + 2
    rows = np.arange(y - margin, y + height + margin)
    columns = np.arange(x - margin, x + width + margin)
    image = inputs["input"]
    around = image[
        np.ix_(np.clip(rows, 0, len(image) - 1), np.clip(columns, 0, image.shape[1] - 1))
    ]
    active = inner_layers(around[:, :, None], inputs)
    residual = convolved(active, inputs["last_weights"], inputs["last_bias"])[..., 0]
    return around[margin:-margin, margin:-margin] + residual


def mirrored(index, extent):
    """Coordinates outside of a picture, mirrored about its edge pixels."""
    folded = np.mod(index, 2 * extent - 2)
    return np.minimum(folded, 2 * extent - 2 - folded)


def learned_demosaic(inputs, ranges):
    inputs = wide(inputs)
    (x, width), (y, height), _ = ranges
    margin = 2 * (len(inputs["weights"]) + 3)
    left, top = x // 2 * 2 - margin, y // 2 * 2 - margin
    rows = np.arange(top, y + height + margin + height % 2)
    columns = np.arange(left, x + width + margin + width % 2)
    rows, columns = rows[: len(rows) // 2 * 2], columns[: len(columns) // 2 * 2]
    raw = inputs["input"]
    mosaic = raw[np.ix_(mirrored(rows, raw.shape[0]), mirrored(columns, raw.shape[1]))]
    cells = np.stack([mosaic[dy::2, dx::2] for dy in (0, 1) for dx in (0, 1)], axis=2)
    cells = convolved(inner_layers(cells, inputs), inputs["last_weights"], inputs["last_bias"])
    lost = len(inputs["weights"]) + 2
    inner = mosaic[2 * lost : -2 * lost, 2 * lost : -2 * lost]
    joined = np.zeros((*inner.shape, 6))
    for dy in (0, 1):
        for dx in (0, 1):
            at = 3 * (dx + 2 * dy)
            joined[dy::2, dx::2, :3] = cells[..., at : at + 3]
            joined[dy::2, dx::2, 3 + 1 - dx + dy] = inner[dy::2, dx::2]
    whole = relu(convolved(joined, inputs["full_weights"], inputs["full_bias"])) @ inputs["mix"]
    first_y, first_x = y - (top + 2 * lost + 1), x - (left + 2 * lost + 1)
    part = whole[first_y : first_y + height, first_x : first_x + width]
    return np.clip(np.moveaxis(part, 2, 0), 0, 1)


def depthwise_conv(inputs, ranges):
    inputs = wide(inputs)
    _, (x, width), (y, height), (first, count) = ranges
    results = []
    for picture in inputs["input"][first : first + count]:
        padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)))
        rows, columns = picture.shape[:2]
        summed = sum(
            padded[dy : dy + rows, dx : dx + columns] * inputs["depthwise"][dy, dx]
            for dy in range(3)
            for dx in range(3)
        )
        mixed = relu(summed @ inputs["pointwise"] + inputs["bias"])
        results.append(mixed[y : y + height, x : x + width])
    return np.stack(results)
