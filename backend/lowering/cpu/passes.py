"""The passes for CPUs in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spaces.backend.access import AccessMode
from spaces.backend.ir.program import LoopProgram
from spaces.backend.lowering.cases import combined, each, refused
from spaces.backend.lowering.cpu.drop_unread import drop_unread
from spaces.backend.lowering.cpu.hoist import hoist
from spaces.backend.lowering.cpu.interleave import interleave
from spaces.backend.lowering.cpu.keep_sums import keep_sums
from spaces.backend.lowering.cpu.parallel import parallel
from spaces.backend.lowering.cpu.partition import partition
from spaces.backend.lowering.cpu.round_folds import round_folds
from spaces.backend.lowering.cpu.stride_forms import stride_forms
from spaces.backend.lowering.cpu.trim import trim
from spaces.backend.lowering.cpu.unroll import unroll
from spaces.backend.lowering.cpu.vectorize import vectorize
from spaces.backend.lowering.empty_outputs import outputs_alone, with_empty_outputs
from spaces.backend.lowering.flatten import flatten, flatten_with_dimensions
from spaces.backend.lowering.passes import Pass, after_each
from spaces.backend.lowering.simplify import simplify
from spaces.backend.lowering.start import UNTIMED, start
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.cases import Case
from spaces.model.schedules.schedule import Schedule


def cpu_passes(access_mode: AccessMode = AccessMode.PLAIN) -> tuple[Pass, ...]:
    """The passes in the order they run after :func:`~spaces.backend.lowering.start.start`. Hardened
    programs keep the dimensions of their memory, so that errors name coordinates, and test each
    access where the algorithm has it.
    """
    keeping = (keep_sums,) if access_mode is AccessMode.PLAIN else ()
    return (
        simplify,
        drop_unread,
        partition,
        trim,
        unroll,
        *keeping,
        round_folds,
        stride_forms,
        flatten if access_mode is AccessMode.PLAIN else flatten_with_dimensions,
        *_behind_flatten(access_mode),
    )


def host_passes(access_mode: AccessMode = AccessMode.PLAIN) -> tuple[Pass, ...]:
    """The passes for the host parts of a GPU program, which are simplified and flat already."""
    return (unroll, *_behind_flatten(access_mode))


def _behind_flatten(access_mode: AccessMode) -> tuple[Pass, ...]:
    """The passes for flat programs. Hardened ones allocate in each iteration, because only new
    memory is poisoned.
    """
    hoisting = (hoist,) if access_mode is AccessMode.PLAIN else ()
    return (vectorize, interleave, *hoisting, parallel)


CPU_PASSES = tuple(one.name for one in cpu_passes())
"""The names of the passes, in order."""


def lower(
    nest: LoopNest,
    access_mode: AccessMode = AccessMode.PLAIN,
    timed: Mapping[str, int] = UNTIMED,
) -> dict[str, LoopProgram]:
    """The program of a loop nest after each pass, by the pass's name; LLVM compiles the last
    one. A run of it counts the time of the Funcs in ``timed``.
    """
    return after_each(start(nest, timed), cpu_passes(access_mode))


def lower_cases(
    pipeline: Pipeline,
    cases: Sequence[Case],
    access_mode: AccessMode = AccessMode.PLAIN,
    timed: Mapping[str, int] = UNTIMED,
) -> dict[str, LoopProgram]:
    """The program after each pass, for a pipeline with a schedule for each of several cases."""
    programs = each(pipeline, cases, lambda nest, _: lower(nest, access_mode, timed), _refused)
    return {name: combined([p[name] for p in programs]) for name in programs[0]}


def beside_empty_outputs(
    stages: Mapping[str, LoopProgram],
    pipeline: Pipeline,
    schedule: Schedule,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> dict[str, LoopProgram]:
    """The program after each pass, for a pipeline of several outputs; the last pass adds what runs
    where some of them are empty.
    """
    *_, last = stages.values()
    alone = outputs_alone(pipeline, schedule)
    others = {one: list(lower(one.nest, access_mode).values())[-1] for one in alone}
    return {**stages, "empty_outputs": with_empty_outputs(last, pipeline, others)}


def _refused(
    programs: Mapping[str, LoopProgram], assumptions: tuple[Expr, ...], message: str
) -> dict[str, LoopProgram]:
    return {name: refused(p, assumptions, message) for name, p in programs.items()}
