"""Search strategies by name: those of the library and those of the user."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from time import monotonic

from attrs import evolve

from spaces.cost.model import CostFunction, CostModel
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.annealing import Annealing
from spaces.enumerate.bandit import Bandit
from spaces.enumerate.beam import Beam
from spaces.enumerate.best_first import BestFirst
from spaces.enumerate.board import Limits, Strategy
from spaces.enumerate.events import Done, Event
from spaces.enumerate.exhaustive import exhaustive
from spaces.enumerate.freezing import Freezing
from spaces.enumerate.genetic.strategy import Genetic
from spaces.enumerate.grouping import Grouping
from spaces.enumerate.handover import with_tidy_results
from spaces.enumerate.improving import Improving
from spaces.enumerate.latin_hypercube import LatinHypercube
from spaces.enumerate.optuna_search import OptunaSearch
from spaces.enumerate.random_draws import RandomDraws
from spaces.enumerate.rare_garbage import with_rare_garbage
from spaces.enumerate.reuse_analysis.strategy import ReuseAnalysis
from spaces.enumerate.sampling import HierarchicalSampling
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.stagewise import Stagewise
from spaces.model.articles import shown_kind
from spaces.model.registry import PluginError, Registry
from spaces.model.suggestions import suggestion

log = logging.getLogger("spaces.search")

_strategies = Registry[Strategy](
    "spaces.strategies",
    "Search strategy",
    {
        "annealing": Annealing(opening=Stagewise()),
        "bandit": Bandit(),
        "beam": Beam(),
        "best-first": BestFirst(),
        "exhaustive": exhaustive,
        "reuse-analysis": ReuseAnalysis(),
        "freezing": Freezing(),
        "frozen-sampling": Freezing(
            first=HierarchicalSampling(width=1, passes=1), second=HierarchicalSampling(), opened=1.0
        ),
        "grouping": Grouping(),
        "sampling": HierarchicalSampling(),
        "genetic": Genetic(),
        "improving": Improving(),
        "latin-hypercube": LatinHypercube(),
        "optuna": OptunaSearch(),
        "random": RandomDraws(),
        "stagewise": Stagewise(),
    },
    "a function of a space, a cost model and limits",
)

DEFAULT = "improving"
"""The strategy of those who name none."""


class UnknownStrategyError(ValueError):
    """No strategy has this name."""


def register_strategy(name: str, strategy: Strategy) -> None:
    """Registers a strategy under a name; a later registration replaces an earlier one.

    Raises:
        TypeError: ``strategy`` is not a function.
    """
    if not callable(strategy):
        raise TypeError(
            "register_strategy takes a function of a space, a cost model and limits, not "
            f"{shown_kind(strategy)}."
        )
    _strategies[name] = strategy


def strategy_names() -> tuple[str, ...]:
    """The names that :func:`search` knows."""
    return tuple(sorted(_strategies))


def default_strategy() -> str:
    """The name of the strategy of searches that name none: :class:`Improving`."""
    return DEFAULT


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
        TypeError: ``space`` is not a ScheduleSpace, or ``limits`` is not a Limits.
        EmptySpaceError: the search found no legal schedule.
        PluginError: the strategy cannot be imported, or yields no events.
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
    strategy = strategy or DEFAULT
    name = strategy if isinstance(strategy, str) else type(strategy).__name__
    if isinstance(strategy, str):
        if strategy not in _strategies:
            raise UnknownStrategyError(
                f"No search strategy is called {strategy!r}"
                f"{suggestion(strategy, strategy_names())}; there are "
                f"{', '.join(strategy_names())}."
            )
        strategy = _strategies[strategy]
    log.debug("searching %s on %s by %s", space.pipeline.name, space.device.name, strategy)
    model = cost_model(default_model(space.device) if model is None else model, space.device)
    limits = limits or Limits()
    events = with_rare_garbage(_checked(name, strategy(space, model, limits)))
    return _timed(with_tidy_results(space, model, limits, events))


def _checked(name: str, events: object) -> Iterator[Event]:
    """The events of a strategy.

    Raises:
        PluginError: the strategy yields something else.
    """
    if not isinstance(events, Iterable):
        raise PluginError(
            f"Search strategy {name} returns {shown_kind(events)}; it must yield events, the last "
            "one Done."
        )
    return map(partial(_event, name), events)


def _event(name: str, event: object) -> Event:
    if not isinstance(event, Event):
        raise PluginError(
            f"Search strategy {name} yields {shown_kind(event)}; it must yield events, the last "
            "one Done."
        )
    return event


def _timed(events: Iterator[Event]) -> Iterator[Event]:
    """The same events; the last one says how long they took."""
    began = monotonic()
    for event in events:
        if isinstance(event, Done):
            event = evolve(event, seconds=monotonic() - began)
        yield event


def best(events: Iterator[Event]) -> Done:
    """The last event of a search; skips all others."""
    last: Event | None = None
    for event in events:
        last = event
    if not isinstance(last, Done):
        raise ValueError("a strategy ends with Done")
    return last
