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
    """Prove what a schedule stands for, legal or not, and run what is refuted."""
    verdict = verify(pipeline, schedule, device)
    nest = _meaning(pipeline, schedule, verdict)
    if nest is None:
        return Findings(verdict)
    start = time.perf_counter()
    report = prove(verdict if isinstance(verdict, CheckedSchedule) else nest, seconds=seconds)
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
    verdict = verify(pipeline, schedule, device)
    nest = _meaning(pipeline, schedule, verdict)
    if nest is None:
        return ()
    of_nest = obligations(verdict if isinstance(verdict, CheckedSchedule) else nest)
    program, _ = _kernels(nest)
    return (
        *of_nest,
        *(barrier_obligations(program, shapes(nest)) if program is not None else ()),
    )


def _kernels(nest: LoopNest) -> tuple[GpuProgram | None, str]:
    """The GPU program of a nest that has block or thread loops, or why it has none."""
    if not any(isinstance(n, Loop) and n.var.kind in _GPU for n in walk_nest(nest.body)):
        return None, ""
    try:
        return lower_gpu(nest), ""
    except GpuLoweringError as error:
        return None, f"There are no kernels, so nothing is said about barriers: {error}"


_GPU = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


def _meaning(pipeline: Pipeline, schedule: Schedule, verdict: Verdict) -> LoopNest | None:
    """The loop nest; None where the schedule is too broken to have one."""
    if isinstance(verdict, CheckedSchedule):
        return verdict.nest
    if any(v.rule.startswith(MEANINGLESS) for v in verdict.violations):
        return None
    try:
        return loop_nest(pipeline, schedule)
    except (LevelError, UnboundedError, KeyError):
        return None
