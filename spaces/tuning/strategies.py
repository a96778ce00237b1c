"""Tuning strategies by name: those of the library and those of the user."""

from __future__ import annotations

from spaces.model.registry import Registry
from spaces.model.suggestions import suggestion
from spaces.tuning.evolving import Evolving
from spaces.tuning.iterated import Iterated
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.top_ranked import TopRanked

DEFAULT = "evolving"
"""The strategy of those who name none."""

_strategies = Registry[TuningStrategy](
    "spaces.tuning_strategies",
    "Tuning strategy",
    {"evolving": Evolving(), "iterated": Iterated(), "top": TopRanked(), "random": RandomTrials()},
    "an object with a method generation(space, model, trials, seed)",
    lambda thing: isinstance(thing, TuningStrategy),
)


class UnknownTuningStrategyError(ValueError):
    """No tuning strategy has this name."""


def register_tuning_strategy(name: str, strategy: TuningStrategy) -> None:
    """Registers a tuning strategy under a name; a later registration replaces an earlier one."""
    _strategies[name] = strategy


def tuning_strategy_names() -> tuple[str, ...]:
    """The names that :func:`tune` knows."""
    return tuple(sorted(_strategies))


def tuning_strategy(given: str | TuningStrategy | None) -> TuningStrategy:
    """A strategy, or the one of a name; :class:`Evolving` for None.

    Raises:
        UnknownTuningStrategyError: no strategy has this name.
        PluginError: the package that has it cannot be imported.
    """
    if given is None:
        given = DEFAULT
    if not isinstance(given, str):
        return given
    if given not in _strategies:
        raise UnknownTuningStrategyError(
            f"No tuning strategy is called {given!r}{suggestion(given, tuning_strategy_names())}; "
            f"there are {', '.join(tuning_strategy_names())}."
        )
    return _strategies[given]
