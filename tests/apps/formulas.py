"""What each app computes, written with NumPy alone: slices, no schedules, no expressions."""

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


FORMULAS = {f.__name__: f for f in (blur, unsharp, harris, toy_trig, toy_blur, toy_sum)}
