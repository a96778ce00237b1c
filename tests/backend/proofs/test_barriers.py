"""Barriers: proofs of correct ones, and refutations where one is missing or only some threads reach
it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spaces.apps.catalog import APPS
from spaces.backend.ir.host import THREAD, GpuProgram
from spaces.backend.ir.statements import For, If, block
from spaces.backend.proofs import barrier_obligations, prove_barriers
from spaces.backend.replay import replay_kernels
from spaces.backend.replay.report import FaultKind
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proof, Proven, Refuted, Unknown
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.writing.text import parse_schedule
from tests.backend.cuda import gpu_pipelines
from tests.backend.cuda.gpu_strategies import gpu_schedules, stencil_chains
from tests.backend.cuda.test_gpu_barriers import crossing, in_rows, in_tiles
from tests.backend.cuda.test_gpu_schedules import BLUR, PRODUCTS, STAGES, UNSHARP
from tests.backend.proofs.programs import at_barrier, barrier_places, changed, lowered, without
from tests.draw_counts import examples, some


def app(name: str) -> tuple[LoopNest, GpuProgram]:
    made = APPS[name].pipeline()
    return lowered(made, parse_schedule(APPS[name].schedules["gpu"].read_text("utf-8"), made))


def refuted(proofs: tuple[Proof, ...]) -> list[Proof]:
    return [p for p in proofs if isinstance(p.outcome, Refuted)]


PROGRAMS = {
    "blur": lambda: app("blur"),
    "unsharp": lambda: app("unsharp"),
    "harris": lambda: app("harris"),
    "rows": lambda: lowered(gpu_pipelines.blur(), BLUR["rows"](gpu_pipelines.blur())),
    "one thread": lambda: lowered(
        gpu_pipelines.blur(), BLUR["shared, by one thread"](gpu_pipelines.blur())
    ),
    "both shared": lambda: lowered(
        gpu_pipelines.three_stages(), STAGES["both shared"](gpu_pipelines.three_stages())
    ),
    "all shared": lambda: lowered(
        gpu_pipelines.unsharp(), UNSHARP["all shared"](gpu_pipelines.unsharp())
    ),
    "in place": lambda: lowered(
        gpu_pipelines.products(), PRODUCTS["in shared memory"](gpu_pipelines.products())
    ),
    "crossing tiles": lambda: lowered(crossing(), in_tiles(crossing())),
    "crossing rows": lambda: lowered(crossing(), in_rows(crossing())),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_barriers_of_legal_programs_are_proven(name: str) -> None:
    for proof in prove_barriers(*PROGRAMS[name]()):
        assert isinstance(proof.outcome, Proven), (proof.obligation.statement, proof.outcome)


SUPERFLUOUS = {
    # A thread reads only its own column, and the window slides along it.
    "rows": {0, 1},
    # A thread reads `across` only where it has written it itself.
    "all shared": {2},
    # A thread reads only the sums that it has added up itself.
    "in place": {0, 1},
}
"""Barriers that the programs do not need: the pass that inserts them compares names, not places."""


@pytest.mark.parametrize("name", some(PROGRAMS))
def test_a_program_without_one_of_its_barriers(name: str) -> None:
    """A proof fails where the kernels race when they run, and only there."""
    nest, program = PROGRAMS[name]()
    superfluous = set()
    for kernel, number in barrier_places(program):
        broken = without(program, kernel, number)
        proofs = prove_barriers(nest, broken)
        failed = refuted(proofs)
        if failed:
            found = failed[0].outcome.counterexample
            run = replay_kernels(nest, broken, found.sizes)
            assert found.buffer in {fault.buffer for fault in run.faults}
        else:
            assert all(isinstance(p.outcome, Proven) for p in proofs)
            assert not replay_kernels(nest, broken, SIZES).shows_a_mistake
            superfluous.add(number)
    assert superfluous == SUPERFLUOUS.get(name, set())


SIZES = {f"{name}.extent.{d}": 9 for name in ("blur_y", "output", "scaled") for d in range(2)}


def test_a_barrier_that_some_threads_do_not_reach_is_refuted() -> None:
    nest, program = app("blur")
    divergent = changed(
        program,
        "blur_y_kernel",
        at_barrier(0, lambda barrier: If(THREAD[0] < constant(5, Int32), barrier)),
    )
    failed = refuted(prove_barriers(nest, divergent))
    assert "reach its barrier 1 together" in failed[0].obligation.statement
    found = failed[0].outcome.counterexample
    columns = {found.iteration["threadIdx.x"] < 5, found.other["threadIdx.x"] < 5}
    assert columns == {True, False}
    # Threads that do not reach it also do not wait for the values that they read.
    assert {p.obligation.buffer for p in failed} == {"blur_y_kernel", "blur_x"}
    run = replay_kernels(nest, divergent, found.sizes)
    assert FaultKind.DIVERGED in {fault.kind for fault in run.faults}


def test_a_barrier_under_a_condition_that_all_share_is_together() -> None:
    nest, program = app("blur")
    size = Variable(Int32, "blur_y.extent.0")
    conditional = changed(
        program,
        "blur_y_kernel",
        at_barrier(0, lambda barrier: If(size < constant(100, Int32), barrier)),
    )
    together, *others = prove_barriers(nest, conditional)
    assert isinstance(together.outcome, Proven)
    # Larger images do not run it. The condition is only sufficient, so a run must show the fault.
    assert not all(isinstance(p.outcome, Proven) for p in others)
    assert not any(p.obligation.exact for p in others if not isinstance(p.outcome, Proven))


def test_a_barrier_in_a_loop_whose_rounds_differ_between_threads_is_refuted() -> None:
    nest, program = app("blur")
    var = Variable(Int32, "rounds")
    looped = changed(
        program,
        "blur_y_kernel",
        at_barrier(
            0, lambda b: block(b, For(var, constant(0, Int32), THREAD[1], LoopKind.SERIAL, b))
        ),
    )
    failed = refuted(prove_barriers(nest, looped))
    assert [p.obligation.statement for p in failed] == [
        "All threads of a block of blur_y_kernel reach its barrier 2 together."
    ]
    run = replay_kernels(nest, looped, {"blur_y.extent.0": 32, "blur_y.extent.1": 8})
    assert {fault.kind for fault in run.faults} == {FaultKind.DIVERGED}


@pytest.mark.parametrize(("number", "rows_later"), [(0, 1), (1, 0)])
def test_rows_of_the_accesses_that_meet(number: int, rows_later: int) -> None:
    """A loop over rows has two barriers. The first separates the writer of a row from threads that
    still read the row before; the second separates the readers of the row from its writer.
    """
    nest, program = lowered(crossing(), in_rows(crossing()))
    (failed,) = refuted(prove_barriers(nest, without(program, "second_kernel", number)))
    found = failed.outcome.counterexample
    assert found.iteration["second.s0.yi"] - found.other["second.s0.yi"] == rows_later


def test_promises_of_numbers_that_wrap_are_not_taken_for_promises_of_integers() -> None:
    nest, program = lowered(gpu_pipelines.promised_bytes(), gpu_pipelines.promised_tiles())
    assert not refuted(prove_barriers(nest, program))
    assert refuted(prove_barriers(nest, without(program, "sums_kernel", 0)))


def test_places_that_the_data_choose_are_unknown_and_named() -> None:
    made = gpu_pipelines.lookups()
    directives = schedule(made).gpu_tile("x", "y", "xi", "yi", 8, 4)
    nest, program = lowered(made, directives.func("table").compute_at("looked", "x"))
    ((kernel, number),) = barrier_places(program)
    proofs = prove_barriers(nest, without(program, kernel, number))
    (unknown,) = [p.outcome for p in proofs if isinstance(p.outcome, Unknown)]
    assert "input" in unknown.expression


def test_statements_name_the_separated_accesses() -> None:
    _, program = app("harris")
    said = [o.statement for o in barrier_obligations(program)]
    assert "All threads of a block of corners_kernel reach its barrier 2 together." in said
    wanted = "A barrier stands between threads that write a place of gray and others that read it"
    assert f"{wanted} for ix." in said
    assert all(o.kind == "barrier" for o in barrier_obligations(program))


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_legal_schedules_are_never_refuted(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_chains())
    checked = verify(algorithm, data.draw(gpu_schedules(algorithm)), device("sm_80"))
    assume(checked.legal)
    assert isinstance(checked, CheckedSchedule)
    nest, program = lowered(algorithm, checked.schedule)
    for proof in prove_barriers(nest, program):
        assert not isinstance(proof.outcome, Refuted), proof
        if isinstance(proof.outcome, Unknown):
            assert proof.outcome.reason
