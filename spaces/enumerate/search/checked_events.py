"""Checks what a strategy yields: events, and at the end one with legal schedules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaces.enumerate.search.events import Done, Event, Found
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.articles import shown_kind
from spaces.model.registry import PluginError
from spaces.model.schedules.schedule import Schedule


def check_events(name: str, events: object) -> Iterator[Event]:
    """The events of a strategy.

    Raises:
        PluginError: the strategy yields something else, or its last event is not Done with
            schedules.
    """
    if not isinstance(events, Iterable):
        raise PluginError(
            f"Search strategy {name} returns {shown_kind(events)}; it must yield events, the last "
            "one Done."
        )
    return _check_each(name, events)


def _check_each(name: str, events: Iterable[object]) -> Iterator[Event]:
    last: object = None
    for last in events:
        if not isinstance(last, Event):
            raise PluginError(
                f"Search strategy {name} yields {shown_kind(last)}; it must yield events, the last "
                "one Done."
            )
        if isinstance(last, Done):
            _check_results(name, last.best)
        yield last
    if not isinstance(last, Done):
        raise PluginError(
            f"Search strategy {name} ends without Done; Done must be its last event, with the "
            "schedules that it found."
        )


def _check_results(name: str, results: object) -> None:
    if not isinstance(results, tuple) or not results:
        raise PluginError(
            f"Search strategy {name} ends without a schedule; Done takes a tuple of at least one "
            "Found. If no schedule is legal, raise EmptySpaceError."
        )
    for one in results:
        if not (isinstance(one, Found) and isinstance(one.schedule, Schedule)):
            raise PluginError(
                f"Search strategy {name} ends with {shown_kind(one)}; Done takes Founds, each "
                "with a cost and a Schedule."
            )


def judge_results(name: str, space: ScheduleSpace, events: Iterator[Event]) -> Iterator[Event]:
    """The events of a strategy whose schedules are legal.

    Raises:
        PluginError: a schedule that it hands over is not.
    """
    for event in events:
        for one in event.best if isinstance(event, Done) else ():
            verdict = space.verdict(one.schedule)
            if not verdict:
                raise PluginError(
                    f"Search strategy {name} ends with an illegal schedule of "
                    f"{space.pipeline.name}: {verdict.violations[0].message}"
                )
        yield event
