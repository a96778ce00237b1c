"""Chains of Funcs that read lines in jumps get vectors across lines together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from spaces import (
    Float32,
    Func,
    ImageParam,
    LoopKind,
    Pipeline,
    ScheduleSpace,
    Var,
    clamp,
    compile_cpu,
    format_schedule,
    parse_schedule,
    pipeline,
    select,
    verify,
)
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.rewrites.turn_vectors import find_chains
from tests.cpus import FOUR_CORES
from tests.enumerate.rewritten import rewritten

LENGTH, LINES = 16, 4096
BITS = (1, 2, 4, 8)


def butterflies() -> Pipeline:
    """Each value and the one whose place differs in one bit: their sum, or their difference."""
    signal, x, y = ImageParam(Float32, 2, "signal"), Var("x"), Var("y")
    before = Func("first")
    before[x, y] = signal[clamp(LENGTH - 1 - x, 0, LENGTH - 1), y] * 0.5
    for bit in BITS:
        step, low = Func(f"step_{bit}"), x / (2 * bit) * (2 * bit) + x % bit
        even, odd = before[low, y], before[low + bit, y]
        step[x, y] = select(x / bit % 2 == 0, even + odd, even - odd)
        before = step
    output = Func("output")
    output[x, y] = before[x, y] + 1.0
    return pipeline(output, estimates={output: [LENGTH, LINES], signal: [LENGTH, LINES]})


def along_rows(names: Sequence[str]) -> str:
    """A schedule with these Funcs in vectors along rows, and all others inlined."""
    output = "output.split(y, y, yi, 32).split(x, x, xv, 8).vectorize(xv).parallel(y)"
    return "\n".join([output, *(f"{name}.compute_at(output, y).vectorize(x, 8)" for name in names)])


def test_stages_of_a_transform_turn_together() -> None:
    """Alone, each of them loses: its reader goes along rows, and so does its producer."""
    pipe = butterflies()
    stages = [f"step_{bit}" for bit in BITS[:-1]]
    found = rewritten(
        ScheduleSpace(pipe, FOUR_CORES), along_rows(stages), Reuse(FOUR_CORES), find_chains
    ).schedule
    text = format_schedule(found, pipe)
    for entry in map(found.of, stages):
        assert entry.storage_orders == (("y", "x"),), text
        (order,) = entry.stages
        assert order.loops[-1].kind is LoopKind.VECTORIZED, text
        assert order.loops[-1].name.startswith("y"), text
    assert not found.of("output").storage_orders, text
    signal = np.random.default_rng(0).integers(-50, 50, (LINES, LENGTH)).astype(np.float32)
    wanted = signal[:, ::-1] * np.float32(0.5)
    for bit in BITS:
        parts = wanted.reshape(LINES, -1, 2, bit)
        even, odd = parts[:, :, 0], parts[:, :, 1]
        wanted = np.stack((even + odd, even - odd), axis=2).reshape(LINES, LENGTH)
    checked = verify(pipe, found, FOUR_CORES)
    assert checked, str(checked)
    made = compile_cpu(checked).run({"signal": signal}, sizes={"output": [LENGTH, LINES]})
    np.testing.assert_array_equal(made["output"], wanted + 1)


@pytest.mark.parametrize("names", [(), ("step_1",)])
def test_a_func_alone_does_not_turn(names: tuple[str, ...]) -> None:
    """The search decides it where it decides the Func."""
    pipe = butterflies()
    space, text = ScheduleSpace(pipe, FOUR_CORES), along_rows(names)
    found = rewritten(space, text, Reuse(FOUR_CORES), find_chains).schedule
    assert found == parse_schedule(text, pipe)
