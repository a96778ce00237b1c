"""Every pass keeps the values of random programs that no schedule made."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spaces.backend.ir.program import LoopProgram
from spaces.backend.lowering.cpu.passes import CPU_PASSES, cpu_passes
from spaces.backend.lowering.passes import START
from tests.backend.lowering.loop_programs import TIMES, Draw
from tests.backend.lowering.placed_arrays import Arrays, outcome, spread
from tests.differential.subjects import Ranges
from tests.draw_counts import some

PROGRAMS, MOST = 19, 60
"""The number of programs for each seed, and the most while a pass has changed none of them."""

SUMS = 4
"""One program in this many is a sum of several rows."""


def called(rng: random.Random, program: LoopProgram) -> Arrays:
    """Arrays for a call: a small output at any coordinate, and an image around it."""
    lows = [rng.randint(-9, 9) for _ in range(2)]
    out: Ranges = tuple((low, rng.choice((1, 2, 3, 5, 6))) for low in lows)
    (steps,) = (b.likely_steps for b in program.buffers if b.is_output)
    is_likely = rng.random() < 0.5
    if is_likely:
        out = ((lows[0], steps[1] or 1), out[1])
    image: Ranges = tuple((low - 12, extent + 24) for low, extent in out)
    ranges = {"out": out, "image": image}
    (type,) = (b.type for b in program.buffers if b.name == "image")
    shape = tuple(extent for _, extent in reversed(image))
    least = 0 if type.is_uint else -99
    values = np.random.default_rng(rng.randrange(99)).integers(least, 200, shape)
    strides = {name: spread(rng, (1, None), ends) for name, ends in ranges.items()}
    if is_likely:
        strides["out"] = spread(rng, steps, out)
    return Arrays(ranges, strides, {"image": values.astype(type.dtype)})


@pytest.mark.parametrize("seed", some(range(4)))
def test_every_pass_keeps_the_computed_values(seed: int) -> None:
    changed = dict.fromkeys(CPU_PASSES, 0)
    for number in range(MOST):
        if number >= PROGRAMS and all(changed.values()):
            break
        rng = random.Random(f"program {seed} {number}")
        before = Draw(rng).program() if number % SUMS else Draw(rng).sums()
        arrays = called(rng, before)
        scalars = {TIMES.name: rng.randrange(3)}
        wanted = {n: outcome(before, arrays, scalars, n) for n in (False, True)}
        assert wanted[False] == wanted[True], START
        for one in cpu_passes():
            after = one(before)
            if after != before:
                changed[one.name] += 1
                negative = rng.random() < 0.5
                assert outcome(after, arrays, scalars, negative) == wanted[negative], (
                    number,
                    one.name,
                )
            before = after
    assert all(changed.values()), changed
