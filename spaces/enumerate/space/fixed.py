"""The entries that a space takes as they are given."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rounding import roundings
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import Schedule


def mistakes_in_fixed(pipeline: Pipeline, fixed: Schedule) -> Iterator[str]:
    """What is wrong with these entries, a sentence each."""
    for step in fixed.derivations:
        if step not in pipeline.derivations:
            yield (
                f"The schedule given derives {step.name}, which pipeline {pipeline.name} has not; "
                "make a space of what derived(pipeline, schedule) gives."
            )
    stages = {function.name: len(function.stages) for function in pipeline.functions}
    names = [entry.name for entry in fixed.funcs]
    for entry in fixed.funcs:
        if entry.name not in stages:
            known = ", ".join(stages)
            yield f"Pipeline {pipeline.name} has no Func {entry.name!r}; it has {known}."
        elif names.count(entry.name) > 1:
            yield f"{entry.name} is scheduled twice; give one schedule of it."
        elif len(entry.stages) != stages[entry.name]:
            yield (
                f"{entry.name} has {amount(stages[entry.name], 'stage')}, but {len(entry.stages)} "
                "domain "
                "orders are given; give one for each."
            )
        elif entry_parameters(entry):
            yield (
                f"The factors {', '.join(entry_parameters(entry))} of {entry.name} are no numbers; "
                "leave the Func open, or give numbers."
            )


def inexact_in_fixed(pipeline: Pipeline, fixed: Schedule, device: Device) -> Iterator[str]:
    """What makes every schedule with these entries inexact, a sentence each: directives of the
    entries, or derivations that the pipeline has already.
    """
    given = {entry.name: entry for entry in fixed.funcs}
    plain = Schedule.default(pipeline)
    schedule = plain.with_funcs(given.get(entry.name, entry) for entry in plain.funcs)
    for one in roundings(Records(pipeline, schedule, device)):
        yield (
            f"{one} All schedules of this space are exact: leave the directive out, or give "
            "Options(..., exact=False)."
        )
