"""Proves a schedule: its loop nest and the barriers of its kernels. Replays the counterexample of
each proof that fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from attrs import frozen

from spaces.backend.ir.host import GpuProgram
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.backend.lowering.gpu.passes import lower_gpu
from spaces.backend.proofs import barrier_obligations, barrier_proofs, shapes
from spaces.backend.replay import Replay, replay_kernels, replay_nest
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Obligation, Proof, ProofReport, Refuted
from spaces.constraints.proofs.in_time import LISTING, unlisted
from spaces.constraints.proofs.prove import obligations
from spaces.constraints.proofs.prove import proofs as proofs_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import Loop, LoopNest, loop_nest, walk_nest
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.cases import cases
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule

MEANINGLESS = (
    "schedule.",
    "order.unknown-loop",
    "order.duplicate-loop",
    "order.missing-loop",
    "order.factor",
    "call.compute-level",
    "call.store-level",
    "call.unread",
    "call.inline-size",
    "with.func",
    "with.dependent",
    "with.order",
    "storage.fold-factor",
    "bounds.unbounded",
    "specialize.condition",
    "specialize.cases",
    "specialize.inlined",
)
"""The beginnings of rule ids. A schedule that breaks one of these rules has no loop nest."""


@frozen
class Findings:
    """The verdict, proofs and replays of a schedule.

    Attributes:
        verdict: whether it is legal.
        report: the proofs; None if the schedule has no loop nest.
        replays: one run for the sizes of each counterexample.
        without_barriers: why there are no proofs about barriers; empty if there are, or if the
            schedule has no GPU loops.
    """

    verdict: Verdict
    report: ProofReport | None = None
    replays: tuple[Replay, ...] = ()
    without_barriers: str = ""


@frozen
class _Case:
    """One case of a schedule; a schedule without specializations has one case.

    Attributes:
        proposed: the subject of the proofs: a checked schedule, or the nest of an illegal one.
        nest: the loop nest of the case.
        program: its kernels; None if it has no kernels.
        without_kernels: why a case with block or thread loops has no kernels; else empty.
    """

    proposed: LoopNest | CheckedSchedule
    nest: LoopNest
    program: GpuProgram | None
    without_kernels: str


def prove_schedule(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    seconds: float,
    *,
    exact: bool = False,
    watch: Callable[[Proof], object] = lambda proof: None,
) -> Findings:
    """Proves the loop nests of a schedule, legal or not, case by case, and runs the
    counterexamples; passes ``exact`` to ``verify``, and each proof to ``watch`` as soon as it is
    there. The verdict is complete also if it takes longer than ``seconds``.
    """
    deadline = Deadline.after(seconds)
    verdict = verify(pipeline, schedule, device, exact=exact)
    if any(v.rule.startswith(MEANINGLESS) for v in verdict.violations):
        return Findings(verdict)
    start = time.perf_counter()
    found: tuple[_Case, ...] = ()
    proofs: list[Proof] = []
    replays: list[Replay] = []
    try:
        with deadline.later(LISTING).kept():
            found = _cases(pipeline, schedule, verdict)
            if not found:
                return Findings(verdict)
            for case in found:
                proven: list[Proof] = []
                for proof in _proofs(case, deadline):
                    proven.append(proof)
                    watch(proof)
                proofs += proven
                replays += _replays(case, proven)
    except OutOfTime:
        proofs.append(unlisted(len(proofs)))
    report = ProofReport(tuple(proofs), time.perf_counter() - start)
    why = next((case.without_kernels for case in found if case.without_kernels), "")
    return Findings(verdict, report, tuple(replays), why)


def _proofs(case: _Case, deadline: Deadline) -> Iterator[Proof]:
    """All proofs about one case, one by one."""
    yield from proofs_of(case.proposed, deadline=deadline)
    if case.program is not None:
        yield from barrier_proofs(case.nest, case.program, deadline=deadline)


def _replays(case: _Case, proofs: Iterable[Proof]) -> tuple[Replay, ...]:
    """Runs one case at the sizes of each counterexample."""
    replays: dict[tuple[bool, tuple[tuple[str, int], ...]], Replay] = {}
    for proof in proofs:
        if not isinstance(proof.outcome, Refuted):
            continue
        sizes = proof.outcome.counterexample.sizes
        of_kernels = proof.obligation.kind == "barrier"
        key = of_kernels, tuple(sorted(sizes.items()))
        if key not in replays:
            replays[key] = (
                replay_kernels(case.nest, case.program, sizes)
                if of_kernels and case.program is not None
                else replay_nest(case.nest, sizes)
            )
    return tuple(replays.values())


def all_obligations(
    pipeline: Pipeline, schedule: Schedule, device: Device
) -> tuple[Obligation, ...]:
    """The obligations that :func:`prove_schedule` proves, in order; empty if the schedule has no
    loop nest.
    """
    found: list[Obligation] = []
    for case in _cases(pipeline, schedule, verify(pipeline, schedule, device)):
        found += obligations(case.proposed)
        if case.program is not None:
            found += barrier_obligations(case.program, shapes(case.nest))
    return tuple(found)


def _cases(pipeline: Pipeline, schedule: Schedule, verdict: Verdict) -> tuple[_Case, ...]:
    """The cases in order; empty if the schedule is too broken to have a loop nest."""
    found: list[_Case] = []
    for proposed in _meanings(pipeline, schedule, verdict):
        nest = proposed.nest if isinstance(proposed, CheckedSchedule) else proposed
        others = tuple(case.program for case in found if case.program is not None)
        found.append(_Case(proposed, nest, *_kernels(nest, others)))
    return tuple(found)


def _kernels(nest: LoopNest, others: tuple[GpuProgram, ...]) -> tuple[GpuProgram | None, str]:
    """The GPU program of a nest with block or thread loops, or the reason why it has none."""
    if not any(isinstance(n, Loop) and n.var.kind.is_gpu for n in walk_nest(nest.body)):
        return None, ""
    try:
        return lower_gpu(nest, others=others), ""
    except GpuLoweringError as error:
        return None, f"There are no kernels, so there are no proofs about barriers: {error}"


def _meanings(
    pipeline: Pipeline, schedule: Schedule, verdict: Verdict
) -> tuple[LoopNest | CheckedSchedule, ...]:
    """The loop nest of each case; empty if the schedule is too broken to have one."""
    if isinstance(verdict, CheckedSchedule):
        return verdict.cases or (verdict,)
    try:
        return tuple(
            loop_nest(pipeline, case.schedule, case.assumptions)
            for case in cases(schedule)
            if not case.failure
        )
    except (LevelError, OrderError, UnboundedError, KeyError):
        return ()
