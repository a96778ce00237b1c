"""Every GPU pass keeps the values of the fuzzer's pipelines under GPU schedules.

The tests interpret the program after each pass, one block and thread after another. The kernels
that are outlined from the last program run on the fuzzer's machine, which knows the order of
accesses.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from spaces import (
    CheckedSchedule,
    Func,
    ImageParam,
    Int32,
    Schedule,
    UInt8,
    Var,
    cast,
    device,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.ir.program import LoopProgram
from spaces.backend.lowering.gpu.kernels import outline_kernels
from spaces.backend.lowering.gpu.passes import GPU_PASSES, gpu_stages
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.backend.lowering.passes import START
from spaces.model.formulas.algebra import evaluate
from tests.backend.guarded import guarded
from tests.backend.lowering.placed_arrays import Arrays, outcome
from tests.differential.gpu_machine import GpuMachine
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.oracle import Oracle
from tests.differential.pipelines import KINDS
from tests.differential.subjects import EXACT, ODD, Subject, subject
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")

SCHEDULES, MOST_DRAWN = examples(4, fewest=1), 60
"""Legal schedules for a pipeline, and how many are drawn to find them."""


def possible(rng: random.Random, kind: str) -> Oracle:
    """The oracle of a subject for whose estimates a legal schedule exists."""
    while True:
        made = subject(rng, kind)
        if verify(made.pipeline, Schedule.default(made.pipeline), device("cpu")):
            return Oracle(made)


def dense(oracle: Oracle, size: int) -> Arrays:
    """The arrays of a call, as device memory holds them."""
    ranges, values = oracle.arrays(size), oracle.device_values(size)
    strides = {
        name: tuple(int(values[f"{name}.stride.{d}"]) for d in range(len(ends)))
        for name, ends in ranges.items()
    }
    return Arrays(ranges, strides, oracle.subject.images)


def whole(oracle: Oracle, size: int) -> dict[str, int]:
    """The sizes and parameters that are whole numbers."""
    return {name: v for name, v in oracle.values(size).items() if isinstance(v, int)}


def is_accepted(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    """Whether a call of this size meets the conditions of a schedule."""
    values = whole(oracle, size)
    return all(evaluate(r.condition, values) for r in verdict.size_conditions)


def check_passes(oracle: Oracle, schedule: Schedule, negative: bool) -> set[str]:
    """Compares the program after each pass, and the kernels, with the reference. Returns the passes
    that ran; the set is empty if the schedule is not legal at a small size. ``negative`` selects
    the garbage in memory that was never stored.
    """
    verdict = verify(oracle.subject.pipeline, schedule, device("sm_80"))
    if not isinstance(verdict, CheckedSchedule):
        return set()
    size = next((s for s in (ODD, EXACT) if is_accepted(oracle, verdict, s)), None)
    if size is None:
        return set()
    arrays = dense(oracle, size)
    nest = verdict.at(whole(oracle, size)).nest
    expected = oracle.expected(size)
    wanted = {name: arrays.cells(name, expected[name], flat=False) for name in expected}
    before: LoopProgram | None = None
    stages = gpu_stages(nest)
    for name, program in stages.items():
        if program != before:
            found = outcome(program, arrays, oracle.values(size), negative)
            assert found == wanted, f"after {name}"
        before = program
    assert before is not None
    oracle.run_gpu(GpuMachine(outline_kernels(before, KernelSizes.of(nest))), size)
    return set(stages)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_pass_keeps_the_values(kind: str) -> None:
    rng = random.Random(f"gpu passes {kind}")
    oracle = possible(rng, kind)
    pipeline = oracle.subject.pipeline
    legal = 0
    for number in range(MOST_DRAWN):
        seen = check_passes(oracle, gpu_schedule(rng, pipeline), negative=bool(number % 2))
        assert seen in (set(), {START, *GPU_PASSES})
        legal += bool(seen)
        if legal == SCHEDULES:
            return
    assert legal, "no schedule that is drawn is legal"


def siblings() -> Func:
    """Two independent Funcs of different sizes in a block."""
    source, out = ImageParam(Int32, 2, "im"), Func("out")
    first, second = Func("first"), Func("second")
    first[X, Y] = source[X, Y] * 3
    second[X, Y] = source[X, Y] - X
    out[X, Y] = first[X - 2, Y] - first[X + 2, Y] + second[X, Y + 1] * second[X, Y]
    return out


def interleaved() -> Func:
    """Interleaved pixels of three channels, in the input and the output."""
    source, out = ImageParam(UInt8, 3, "im"), Func("out")
    source.dim(0).set_stride(3)
    source.dim(2).set_stride(1)
    out[X, Y] = cast(Int32, source[X, Y, 0]) * 7 + source[X, Y, 2] - source[X, Y + 1, 1]
    return out


IN_TILES = "out.gpu_tile(x, y, xi, yi, 4, 4);"
BOTH = "{0}.compute_at(out, x).gpu_threads(x, y);{1}.compute_at(out, x).gpu_threads(x, y);"
WRITTEN = (
    (siblings, IN_TILES + BOTH.format("first", "second")),
    (siblings, IN_TILES + BOTH.format("second", "first")),
    (siblings, IN_TILES + "first.compute_at(out, x);second.compute_at(out, xi)"),
    (interleaved, IN_TILES),
)


@pytest.mark.parametrize(("build", "text"), WRITTEN)
def test_every_pass_keeps_the_values_of_schedules_by_hand(
    build: Callable[[], Func], text: str
) -> None:
    made = pipeline(build())
    ((image, dimensions),) = [(i, i.dimensions) for i in made.images]
    places = ((-9, 40), (-9, 40), (0, 3))[:dimensions]
    shape = tuple(extent for _, extent in reversed(places))
    values = np.random.default_rng(1).integers(0, 99, shape).astype(image.type.dtype)
    sizes = tuple({"out": (ends, ends)} for ends in ((0, 8), (-3, 11), (1, 30)))
    oracle = Oracle(Subject("", made, {"im": guarded(values)[0]}, {}, {"im": places}, sizes))
    for negative in (False, True):
        assert check_passes(oracle, parse_schedule(text, made), negative)
