"""Failures made small, and told as programs that run."""

from __future__ import annotations

import random
import re
from unittest import mock

import numpy as np
import pytest
from attrs import evolve

from spaces import Func, ImageParam, Int32, UInt8, Var, cast, parse_schedule, pipeline
from spaces.backend.lowering import flatten
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Op, constant, walk
from spaces.model.schedules.domain_order import LoopKind
from tests.differential.case_source import case_source
from tests.differential.cases import Case
from tests.differential.check import Fuzzer, Outcome
from tests.differential.oracle import Oracle
from tests.differential.pipeline_source import made, pipeline_source, rewritten
from tests.differential.pipelines import KINDS
from tests.differential.shrink import shrunk
from tests.differential.smallest import smallest
from tests.differential.subjects import Subject, subject

X, Y = Var("x"), Var("y")
SIZES = ({"out": ((4, 12), (-8, 8))}, {"out": ((-3, 7), (2, 5))}, {"out": ((1, 30), (0, 11))})


def rows() -> Pipeline:
    """Sums of two Funcs; one has an update."""
    image, first, second = ImageParam(UInt8, 2, "input"), Func("first"), Func("second")
    out = Func("out")
    first[X, Y] = cast(Int32, image[X, Y]) * 2
    second[X, Y] = image[X, Y + 1] - cast(Int32, Y)
    second[X, Y] = second[X, Y] + first[X, Y - 1] + first[X + 1, Y]
    out[X, Y] = second[X, Y] % 7 + first[X, Y + 2]
    return pipeline(out, estimates={out: SIZES[0]["out"], image: ((-9, 60), (-19, 60))})


def case_of(text: str, number: int = 0) -> tuple[Case, Oracle]:
    image = np.random.default_rng(5).integers(0, 256, (60, 60)).astype(np.uint8)
    place = {"input": ((-9, 60), (-19, 60))}
    whole = Subject("rows", rows(), {"input": image}, {"input": 5}, place, SIZES)
    schedule = parse_schedule(text, whole.pipeline)
    return Case(1, number, "constructed", "cpu", schedule), Oracle(whole)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_sources_make_the_pipelines_they_are_of(kind: str) -> None:
    for seed in range(4):
        drawn = subject(random.Random(f"{kind} {seed}"), kind).pipeline
        assert made(pipeline_source(drawn)) == drawn
        again = rewritten(drawn)
        assert again is not None
        assert "from_json" not in pipeline_source(again)


class Picky(Fuzzer):
    """A fuzzer that takes remainders under vectors for a failure."""

    def judge(self, case: Case, oracle: Oracle) -> Outcome:
        nodes = walk(
            *(v for f in oracle.subject.pipeline.functions for s in f.stages for v in s.values)
        )
        has_remainder = any(isinstance(n, Op) and n.name == "mod" for n in nodes)
        kinds = {p.kind for f in case.schedule.funcs for s in f.stages for p in s.loops}
        fails = has_remainder and LoopKind.VECTORIZED in kinds
        return Outcome("rows", case.drawn, "cpu", True, mismatch="It is wrong." if fails else "")


def test_all_goes_that_a_failure_does_not_need() -> None:
    case, oracle = case_of(
        "out.split(y, y, yi, 4).parallel(y).vectorize(x, 8); second.compute_at(out, y).vectorize(x)"
        ".update(0).unroll(y); first.compute_root().vectorize(x, 4).store_in(MemoryType::Heap)"
    )
    small, its_oracle = shrunk(Picky(1), case, oracle)
    (out,) = its_oracle.subject.pipeline.functions
    (stage,) = out.stages
    (value,) = stage.values
    assert len(list(walk(value))) <= 3
    assert value.name == "mod"
    loops = small.schedule.of("out").stages[0].loops
    assert [loop.kind for loop in loops].count(LoopKind.VECTORIZED) == 1
    assert [loop.kind for loop in loops].count(LoopKind.SERIAL) == len(loops) - 1
    assert its_oracle.subject.outputs == ({"out": ((0, 1), (0, 1))},) * 3


def folded_too_far(node):
    """Storage as ``flatten`` lays it out, but each fold is one row short."""
    layout = ALLOCATED(node)
    folds = (constant(f.value - 1, Int32) if isinstance(f, Const) else f for f in layout.folds)
    return evolve(layout, folds=tuple(folds))


ALLOCATED = flatten._allocated
SLIDING = "second.compute_at(out, y); first.store_root().compute_at(out, y).vectorize(x, 4)"


@pytest.mark.parametrize("number", [0, 1])
def test_programs_of_failures_fail_alone(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    case, oracle = case_of(SLIDING, number)
    with mock.patch.object(flatten, "_allocated", folded_too_far):
        assert "differs" in Fuzzer(1).judge(case, oracle).mismatch
        program = case_source(*shrunk(Fuzzer(1), case, oracle, seconds=0.6))
        assert len(program) < len(case_source(case, oracle))
        with pytest.raises(AssertionError, match=re.escape("Arrays are not equal")):
            exec(program, {})
    exec(program, {})
    assert "the outputs are those of the reference" in capsys.readouterr().out


def test_programs_run_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    case, oracle = case_of(
        "out.gpu_tile(x, y, xi, yi, 4, 4); second.compute_root().gpu_tile(x, y, xi, yi, 4, 4)"
        ".update(0).gpu_tile(x, y, xi, yi, 4, 4); first.compute_root().gpu_tile(x, y, xi, yi, 4, 4)"
    )
    exec(case_source(evolve(case, target="sm_80"), oracle), {})
    assert capsys.readouterr().out.lower().count("outputs are those of the ref") == len(SIZES)


def test_nothing_is_told_of_what_does_not_fail() -> None:
    assert smallest(Fuzzer(20), 0) == ""
