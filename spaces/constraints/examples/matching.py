"""Schedules that do not match the pipeline, and neighbors that do."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.examples.example import CPU, Example, ExampleSubject, cpu, on_cpu
from spaces.constraints.examples.starts import D
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def _entries(base: Schedule, *entries: FuncSchedule) -> ExampleSubject:
    return ExampleSubject(D.pipeline, Schedule((*base.funcs, *entries)), CPU)


EXAMPLES = (
    Example(
        "schedule.unknown-func",
        _entries(D.schedule, evolve(D.schedule.of("bx"), name="bz")),
        cpu(D),
    ),
    Example("schedule.missing-func", _entries(Schedule(D.schedule.funcs[:1])), cpu(D)),
    Example(
        "schedule.stages",
        _entries(Schedule(D.schedule.funcs[:1]), evolve(D.schedule.of("by"), stages=())),
        cpu(D),
    ),
    on_cpu("schedule.open-parameter", D.split("y", "y", "yi", "ty"), D.split("y", "y", "yi", 4)),
)
