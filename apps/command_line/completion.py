"""What a shell offers after the first letters of an argument.

Each function imports what it needs when the shell asks, so that commands start no later.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module


def names(module: str, *sources: str) -> Callable[[str], list[str]]:
    """Completes the names in some sources of a module: mappings, or functions of nothing."""

    def complete(incomplete: str) -> list[str]:
        known: list[str] = []
        for source in sources:
            found = getattr(import_module(module), source)
            known += found() if callable(found) else found
        return [name for name in known if name.startswith(incomplete)]

    return complete


app_names = names("spaces.apps.catalog", "APPS", "GALLERY")
device_names = names("spaces.constraints.devices.device", "known_names")
strategy_names = names("spaces.enumerate.search.registry", "strategy_names")
tuning_strategy_names = names("spaces.tuning.strategies", "tuning_strategy_names")
model_names = names("spaces.cost.registry", "cost_model_names")
