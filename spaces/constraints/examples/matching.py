"""Schedules that do not match the pipeline, and neighbors that do."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.examples.example import CPU, Example, ExampleSubject, cpu, on_cpu
from spaces.constraints.examples.starts import D
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def _entries(python: str, *entries: FuncSchedule) -> ExampleSubject:
    """A schedule of these entries, which ``python`` writes; no directives can."""
    return ExampleSubject(D.pipeline, Schedule(entries), CPU, python=python)


_BX, _BY = D.schedule.funcs
_DEFAULT = "Schedule.default(blur())"

EXAMPLES = (
    Example(
        "schedule.unknown-func",
        _entries(
            f'Schedule((*{_DEFAULT}.funcs, evolve({_DEFAULT}.of("bx"), name="bz")))',
            *(_BX, _BY, evolve(_BX, name="bz")),
        ),
        cpu(D),
    ),
    Example("schedule.missing-func", _entries(f"Schedule({_DEFAULT}.funcs[:1])", _BX), cpu(D)),
    Example(
        "schedule.stages",
        _entries(
            f'Schedule(({_DEFAULT}.of("bx"), evolve({_DEFAULT}.of("by"), stages=())))',
            *(_BX, evolve(_BY, stages=())),
        ),
        cpu(D),
    ),
    on_cpu("schedule.open-parameter", D.split("y", "y", "yi", "ty"), D.split("y", "y", "yi", 4)),
)
