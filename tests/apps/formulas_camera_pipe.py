"""What the camera's pipeline computes, written with NumPy alone: planes of a color, moved about."""

import numpy as np

LEFT, TOP = 16, 12
"""Pixels of the mosaic outside the picture."""


def camera_pipe(
    inputs, ranges, kelvin=3700, gamma=2, contrast=50, sharpness=1, black=25, white=1023
):
    """Near its edges each plane is wrong, as far as it is not read."""
    (x, width), (y, height), _ = ranges
    mosaic = inputs["input"]
    mosaic = np.pad(mosaic, [(0, extent % 2) for extent in mosaic.shape], mode="edge")
    linear = demosaicked(without_hot_pixels(mosaic.astype(np.int64)))
    matrix = between(inputs["matrix_3200"], inputs["matrix_7000"], kelvin)
    colors = wrapped(np.tensordot(matrix[:, :3], linear, 1) + matrix[:, 3, None, None] >> 8)
    table = tone_curve(gamma, contrast, black, white)
    bent = table[np.clip(colors, 0, 1023)]
    sharp = sharpened(bent, int(np.clip(32 * sharpness, 0, 255)))
    rows, columns = (slice(a, a + n) for a, n in ((TOP + y, height), (LEFT + x, width)))
    return sharp[:, rows, columns].astype(np.uint8)


def moved(a, dx, dy):
    """The values ``dx`` to the right and ``dy`` below."""
    return np.roll(a, (-dy, -dx), (-2, -1))


def mean(a, b):
    return (a + b + 1) // 2


def wrapped(a):
    """As int16."""
    return (a + 0x8000) % 0x10000 - 0x8000


def without_hot_pixels(mosaic):
    around = [moved(mosaic, *to) for to in ((-2, 0), (2, 0), (0, -2), (0, 2))]
    return np.minimum(mosaic, np.max(around, axis=0))


def demosaicked(mosaic):
    gr, r, b, gb = (mosaic[j::2, i::2] for j in (0, 1) for i in (0, 1))

    def green(across, down):
        """Of two pairs of greens, the mean of that across if it is closer, else of that down."""
        closer = np.abs(across[0] - across[1]) < np.abs(down[0] - down[1])
        return np.where(closer, mean(*across), mean(*down))

    g_r = green((gr, moved(gr, 1, 0)), (gb, moved(gb, 0, -1)))
    g_b = green((gb, moved(gb, -1, 0)), (gr, moved(gr, 0, 1)))

    def color_at(here, color, other_green, a, b):
        """The mean of a color at two places, corrected by green here and there."""
        ends = [(moved(color, *p), moved(other_green, *p)) for p in (a, b)]
        return here - mean(ends[0][1], ends[1][1]) + mean(ends[0][0], ends[1][0])

    def diagonal(here, color, other_green, step):
        one, other = ((0, 0), (-step, step)), ((-step, 0), (0, step))
        steep = [np.abs(moved(color, *p) - moved(color, *q)) for p, q in (one, other)]
        values = [color_at(here, color, other_green, *ends) for ends in (one, other)]
        return np.where(steep[0] < steep[1], *values)

    cells = (
        # at green beside red, at red, at blue, at green beside blue
        (color_at(gr, r, g_r, (0, 0), (-1, 0)), r, diagonal(g_b, r, g_r, 1),
         color_at(gb, r, g_r, (0, 0), (0, 1))),
        (gr, g_r, g_b, gb),
        (color_at(gr, b, g_b, (0, 0), (0, -1)), diagonal(g_r, b, g_b, -1), b,
         color_at(gb, b, g_b, (0, 0), (1, 0))),
    )  # fmt: skip
    planes = np.empty((3, *mosaic.shape), np.int64)
    for plane, quarters in zip(planes, cells, strict=True):
        for n, quarter in enumerate(quarters):
            plane[n // 2 :: 2, n % 2 :: 2] = quarter
    return wrapped(planes)


def between(at_3200, at_7000, kelvin):
    """In 1/256; the weight of the first grows with the temperature, as in Halide's app."""
    one, low, high = np.float32([1, 3200, 7000])
    part = (one / np.float32(kelvin) - one / low) / (one / high - one / low)
    return ((at_3200 * part + at_7000 * (one - part)) * np.float32(256)).astype(np.int64)


def tone_curve(gamma, contrast, black, white):
    level = np.arange(1024)
    unit = np.clip(np.float32(level - black) / np.float32(white - black), 0, 1)
    lifted = unit ** np.float32(1 / gamma)
    flat = np.float32(2) - np.float32(2) ** np.float32(contrast / 100)
    bend = 2 - 2 * flat

    def arc(t):
        return bend * t * t + flat * t

    curved = np.where(lifted > 0.5, 1 - arc(1 - lifted), arc(lifted))
    bytes_ = np.clip(curved * 255 + 0.5, 0, 255).astype(np.int64)
    return np.select([level <= black, level > white], [0, 255], bytes_)


def sharpened(picture, strength):
    """``strength`` in 1/32 of the difference to a blurred picture."""
    down = mean(mean(moved(picture, 0, -1), moved(picture, 0, 1)), picture)
    blurred = mean(mean(moved(down, -1, 0), moved(down, 1, 0)), down)
    return np.clip(picture + wrapped((picture - blurred) * strength) // 32, 0, 255)
