"""What operations cost on a CPU."""

from __future__ import annotations

import tomllib
from pathlib import Path

import attrs

from spaces.cost.cpu.catalogue import PRICES
from spaces.model.suggestions import suggestion

FILE = Path(__file__).with_name("prices.toml")
"""The fitted prices. A price that is not there has the cycles of its term."""

_NAMES = [one.name for one in PRICES]
_FITTED = tomllib.loads(FILE.read_text("utf-8"))


@attrs.frozen(
    these={
        one.name: attrs.field(default=float(_FITTED.get(one.name, one.cycles)), type=float)
        for one in PRICES
    },
    init=False,
)
class Prices:
    """The cycles of one core for each operation, without other delays. Each term of the cost brings
    its prices; ``docs/cost_terms.md`` lists them with their defaults.

    Only the proportions of prices matter. A price of 0 switches its term off.
    """

    def __init__(self, **cycles: float) -> None:
        """Some prices; all others have their defaults.

        Raises:
            TypeError: no price has such a name.
        """
        for name in cycles:
            if name not in _NAMES:
                raise TypeError(f"No price is called {name!r}{suggestion(name, _NAMES)}.")
        self.__attrs_init__(**cycles)
