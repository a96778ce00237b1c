"""All that is proven of a schedule: of its loop nest, and of the barriers of its kernels; and what
happens where a proof fails.
"""

from __future__ import annotations

import time

from attrs import frozen

from backend.ir.host import GpuProgram
from backend.lowering.gpu.errors import GpuLoweringError
from backend.lowering.gpu.passes import lower_gpu
from backend.proofs import barrier_obligations, prove_barriers, shapes
from backend.replay import Replay, replay_kernels, replay_nest
from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import obligations, prove
from spaces.constraints.proofs.records import Obligation, Proof, ProofReport, Refuted
from spaces.model.algorithm.pipeline import Pipeline
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
"""Rules, by the beginnings of their ids, without which a schedule stands for no program."""


@frozen
class Findings:
    """What is known of a schedule.

    Attributes:
        verdict: whether it is legal.
        report: the proofs; None where the schedule stands for no program.
        replays: runs at the sizes of the counterexamples, each once.
        without_barriers: why nothing is said about barriers, where there are kernels; else empty.
    """

    verdict: Verdict
    report: ProofReport | None = None
    replays: tuple[Replay, ...] = ()
    without_barriers: str = ""


@frozen
class _Case:
    """One case of a schedule; the only one, where it has no specializations.

    Attributes:
        proposed: what is proven: a nest, or what ``verify`` says of it.
        nest: its loop nest.
        program: its kernels, if it has any.
        without_kernels: why it has none, where it has block or thread loops; else empty.
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
) -> Findings:
    """Prove what a schedule stands for, legal or not, case by case, and run what is refuted; with
    ``exact`` it is judged as ``verify`` does with that.
    """
    verdict = verify(pipeline, schedule, device, exact=exact)
    start = time.perf_counter()
    found = _cases(pipeline, schedule, verdict)
    proofs: list[Proof] = []
    replays: list[Replay] = []
    for case in found:
        proven = _proven(case, seconds - (time.perf_counter() - start))
        proofs += proven
        replays += _replays(case, proven)
    if not found:
        return Findings(verdict)
    report = ProofReport(tuple(proofs), time.perf_counter() - start)
    why = next((case.without_kernels for case in found if case.without_kernels), "")
    return Findings(verdict, report, tuple(replays), why)


def _proven(case: _Case, seconds: float) -> tuple[Proof, ...]:
    """All proofs about one case."""
    start = time.perf_counter()
    proofs = prove(case.proposed, seconds=max(seconds, 0.0)).proofs
    if case.program is None:
        return proofs
    left = seconds - (time.perf_counter() - start)
    return (*proofs, *prove_barriers(case.nest, case.program, seconds=left))


def _replays(case: _Case, proofs: tuple[Proof, ...]) -> tuple[Replay, ...]:
    """Runs of one case at the sizes of all counterexamples."""
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
    """What :func:`prove_schedule` asks about a schedule, in order; nothing where it stands for no
    program.
    """
    asked: list[Obligation] = []
    for case in _cases(pipeline, schedule, verify(pipeline, schedule, device)):
        asked += obligations(case.proposed)
        if case.program is not None:
            asked += barrier_obligations(case.program, shapes(case.nest))
    return tuple(asked)


def _cases(pipeline: Pipeline, schedule: Schedule, verdict: Verdict) -> tuple[_Case, ...]:
    """The cases in order; none where the schedule is too broken to have a meaning."""
    found: list[_Case] = []
    for proposed in _meanings(pipeline, schedule, verdict):
        nest = proposed.nest if isinstance(proposed, CheckedSchedule) else proposed
        others = tuple(case.program for case in found if case.program is not None)
        found.append(_Case(proposed, nest, *_kernels(nest, others)))
    return tuple(found)


def _kernels(nest: LoopNest, others: tuple[GpuProgram, ...]) -> tuple[GpuProgram | None, str]:
    """The GPU program of a nest that has block or thread loops, or why it has none."""
    if not any(isinstance(n, Loop) and n.var.kind.is_gpu for n in walk_nest(nest.body)):
        return None, ""
    try:
        return lower_gpu(nest, others=others), ""
    except GpuLoweringError as error:
        return None, f"There are no kernels, so nothing is said about barriers: {error}"


def _meanings(
    pipeline: Pipeline, schedule: Schedule, verdict: Verdict
) -> tuple[LoopNest | CheckedSchedule, ...]:
    """The loop nest of each case; none where the schedule is too broken to have one."""
    if isinstance(verdict, CheckedSchedule):
        return verdict.cases or (verdict,)
    if any(v.rule.startswith(MEANINGLESS) for v in verdict.violations):
        return ()
    try:
        return tuple(
            loop_nest(pipeline, case.schedule, case.assumptions)
            for case in cases(schedule)
            if not case.failure
        )
    except (LevelError, OrderError, UnboundedError, KeyError):
        return ()
