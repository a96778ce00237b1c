"""All that is proven of a schedule: of its loop nest, and of the barriers of its kernels; and what
happens where a proof fails.
"""

from __future__ import annotations

import time

from attrs import frozen

from backend.gpu_program import GpuProgram
from backend.lowering.gpu_errors import GpuLoweringError
from backend.lowering.gpu_passes import lower_gpu
from backend.proofs import barrier_obligations, prove_barriers, shapes
from backend.replay import Replay, replay, replay_kernels
from spaces.constraints.devices import Device
from spaces.constraints.proofs.prove import obligations, prove
from spaces.constraints.proofs.records import Obligation, ProofReport, Refuted
from spaces.constraints.verdict import CheckedSchedule, Verdict
from spaces.constraints.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import Loop, LoopNest, loop_nest, walk_nest
from spaces.model.schedules.cases import cases
from spaces.model.schedules.domain_order import LoopKind
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


def prove_schedule(
    pipeline: Pipeline, schedule: Schedule, device: Device, seconds: float
) -> Findings:
    """Prove what a schedule stands for, legal or not, case by case, and run what is refuted."""
    verdict = verify(pipeline, schedule, device)
    start = time.perf_counter()
    findings = [
        _of_case(verdict, proposed, seconds - (time.perf_counter() - start))
        for proposed in _meanings(pipeline, schedule, verdict)
    ]
    if not findings:
        return Findings(verdict)
    proofs = tuple(p for one in findings if one.report is not None for p in one.report.proofs)
    return Findings(
        verdict,
        ProofReport(proofs, time.perf_counter() - start),
        tuple(run for one in findings for run in one.replays),
        next((one.without_barriers for one in findings if one.without_barriers), ""),
    )


def _of_case(verdict: Verdict, proposed: LoopNest | CheckedSchedule, seconds: float) -> Findings:
    """What is known of one case of a schedule."""
    start = time.perf_counter()
    nest = _nest(proposed)
    report = prove(proposed, seconds=max(seconds, 0.0))
    program, why = _kernels(nest)
    if program is not None:
        left = seconds - (time.perf_counter() - start)
        barriers = prove_barriers(nest, program, seconds=left)
        report = ProofReport((*report.proofs, *barriers), time.perf_counter() - start)
    replays: dict[tuple[bool, tuple[tuple[str, int], ...]], Replay] = {}
    for proof in report.refuted:
        assert isinstance(proof.outcome, Refuted)
        sizes = proof.outcome.counterexample.sizes
        of_kernels = proof.obligation.kind == "barrier"
        key = of_kernels, tuple(sorted(sizes.items()))
        if key not in replays:
            replays[key] = (
                replay_kernels(nest, program, sizes)
                if of_kernels and program is not None
                else replay(nest, sizes)
            )
    return Findings(verdict, report, tuple(replays.values()), why)


def all_obligations(
    pipeline: Pipeline, schedule: Schedule, device: Device
) -> tuple[Obligation, ...]:
    """What :func:`prove_schedule` asks about a schedule, in order; nothing where it stands for no
    program.
    """
    asked: list[Obligation] = []
    for proposed in _meanings(pipeline, schedule, verify(pipeline, schedule, device)):
        asked += obligations(proposed)
        nest = _nest(proposed)
        program, _ = _kernels(nest)
        asked += barrier_obligations(program, shapes(nest)) if program is not None else ()
    return tuple(asked)


def _nest(proposed: LoopNest | CheckedSchedule) -> LoopNest:
    return proposed.nest if isinstance(proposed, CheckedSchedule) else proposed


def _kernels(nest: LoopNest) -> tuple[GpuProgram | None, str]:
    """The GPU program of a nest that has block or thread loops, or why it has none."""
    if not any(isinstance(n, Loop) and n.var.kind in _GPU for n in walk_nest(nest.body)):
        return None, ""
    try:
        return lower_gpu(nest), ""
    except GpuLoweringError as error:
        return None, f"There are no kernels, so nothing is said about barriers: {error}"


_GPU = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


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
    except (LevelError, UnboundedError, KeyError):
        return ()
