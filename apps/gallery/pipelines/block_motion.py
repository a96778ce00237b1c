"""Where each block of a frame comes from in the frame before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import spaces
from spaces import Func, ImageParam, Pipeline, RDom, UInt8, Var, absd, argmin, i8, mux, u32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

ACROSS, DOWN = 80, 45
BLOCK, REACH = 16, 7
SHIFTS = 2 * REACH + 1


def pipeline() -> Pipeline:
    """Sums of absolute differences of blocks of 16x16 for 15x15 shifts, and the best shift."""
    bx, by, dx, dy, c = (Var(name) for name in ("bx", "by", "dx", "dy", "c"))
    before, after = ImageParam(UInt8, 2, "before"), ImageParam(UInt8, 2, "after")
    cost, chosen, output = Func("cost"), Func("chosen"), Func("output")
    r = RDom([(0, BLOCK), (0, BLOCK)], "r")
    s = RDom([(0, SHIFTS), (0, SHIFTS)], "s")
    x, y = BLOCK * bx + r.x, BLOCK * by + r.y
    cost[dx, dy, bx, by] = u32(0)
    cost[dx, dy, bx, by] += u32(absd(after[x, y], before[x + dx, y + dy]))
    chosen[bx, by] = argmin(cost[s.x, s.y, bx, by])[:2]
    output[bx, by, c] = i8(mux(c, list(chosen[bx, by])) - REACH)
    size = [BLOCK * ACROSS, BLOCK * DOWN]
    return spaces.pipeline(
        output,
        name="block_motion",
        estimates={
            before: [extent + 2 * REACH for extent in size],
            after: size,
            output: [ACROSS, DOWN, 2],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """For each block, all windows of its surroundings."""
    before, after = (inputs[name].astype(np.int64) for name in ("before", "after"))
    down, across = (extent // BLOCK for extent in after.shape)
    found = np.empty((2, down, across), np.int8)
    for j, i in np.ndindex(down, across):
        y, x = j * BLOCK, i * BLOCK
        around = before[y : y + BLOCK + 2 * REACH, x : x + BLOCK + 2 * REACH]
        windows = sliding_window_view(around, (BLOCK, BLOCK))
        costs = np.abs(windows - after[y : y + BLOCK, x : x + BLOCK]).sum((2, 3))
        found[::-1, j, i] = np.array(np.unravel_index(costs.argmin(), costs.shape)) - REACH
    return found


GALLERY_PIPELINE = GalleryPipeline(
    name="block_motion",
    kind=PipelineKind.MATCHING,
    summary="shifts of blocks of 16x16 among 15x15, 1280x720, 8 bits",
    pipeline=pipeline,
    expected=expected,
    small={"before": (94, 62), "after": (80, 48), "output": (5, 3, 2)},
)
