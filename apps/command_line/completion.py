"""What a shell offers after the first letters of an argument.

Each function imports what it needs when the shell asks, so that commands start no later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module


def names(module: str, source: str) -> Callable[[str], list[str]]:
    """Completes the names in ``source`` of a module: a mapping, or a function of nothing."""

    def complete(incomplete: str) -> list[str]:
        found = getattr(import_module(module), source)
        known: Iterable[str] = found() if callable(found) else found
        return [name for name in known if name.startswith(incomplete)]

    return complete


app_names = names("spaces.apps.catalog", "APPS")
device_names = names("spaces.constraints.devices.device", "known_names")
strategy_names = names("spaces.enumerate.search.registry", "strategy_names")
tuning_strategy_names = names("spaces.tuning.strategies", "tuning_strategy_names")
model_names = names("spaces.cost.registry", "cost_model_names")
