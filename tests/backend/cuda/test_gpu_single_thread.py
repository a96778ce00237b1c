"""Stages that one thread of one block computes: scans, and Funcs without dimensions."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spaces import (
    CheckedSchedule,
    DefinitionError,
    Func,
    ImageParam,
    Int32,
    Pipeline,
    RDom,
    Schedule,
    Var,
    device,
    format_nest,
    format_schedule,
    loop_nest,
    parse_schedule,
    pipeline,
    prove,
    verify,
)
from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.halide.bridge import CUDA, build
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.source import halide_source
from spaces.constraints.obligations.records import Proven, Refuted
from spaces.model.schedules.domain_order import Tail
from spaces.model.writing.serialize import from_json, to_json
from tests.backend.cuda.gpu_runs import check

GPU = device("sm_80")
X, Y = Var("x"), Var("y")


def sums() -> Pipeline:
    """Running sums of a row, each plus a Func without dimensions."""
    row, base, total, out = ImageParam(Int32, 1, "row"), Func("base"), Func("total"), Func("out")
    r = RDom([(1, 63)], "r")
    base[()] = row[0] * 3
    total[X] = row[X]
    total[r] = total[r - 1] + row[r]
    out[X] = total[X] + base[()]
    return pipeline(out)


SUMS = sums()
TILES = "out.gpu_tile(x, xi, 8)"
SINGLE = (
    f"{TILES}\nbase.compute_root().gpu_single_thread()\n"
    "total.gpu_tile(x, xi, 8)\ntotal.update(0).gpu_single_thread()"
)
ROW = np.random.default_rng(5).integers(-(10**6), 10**6, 64, dtype=np.int32)


def read(text: str) -> Schedule:
    return parse_schedule(text, SUMS)


def test_one_thread_computes_a_scan_and_a_number() -> None:
    compiled = check(SUMS, read(SINGLE), {"row": ROW}, {"out": [64]})
    values = compiled.run({"row": ROW}, sizes={"out": [64]})["out"]
    np.testing.assert_array_equal(values, np.cumsum(ROW, dtype=np.int32) + 3 * ROW[0])


def test_the_kernel_is_one_block_of_one_thread() -> None:
    nest = format_nest(loop_nest(SUMS, read(SINGLE)))
    assert (
        "  gpu_block total.__block in 0 .. 0:\n"
        "    gpu_thread total.__thread in 0 .. 0:\n"
        "      for total.r.x in 1 .. 63:\n"
    ) in nest
    kernels = compile_gpu_unchecked(SUMS, read(SINGLE)).source.split("__global__")[1:]
    alone = ["__launch_bounds__(1)" in kernel for kernel in kernels]
    assert alone == [False, True, True, False]


def test_halide_makes_the_same_kernels() -> None:
    statement = build(SUMS, read(SINGLE)).lowered(CUDA)
    assert statement.count(".visible .entry") == 4
    # Halide numbers Funcs whose names were taken before: total, total__1, ...
    assert re.search(r"_kernel_total(__\d+)?_s1___outermost", statement)


def test_text_and_documents_keep_it() -> None:
    schedule = read(SINGLE)
    assert "total.update(0).gpu_single_thread()" in format_schedule(schedule, SUMS)
    assert parse_schedule(format_schedule(schedule, SUMS), SUMS) == schedule
    assert from_json(to_json(schedule), Schedule) == schedule
    assert ".gpu_single_thread()" in halide_source(SUMS, schedule)


def test_it_is_proven_for_all_sizes() -> None:
    checked = verify(SUMS, read(SINGLE), GPU)
    assert isinstance(checked, CheckedSchedule)
    unproven = [p for p in prove(checked).proofs if not isinstance(p.outcome, Proven)]
    assert not unproven


@pytest.mark.parametrize("level", ["__block", "__thread", "x"])
def test_others_are_computed_inside(level: str) -> None:
    threads = ".gpu_threads(x)" if level == "__block" else ""
    built = taps()
    text = f"out.gpu_single_thread()\nwide.compute_at(out, {level}){threads}"
    check(built, parse_schedule(text, built), {"row": ROW}, {"out": [9]})


def taps() -> Pipeline:
    """A sum of three values of another Func."""
    row, wide, out = ImageParam(Int32, 1, "row"), Func("wide"), Func("out")
    wide[X] = row[X] * 5
    out[X] = wide[0] + wide[1] - wide[2] + X
    return pipeline(out)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("total.update(0).gpu_single_thread()\ntotal.compute_inline()", "call.inline-update"),
        (f"{TILES}\nbase.compute_at(out, x).gpu_single_thread()", "gpu.nested-blocks"),
        ("out.split(x, x, __block, 8)", "order.duplicate-loop"),
        ("out.gpu_single_thread().split(__thread, __thread, b, 2, RoundUp)", "order.tail"),
        ("out.gpu_single_thread().gpu_blocks(x)", "gpu.blocks-inside-threads"),
    ],
)
def test_directives_that_do_not_fit_it_are_refused(text: str, rule: str) -> None:
    verdict = verify(SUMS, read(text), GPU)
    assert not isinstance(verdict, CheckedSchedule)
    assert rule in {violation.rule for violation in verdict.violations}


ROUNDS = ["unroll(__thread, 4", "vectorize(__thread, 4", "unroll(__block, 3"]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_loops_split_from_its_loops_run_once(rounds: str) -> None:
    values, y, total = ImageParam(Int32, 1, "values"), Var("y"), Func("total")
    total[y] = 0
    total[y] += values[RDom([(0, 8)])]
    built = pipeline(total)

    def written(tail: str) -> Schedule:
        once = "total.gpu_single_thread(); total.update(0).gpu_single_thread()"
        return parse_schedule(f"{once}.{rounds}{tail})", built)

    given = {"values": np.arange(8, dtype=np.int32)}
    compiled = compile_gpu_unchecked(built, written(""))
    assert compiled.run(given, sizes={"total": [4]})["total"].tolist() == [28, 28, 28, 28]
    for tail in (one.spelled for one in Tail):
        verdict = verify(built, written(f", {tail}"), GPU)
        if tail in ("Auto", "GuardWithIf", "Predicate"):
            assert isinstance(verdict, CheckedSchedule)
            assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
        else:
            assert "order.tail" in {violation.rule for violation in verdict.violations}
    often = prove(loop_nest(built, written(", RoundUp"))).proofs
    repeated = [p.obligation.statement for p in often if isinstance(p.outcome, Refuted)]
    assert "total.update(0) is applied once at each point of its domain." in repeated


def test_a_cpu_has_no_threads_of_blocks() -> None:
    verdict = verify(SUMS, read(SINGLE), device("cpu"))
    assert not isinstance(verdict, CheckedSchedule)
    assert {violation.rule for violation in verdict.violations} == {"gpu.device"}


def test_its_loops_have_names_of_their_own() -> None:
    with pytest.raises(DefinitionError, match="__thread is a loop of gpu_single_thread"):
        Var("__thread")


def test_halide_gives_them_no_names() -> None:
    built = taps()
    text = "out.gpu_single_thread()\nwide.compute_at(out, __thread)"
    with pytest.raises(DirectiveError, match="have no names"):
        build(built, parse_schedule(text, built))
