"""Differential fuzzing over some schedules; ``python -m tests.differential`` runs more.

What ``verify`` calls legal lowers, compiles and computes what the reference computes. Of what it
calls illegal it names a rule. Rules about wrong results are seen to be right.
"""

from __future__ import annotations

import multiprocessing
import random
from itertools import product

import numpy as np
import pytest
from attrs import evolve

from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.ir.host import (
    DeviceFunction,
    GpuProgram,
    HostBlock,
    HostIf,
    HostLoop,
    HostPart,
    Launch,
)
from spaces.backend.ir.program import BufferParameter
from spaces.backend.ir.statements import EMPTY, For, If, Store, block
from spaces.backend.preconditions import SizeError
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Counterexample, ProofReport, Refuted
from spaces.constraints.proofs.in_time import unlisted
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import LoopKind
from tests.differential import runner, verdict_checks
from tests.differential.cases import CLASSES, SHARED, draw, subject_of
from tests.differential.check import Fuzzer
from tests.differential.claims import unclassified
from tests.differential.gpu_machine import Buffer, GpuMachine, Worker
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.interpreter import Interpreter
from tests.differential.oracle import Oracle, evidence
from tests.differential.pipelines import KINDS
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.shadow import ShadowMemory, Trouble
from tests.differential.smallest import smallest
from tests.differential.subjects import EXACT, ODD, Subject, subject
from tests.differential.summary import Summary
from tests.differential.test_regressions import IMAGE, PLACE, window_sum
from tests.differential.verdict_checks import CASES_PROVEN, PROVEN, REFUTED, accepted
from tests.draw_counts import examples

SEED, ALL = 20, 400
CASES = examples(ALL, fewest=120)
ZERO = constant(0, Int32)
SIZES = tuple({"out": ((0, width), (0, 4))} for width in (8, 7, 20))


@pytest.fixture(scope="module")
def total() -> Summary:
    """In a fork of this process, which has imported all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_context", multiprocessing.get_context("fork"))
        return runner.run(SEED, CASES, processes=2)


def test_what_happens_is_what_the_verdicts_say(total: Summary) -> None:
    programs = [smallest(Fuzzer(SEED), number, seconds=60) for number in total.failing[:1]]
    assert not total.mismatches, "\n\n".join((*total.mismatches[:5], *programs))
    assert sum(total.cases.values()) == CASES


def test_about_half_are_legal_in_every_kind_of_pipeline(total: Summary) -> None:
    assert 0.35 < total.count(verdict="legal") / CASES < 0.7
    # Of a part of the cases, those of one subject alone say little about its kind.
    fewest = 0 if CASES == ALL else SHARED + 1
    for kind in KINDS:
        of_kind = total.count(kind=kind)
        if of_kind >= fewest:
            assert total.count(kind=kind, verdict="legal") > 0.15 * of_kind - 1, kind
    for drawn in CLASSES:
        for verdict in ("legal", "illegal"):
            assert total.count(drawn=drawn, verdict=verdict) > CASES / 40, (drawn, verdict)


def test_every_kind_of_pipeline_is_drawn_for_both_targets() -> None:
    seen = set()
    for first in range(0, ALL, SHARED):
        of = subject_of(SEED, first)
        for number in range(first, first + SHARED):
            seen.add((of.kind, draw(SEED, number, of.pipeline).target == "cpu"))
    assert seen == set(product(KINDS, (True, False)))


def test_compiled_code_and_kernels_ran(total: Summary) -> None:
    assert total.runs["compiled"] > 0.6 * CASES
    assert total.runs["called"] > 0.01 * CASES
    assert total.runs["interpreted"] > 0.1 * CASES


def test_every_legal_schedule_is_proven(total: Summary) -> None:
    legal = total.count(verdict="legal")
    assert total.runs[PROVEN] > 5 * legal > 0  # a busy computer leaves more of them unknown
    assert total.runs[CASES_PROVEN] > 0.1 * legal


def test_claims_of_wrong_results_are_seen_to_be_right(total: Summary) -> None:
    """A rule that is broken alone six times goes wrong at least once unchecked."""
    assert not total.silent(least=6)
    assert sum(total.shown.values()) > 0.1 * CASES


def test_every_rule_says_what_it_is_about() -> None:
    assert not unclassified()


def test_a_case_is_drawn_from_its_number_alone() -> None:
    for number in (3, 57, 1234):
        first, second = (draw(SEED, number, subject_of(SEED, number).pipeline) for _ in range(2))
        assert first == second


def legal_on_gpu(rng: random.Random, kind: str) -> tuple[Oracle, CheckedSchedule]:
    while True:
        drawn = subject(rng, kind)
        verdict = verify(drawn.pipeline, gpu_schedule(rng, drawn.pipeline), device("sm_80"))
        if isinstance(verdict, CheckedSchedule):
            return Oracle(drawn), verdict


@pytest.mark.parametrize("kind", ["stencil", "reduction", "resampled", "volume"])
def test_cuda_text_computes_the_reference(kind: str) -> None:
    """One legal schedule of each of some kinds, in an order of threads that is drawn."""
    oracle, verdict = legal_on_gpu(random.Random(f"emulated {kind}"), kind)
    compiled, images = compile_gpu(verdict), oracle.subject.images
    for size in (EXACT, ODD):
        sizes = oracle.subject.sizes(size)
        try:
            found = compiled.run(images, sizes=sizes, executor=Emulator("shuffled", seed=5))
        except SizeError:
            continue
        for name, wanted in oracle.expected(size).items():
            np.testing.assert_array_equal(found[name], wanted)


@pytest.mark.parametrize("kind", ["reduction", "scan"])
def test_interpreted_host_programs_compute_what_emulated_ones_do(kind: str) -> None:
    """With parts of the host beside kernels, on arrays with gaps."""
    rng = random.Random(f"called {kind}")
    while True:
        oracle, verdict = legal_on_gpu(rng, kind)
        size = accepted(oracle, verdict)
        parts = [c for c in schedule_constructs(verdict.schedule) if c.startswith("host: ")]
        if parts and size is not None:
            break
    compiled, images = compile_gpu(verdict), oracle.subject.images
    sizes = oracle.subject.sizes(size)
    for executor in (Interpreter(compiled), Emulator()):
        found = compiled.run(images, sizes=sizes, executor=executor)
        for name, wanted in oracle.expected(size).items():
            np.testing.assert_array_equal(found[name], wanted)


def test_a_refuted_obligation_is_a_failing_case(monkeypatch: pytest.MonkeyPatch) -> None:
    fuzzer = Fuzzer(SEED)
    legal = next(n for n in range(CASES) if fuzzer.check(n).legal)
    proven = fuzzer.check(legal)
    assert proven.runs[PROVEN] > 0
    refuted = Refuted(Counterexample({}, {"f.s0.x": 1}, {}, "f", (1,)))
    wrong = ProofReport((evolve(unlisted(), outcome=refuted),))
    monkeypatch.setattr(verdict_checks, "prove", lambda *_, **__: wrong)
    assert REFUTED in fuzzer.check(legal).mismatch


def test_the_oracle_sees_what_goes_wrong() -> None:
    """A race, a fold that is too small, a level that encloses no use, and nothing at all."""
    oracle = Oracle(subject(random.Random(4), "diamond"))
    start = schedule(oracle.subject.pipeline)
    folded = start.func("base").compute_root().fold_storage("y", 2)
    elsewhere = start.func("base").compute_at("left", "x")
    assert evidence(oracle, folded.schedule) == "overwritten"
    assert evidence(oracle, elsewhere.schedule).startswith("no nest")
    assert evidence(oracle, start.schedule) == ""
    sums = Subject("sums", window_sum(), {"input": IMAGE}, {"input": 3}, {"input": PLACE}, SIZES)
    at_once = schedule(sums.pipeline).func("total").compute_root().update(0).parallel("r.x")
    assert evidence(Oracle(sums), at_once.schedule) == "race"


FIRST, SECOND, THIRD = (Worker((0, (0,), 0, (thread,))) for thread in range(3))
LATER = Worker((0, (0,), 1, (1,)))


def changed(by: str = "add") -> tuple[Buffer, ShadowMemory]:
    """An element that was 3, to which two threads add 4 and 5."""
    memory = ShadowMemory(negative=False)
    buffer = Buffer("sum", Int32, 1, memory)
    buffer.store(0, 3, Worker())
    buffer.change(0, "add", lambda now: now + 4, FIRST)
    buffer.change(0, by, lambda now: now + 5, SECOND)
    return buffer, memory


def test_kernels_and_hosts_may_do_nothing() -> None:
    """Loops and conditions around nothing, on the host and in a kernel, and a store after them."""
    n, store = Variable(Int32, "n"), Store("out", ZERO, Variable(Int32, "n"))
    nothing = If(n < 3, EMPTY, EMPTY)
    loop = For(Variable(Int32, "i"), ZERO, n, LoopKind.SERIAL, nothing)
    kernel = DeviceFunction("kernel", (n, n, n), (2, 1, 1), (), loop)
    steps = (
        HostIf(n < 3, HostBlock(())),
        HostLoop(Variable(Int32, "j"), ZERO, n, HostPart("none", EMPTY)),
        Launch(kernel),
        HostPart("some", block(loop, store)),
    )
    program = GpuProgram(
        "out", (BufferParameter("out", Int32, 1, True),), (), (), (kernel,), HostBlock(steps)
    )
    memory = ShadowMemory(negative=False)
    assert GpuMachine(program).run({"n": 2}, {}, {"out": 1}, memory) == {"out": [2]}


def test_threads_change_an_element_in_one_step_each() -> None:
    buffer, memory = changed()
    assert buffer.load(0, LATER) == 12
    assert not memory.found


def test_what_is_not_one_step_of_the_same_operator_is_a_race() -> None:
    assert "race" in changed("max")[1].found
    for thread in (FIRST, THIRD):
        buffer, memory = changed()
        buffer.load(0, thread)
        assert "race" in memory.found
        buffer, memory = changed()
        buffer.store(0, 7, thread)
        assert "race" in memory.found
    buffer, _ = changed()
    buffer.load(0, LATER)
    with pytest.raises(Trouble, match="without a barrier"):
        buffer.change(0, "add", lambda now: now + 1, Worker((0, (0,), 1, (2,))))
