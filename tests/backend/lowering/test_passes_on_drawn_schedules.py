"""Every pass keeps what the fuzzer's pipelines compute under the schedules that the fuzzer draws.

These have constructs that hypothesis draws rarely or never: Tuples, atomic updates, predicates,
prefetches, hoisted and folded memory, requirements on values, fused loops, every tail. The caller's
arrays have unusual strides: rows are padded, or far apart.
"""

from __future__ import annotations

import random

import pytest

from spaces import CheckedSchedule, verify
from spaces.backend.ir.program import LoopProgram
from spaces.backend.lowering.cpu.passes import CPU_PASSES, lower
from spaces.backend.lowering.passes import START
from spaces.constraints.examples.example import CPU
from spaces.constraints.rules.estimates import shortages
from spaces.model.formulas.algebra import evaluate as number
from tests.backend.lowering.placed_arrays import Arrays, outcome, spread
from tests.differential.oracle import Oracle
from tests.differential.pipelines import KINDS
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import EXACT, ODD, subject
from tests.draw_counts import examples

SCHEDULES = examples(4, fewest=1)
"""The number of schedules for each pipeline."""


def arrays_of(rng: random.Random, oracle: Oracle, size: int) -> Arrays:
    ranges = oracle.arrays(size)
    pipeline = oracle.subject.pipeline
    strides = {
        name: spread(rng, pipeline.steps(name, len(ends)), ends) for name, ends in ranges.items()
    }
    return Arrays(ranges, strides, oracle.subject.images)


def check_passes(oracle: Oracle, verdict: CheckedSchedule, rng: random.Random) -> set[str]:
    """Compares the program after each pass with the first program, and the first with the
    reference. Returns the passes that ran.
    """
    size = next((s for s in (ODD, EXACT) if accepts(oracle, verdict, s)), None)
    if size is None:
        return set()
    arrays = arrays_of(rng, oracle, size)
    scalars = oracle.values(size)
    programs = lower(verdict.at(scalars).nest)
    expected = oracle.expected(size)
    wanted = {name: arrays.cells(name, expected[name], flat=False) for name in expected}
    before: LoopProgram | None = None
    *_, last = programs
    for name, program in programs.items():
        if program == before:
            continue  # the pass changed nothing
        before = program
        ends = name == START or program == programs[last]
        for negative in (False, True) if ends else (rng.random() < 0.5,):
            assert outcome(program, arrays, scalars, negative) == wanted, f"after {name}"
    return set(programs)


def accepts(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    values = {n: v for n, v in oracle.values(size).items() if isinstance(v, int)}
    return all(number(r.condition, values) for r in verdict.size_conditions)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_pass_keeps_the_values(kind: str) -> None:
    rng = random.Random(f"passes {kind}")
    seen: set[str] = set()
    while not seen:  # few pipelines have no legal schedule among those drawn
        oracle = Oracle(subject(rng, kind))
        pipeline = oracle.subject.pipeline
        for _ in range(0 if shortages(pipeline) else SCHEDULES):
            verdict = verify(pipeline, cpu_schedule(rng, pipeline), CPU)
            if isinstance(verdict, CheckedSchedule):
                seen |= check_passes(oracle, verdict, rng)
    assert seen == {START, *CPU_PASSES}
