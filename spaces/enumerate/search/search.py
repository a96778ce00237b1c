"""Search strategies by name: those of the library and those of the user."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from time import monotonic
from types import MappingProxyType

from attrs import evolve

from spaces.cost.model import CostFunction, CostModel
from spaces.cost.registry import cost_model, default_model
from spaces.enumerate.search.board import Limits, Strategy
from spaces.enumerate.search.events import Done, Event, Found
from spaces.enumerate.search.handover import with_tidy_results
from spaces.enumerate.search.improving import Improving
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.neighbours.bandit import Bandit
from spaces.enumerate.search.neighbours.genetic.strategy import Genetic
from spaces.enumerate.search.neighbours.latin_hypercube import LatinHypercube
from spaces.enumerate.search.neighbours.optuna_search import OptunaSearch
from spaces.enumerate.search.neighbours.random_draws import RandomDraws
from spaces.enumerate.search.papers.beam import Beam
from spaces.enumerate.search.papers.best_first import BestFirst
from spaces.enumerate.search.papers.exhaustive import exhaustive
from spaces.enumerate.search.papers.grouping import Grouping
from spaces.enumerate.search.papers.reuse_analysis.strategy import ReuseAnalysis
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.quick_search import QuickSearch
from spaces.enumerate.search.rare_garbage import with_rare_garbage
from spaces.enumerate.search.rewrites.registry import rewrite_schedule
from spaces.enumerate.search.stagewise.freezing import Freezing
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.articles import shown_kind
from spaces.model.registry import PluginError, Registry
from spaces.model.schedules.schedule import Schedule
from spaces.model.suggestions import suggestion

log = logging.getLogger("spaces.search")

_OWN: Mapping[str, Strategy] = MappingProxyType(
    {
        "annealing": Annealing(opening=QuickSearch(), rewrites=rewrite_schedule),
        "bandit": Bandit(),
        "beam": Beam(),
        "best-first": BestFirst(),
        "exhaustive": exhaustive,
        "reuse-analysis": ReuseAnalysis(),
        "freezing": Freezing(second=QuickSearch(walk=Stagewise(width=1))),
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
        "stagewise": QuickSearch(),
    }
)
"""The strategies of the library. Their schedules are legal, so nothing judges them again."""

_strategies = Registry[Strategy](
    "spaces.strategies",
    "Search strategy",
    dict(_OWN),
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
    given = _checked(name, strategy(space, model, limits))
    if all(strategy is not own for own in _OWN.values()):
        given = _judged(name, space, given)
    events = with_rare_garbage(given)
    return _timed(with_tidy_results(space, model, limits, events))


def _name_of(strategy: Strategy) -> str:
    """The name of a function, or of the class of an object that is called like one."""
    return getattr(strategy, "__name__", type(strategy).__name__)


def _checked(name: str, events: object) -> Iterator[Event]:
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
    return _each(name, events)


def _each(name: str, events: Iterable[object]) -> Iterator[Event]:
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


def _judged(name: str, space: ScheduleSpace, events: Iterator[Event]) -> Iterator[Event]:
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
