"""Search: a strategy walks a space, and yields events."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from time import monotonic

from attrs import evolve

from spaces.cost.model import CostFunction, CostModel
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.search.checked_events import check_events, judge_results
from spaces.enumerate.search.events import Done, Event, Improved, Scored
from spaces.enumerate.search.handover import with_tidy_results
from spaces.enumerate.search.improvements import Improvement
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.rare_garbage import with_rare_garbage
from spaces.enumerate.search.registry import DEFAULT, OWN, Strategy, find_strategy
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.articles import shown_kind

log = logging.getLogger("spaces.search")


def search(
    space: ScheduleSpace,
    model: str | CostModel | CostFunction | None = None,
    strategy: str | Strategy | None = None,
    limits: Limits | None = None,
) -> Iterator[Event]:
    """Searches a space for its cheapest schedules, and yields events.

    The default strategy makes a quick search, about a second for ten Funcs. If ``limits`` give it
    seconds, it improves the result until that time is over or until changes bring no more
    (:class:`Improving`).

    Args:
        space: the space to search.
        model: a cost model, its name, or a function of a batch; by default :func:`default_model`.
        strategy: a strategy or its name (:func:`strategy_names`); by default
            :func:`default_strategy`.
        limits: how many schedules to find, and the time limit.

    Raises:
        UnknownStrategyError: no strategy has this name.
        ValueError: the cost model is unknown, or is not for the device of the space.
        BatchError: the cost model does not give a number for each choice.
        TypeError: ``space`` is not a ScheduleSpace, ``limits`` is not a Limits, or ``strategy`` is
            no function.
        EmptySpaceError: the search found no legal schedule.
        PluginError: the strategy cannot be imported, or does not end with legal schedules.
    """
    if not isinstance(space, ScheduleSpace):
        raise TypeError(
            f"search takes a ScheduleSpace, not {shown_kind(space)}; "
            "ScheduleSpace(pipeline, device) makes one."
        )
    if not isinstance(limits, Limits | None):
        raise TypeError(
            f"search takes Limits, not {shown_kind(limits)}, as in Limits(top=3, seconds=10)."
        )
    strategy = DEFAULT if strategy is None else strategy
    if not (isinstance(strategy, str) or callable(strategy)):
        raise TypeError(
            "search takes a strategy or its name, not "
            f"{shown_kind(strategy)}; a strategy is a function of a space, a cost model and limits."
        )
    name = strategy if isinstance(strategy, str) else _name_of(strategy)
    strategy = find_strategy(strategy) if isinstance(strategy, str) else strategy
    log.debug("searching %s on %s by %s", space.pipeline.name, space.device.name, strategy)
    model = cost_model(default_model(space.device) if model is None else model, space.device)
    limits = limits or Limits()
    given = check_events(name, strategy(space, model, limits))
    if all(strategy is not own for own in OWN.values()):
        given = judge_results(name, space, given)
    events = with_rare_garbage(given)
    return _with_record(with_tidy_results(space, model, limits, events))


def _name_of(strategy: Strategy) -> str:
    """The name of a function, or of the class of an object that is called like one."""
    return getattr(strategy, "__name__", type(strategy).__name__)


def _with_record(events: Iterator[Event]) -> Iterator[Event]:
    """The same events; the last one says how long they took, and how the search came to its best
    schedule.
    """
    began, least = monotonic(), math.inf
    scored = Scored(0, 0)
    improvements: list[Improvement] = []
    for event in events:
        match event:
            case Scored():
                scored = event
            case Improved(best) if best.cost < least:
                least = best.cost
                seconds, structures = monotonic() - began, scored.structures
                improvements.append(Improvement(seconds, structures, least, best.schedule))
            case Done():
                event = evolve(
                    event,
                    seconds=monotonic() - began,
                    considered=max(scored.considered, event.structures),
                    legal=scored.legal,
                    pruned=scored.pruned,
                    improvements=tuple(improvements),
                )
        yield event


def best(events: Iterator[Event]) -> Done:
    """The last event of a search; skips all others."""
    last: Event | None = None
    for event in events:
        last = event
    if not isinstance(last, Done):
        raise ValueError("a strategy ends with Done")
    return last
