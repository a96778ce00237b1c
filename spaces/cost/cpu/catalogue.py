"""All terms of the cost of a schedule on a CPU, and all prices."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from spaces.cost.cpu import terms
from spaces.cost.cpu.term import CostTerm, Price
from spaces.model.discovery import find_in_files
from spaces.model.suggestions import suggestion


class UnknownTermError(ValueError):
    """No term has this name."""


TERMS: tuple[CostTerm[Any], ...] = tuple(
    one for of_file in find_in_files(terms, "TERMS") for one in of_file
)
"""The ``TERMS`` of each file of the folder. Those of one kind are added in this order."""

PRICES: tuple[Price, ...] = tuple(price for one in TERMS for price in one.owns)
"""The prices of all terms."""


def term_names() -> tuple[str, ...]:
    """The names of all terms."""
    return tuple(one.name for one in TERMS)


def check_terms(names: Collection[str]) -> None:
    """Checks that terms have these names.

    Raises:
        UnknownTermError: no term has one of the names.
    """
    known = term_names()
    for name in names:
        if name not in known:
            raise UnknownTermError(
                f"No term is called {name!r}{suggestion(name, known)}; there are "
                f"{', '.join(known)}."
            )
