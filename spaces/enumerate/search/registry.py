"""The search strategies by name: those of the library and those of its users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from spaces.cost.model import CostModel
from spaces.enumerate.search import neighbours, papers
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.improving import Improving
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.neighbours.bandit import Bandit
from spaces.enumerate.search.neighbours.genetic.strategy import Genetic
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.quick_search import QuickSearch
from spaces.enumerate.search.rewrites.draw import draw_rewrite
from spaces.enumerate.search.stagewise.freezing import Freezing
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.articles import shown_kind
from spaces.model.discovery import find_in_files
from spaces.model.registry import Registry
from spaces.model.suggestions import suggestion

Strategy: TypeAlias = Callable[[ScheduleSpace, CostModel, Limits], Iterator[Event]]
"""A search: it yields events, and :class:`~spaces.enumerate.search.events.Done` as the last one."""

_COMPOSED: Mapping[str, Strategy] = {
    "annealing": Annealing(opening=QuickSearch(), rewrites=draw_rewrite),
    "bandit": Bandit(rewrites=draw_rewrite),
    "freezing": Freezing(second=QuickSearch(walk=Stagewise(width=1), wider=None)),
    "frozen-sampling": Freezing(
        first=HierarchicalSampling(width=1, passes=1), second=HierarchicalSampling(), opened=1.0
    ),
    "genetic": Genetic(rewrites=draw_rewrite),
    "improving": Improving(),
    "stagewise": QuickSearch(),
}
"""Strategies that are made of several."""


def _find_strategies() -> Iterator[tuple[str, Strategy]]:
    """The ``STRATEGIES`` of each file of the folders of strategies."""
    for folder in (neighbours, papers):
        for of_file in find_in_files(folder, "STRATEGIES"):
            yield from of_file.items()


OWN: Mapping[str, Strategy] = MappingProxyType({**_COMPOSED, **dict(_find_strategies())})
"""The strategies of the library. Their schedules are legal, so nothing judges them again."""

_strategies = Registry[Strategy](
    "spaces.strategies",
    "Search strategy",
    dict(OWN),
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


def find_strategy(name: str) -> Strategy:
    """The strategy of a name.

    Raises:
        UnknownStrategyError: no strategy has this name.
        PluginError: it cannot be imported.
    """
    if name not in _strategies:
        raise UnknownStrategyError(
            f"No search strategy is called {name!r}{suggestion(name, strategy_names())}; there are "
            f"{', '.join(strategy_names())}."
        )
    return _strategies[name]
