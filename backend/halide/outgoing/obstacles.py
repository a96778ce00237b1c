"""Why a schedule cannot be put on Funcs that are in Halide already."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from attrs import evolve

from spaces.backend.halide.incoming.program import HalideProgram
from spaces.backend.halide.outgoing.forms import placed_entry
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from spaces.model.suggestions import some_of, suggestion


def done_already(schedule: Schedule, program: HalideProgram) -> Iterator[str]:
    """Sentences about reductions that are factored in Halide: the schedule is one of the pipeline
    without them.
    """
    there = {function.name for function in program.pipeline.functions}
    for step in schedule.derivations:
        if isinstance(step, RFactor) and step.name in there:
            yield (
                f"Halide has a Func {step.name} already: rfactor has been called on {step.func}. "
                "Take a schedule of the pipeline that from_halide gives now."
            )


def obstacles(schedule: Schedule, program: HalideProgram, leave: Collection[str]) -> Iterator[str]:
    """Sentences, one for each reason."""
    whole = derived(program.pipeline, schedule)
    known = [entry.name for entry in schedule.funcs]
    for name in leave:
        if name not in known:
            yield (
                f"leave names {name!r}, and the schedule has no such Func"
                f"{suggestion(name, known)}; it has {some_of(known)}."
            )
    wanted = {same_step(step) for step in schedule.derivations}
    for step in program.schedule.derivations:
        if same_step(step) not in wanted:
            yield (
                f"Halide has {step.name}, a wrapper or clone of {step.func}, which the schedule "
                "lacks, and it cannot be taken back; build the Funcs anew."
            )
    for entry in schedule.funcs:
        if entry.name in leave:
            continue
        is_scheduled = entry.name in program.scheduled
        if is_scheduled and placed_entry(entry, whole) != program.schedule.of(entry.name):
            yield (
                f"Func {entry.name} has another schedule in Halide already, and Halide cannot undo "
                f"directives: build it without them, or keep them with leave=[{entry.name!r}]."
            )
        yield from _unreachable(entry, program)


def _unreachable(entry: FuncSchedule, program: HalideProgram) -> Iterator[str]:
    """Directives that need objects which a Pipeline of Halide does not hand out."""
    pipeline = program.pipeline
    for case in entry.specializations:
        needs = sorted({name.split(".")[0] for name in case.condition.names})
        missing = [name for name in needs if name in program.arrays]
        if missing:
            yield (
                f"A specialization of Func {entry.name} asks for the size of {', '.join(missing)}, "
                "an array inside the pipeline, which is a number in Halide; call specialize there."
            )
    orders = (*entry.stages, *(case.order for case in entry.specializations))
    for order in orders:
        for prefetch in order.prefetches:
            if pipeline.is_image.get(prefetch.target):
                yield (
                    f"Func {entry.name} prefetches image {prefetch.target}, which cannot be found "
                    "from the Funcs; call prefetch in Halide."
                )


def same_step(step: Derivation) -> Derivation:
    """A derivation with its readers sorted; Halide does not keep their order."""
    if isinstance(step, Wrap | Clone):
        return evolve(step, consumers=tuple(sorted(step.consumers)))
    return step
