"""Rules about which entries a schedule has for its pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.rule import Check, Quantity, match_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derivation, derived
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule


@match_rule(
    "schedule.unknown-func",
    "A schedule with an entry for a Func that the pipeline lacks is illegal, because the entry "
    "schedules nothing.",
    "A schedule is a choice for every Func of one pipeline [RK13 3.2].",
)
def unknown_func(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each entry of an unknown Func."""
    pipeline, schedule = subject
    known = [f.name for f in derived(pipeline, schedule).functions]
    # The rules about derivations report Funcs that could not be derived.
    refused = {refusal.step.name for refusal in derivation(pipeline, schedule).refusals}
    for entry in schedule.funcs:
        if entry.name not in known and entry.name not in refused:
            yield refuse(
                entry.name,
                "The schedule has an entry for {func}, but pipeline {pipeline} has no such Func.",
                "Its Funcs are {legal}.",
                pipeline=name,
                legal=", ".join(known),
            )


@match_rule(
    "schedule.missing-func",
    "A schedule without an entry for a Func of the pipeline, or with two, is illegal, because "
    "that Func then has no schedule or two.",
    "A schedule is a choice for every Func of one pipeline [RK13 3.2].",
    entries=Quantity("entries of the Func in the schedule", "entries"),
)
def missing_func(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each Func with no entry, or several."""
    pipeline, schedule = subject
    names = [entry.name for entry in schedule.funcs]
    for function in derived(pipeline, schedule).functions:
        entries = names.count(function.name)
        if entries != 1:
            yield refuse(
                function.name,
                "The schedule has {entries} entries for Func {func} of pipeline {pipeline}; "
                "it needs one.",
                "Start from the default schedule of this pipeline, which has them all.",
                entries=entries,
                pipeline=name,
            )


@match_rule(
    "schedule.stages",
    "An entry whose number of domain orders differs from the number of stages of its Func is "
    "illegal, because each stage needs loops of its own.",
    "Each definition of a Func has a domain order of its own [RK13 3.2].",
    given=Quantity("domain orders in the entry", "domain orders"),
    expected=Quantity("stages of the Func", "stages"),
    updates=Quantity("update stages of the Func", "stages"),
)
def stages(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each entry with the wrong number of domain orders."""
    pipeline, schedule = subject
    counts = {f.name: len(f.stages) for f in derived(pipeline, schedule).functions}
    for entry in schedule.funcs:
        expected = counts.get(entry.name, len(entry.stages))
        if len(entry.stages) != expected:
            yield refuse(
                entry.name,
                "The schedule of {func} has {given} domain orders, but {func} has {expected} "
                "stages: the pure definition and {updates} updates.",
                "Give each stage its own.",
                given=len(entry.stages),
                expected=expected,
                updates=expected - 1,
            )


@match_rule(
    "schedule.open-parameter",
    "A schedule with a name as a factor is illegal to run, because it stands for a whole family "
    "of schedules.",
    "This library: `legal_mask` judges a whole family, `verify` one schedule.",
)
def open_parameter(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each parameter without a value."""
    schedule = subject[1]
    for parameter in parameters(schedule):
        owner = next(f.name for f in schedule.funcs if parameter in parameters(Schedule((f,))))
        yield refuse(
            owner,
            "A factor in the schedule of {func} is the parameter {parameter}, which has no value.",
            "Write a number, declare it (const int {parameter} = 8;), or ask about the whole "
            "family with legal_mask.",
            loop=parameter,
            parameter=parameter,
        )


RULES = (unknown_func, missing_func, stages, open_parameter)
