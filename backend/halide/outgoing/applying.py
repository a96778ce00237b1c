"""Puts a schedule on the Funcs of a pipeline that is in Halide, and reads it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve

from spaces.backend.halide.calls import halide_calls
from spaces.backend.halide.directives import PeerDirectives
from spaces.backend.halide.errors import AppliedOtherwiseError, ApplyError, DirectiveError
from spaces.backend.halide.incoming.foreign import ForeignFacts
from spaces.backend.halide.incoming.program import HalideProgram, program
from spaces.backend.halide.incoming.serializing import pipeline_of, serialized
from spaces.backend.halide.meaning import as_halide_means
from spaces.backend.halide.outgoing.existing import existing_objects
from spaces.backend.halide.outgoing.forms import (
    form_in_halide,
    have_same_loops,
    placed_entry,
)
from spaces.backend.halide.outgoing.obstacles import done_already, obstacles, same_step
from spaces.backend.halide.outgoing.renaming import with_rvars_of, with_sorted_readers
from spaces.backend.halide.peer import hl
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import RFactor
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.chain import directive_calls


def apply_schedule(
    schedule: Schedule, source: Any, leave: tuple[str, ...], foreign: ForeignFacts
) -> HalideProgram:
    """:func:`spaces.backend.halide.outgoing.entry_points.apply`."""
    if isinstance(source, type):
        raise TypeError(
            "apply takes a halide.Func, a halide.Pipeline or a list of Funcs; a class of "
            "generators makes new Funcs each time, which nobody keeps."
        )
    pipeline = pipeline_of(source)
    contents, known = serialized(pipeline)
    before = program(contents, known, None, None, foreign)
    done = tuple(done_already(schedule, before))
    if done:
        raise ApplyError(before.pipeline.name, done)
    try:
        calls = halide_calls(before.pipeline, schedule)
        missing: tuple[str, ...] = ()
    except DirectiveError as error:
        calls, missing = (), (str(error),)
    reasons = (*missing, *obstacles(schedule, before, leave))
    if reasons:
        raise ApplyError(before.pipeline.name, reasons)
    kept = {*before.scheduled, *leave}
    directives = PeerDirectives(existing_objects(pipeline, contents, before))
    for stage_calls in calls:
        if stage_calls.adds is not None or stage_calls.func not in kept:
            try:
                directives.apply(stage_calls)
            except DirectiveError as error:
                raise AppliedOtherwiseError(before.pipeline.name, (str(error),)) from error
    pipeline.invalidate_cache()
    after = program(*serialized(hl.Pipeline(pipeline.outputs())), None, None, foreign)
    found = tuple(differences(schedule, before, after, leave))
    if found:
        raise AppliedOtherwiseError(before.pipeline.name, found)
    return after


def differences(
    schedule: Schedule, before: HalideProgram, after: HalideProgram, leave: tuple[str, ...] = ()
) -> Iterator[str]:
    """How the schedule in Halide differs from that which was applied, in sentences.

    The Func of a factored reduction comes back as a Func like others. So both schedules are
    compared as those of the pipeline with all Funcs that directives have added.
    """
    schedule = with_sorted_readers(schedule)
    wanted_steps = {same_step(s) for s in schedule.derivations if not isinstance(s, RFactor)}
    whole = derived(before.pipeline, schedule)
    there = derived(after.pipeline, after.schedule)
    is_same = {same_step(step) for step in after.schedule.derivations} == wanted_steps
    if not is_same or not have_same_loops(whole, there):
        yield (
            f"The schedule adds {_listed(schedule)}; Halide has {_listed(after.schedule)} instead."
        )
        return
    pipeline = evolve(whole, derivations=())
    found = with_rvars_of(pipeline, Schedule(after.schedule.funcs), there)
    entries = [
        theirs if theirs.name in leave else placed_entry(schedule.of(theirs.name), whole)
        for theirs in found.funcs
    ]
    wanted = as_halide_means(Schedule(tuple(entries)), pipeline)
    if form_in_halide(pipeline, wanted) == form_in_halide(pipeline, found):
        return
    ours, theirs = _texts(pipeline, wanted), _texts(pipeline, found)
    different = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
    for name in different:
        nothing = "no directives"
        yield (f"{name} got {ours.get(name, nothing)}, and Halide has {theirs.get(name, nothing)}.")
    if not different:
        yield "Loops with the same names are made in other ways."


def _texts(pipeline: Pipeline, schedule: Schedule) -> dict[str, str]:
    """For each stage its directives."""
    found: dict[str, str] = {}
    for line in directive_calls(pipeline, schedule):
        name = f"{line.func}.update({line.stage - 1})" if line.stage else line.func
        shown = ".".join(f"{call.name}({', '.join(map(str, call.args))})" for call in line.calls)
        found[name] = f"{found[name]}; {shown}" if name in found else shown
    return found


def _listed(schedule: Schedule) -> str:
    return ", ".join(step.name for step in schedule.derivations) or "nothing"
