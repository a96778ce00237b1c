"""How many examples property tests draw: all, or the share that ``make test`` has time for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from hypothesis import settings

Case = TypeVar("Case")

THOROUGH = "thorough"
"""The profile that draws all examples: ``pytest --hypothesis-profile thorough``."""

_ALL, _SHARE = 40, 8
"""Examples of a test that names no number, in the thorough profile and in that of ``make test``."""


def register_profiles() -> None:
    """Makes both profiles known, and takes that of ``make test``.

    Derandomized: a run in CI and a run at the desk draw the same examples. No deadline: the first
    call of a test may compile code.
    """
    for name, examples in (("spaces", _SHARE), (THOROUGH, _ALL)):
        settings.register_profile(name, deadline=None, derandomize=True, max_examples=examples)
    settings.load_profile("spaces")


def is_thorough() -> bool:
    """Whether this run has the time for all examples, and for tests that are marked so."""
    return settings.default.max_examples == _ALL


def examples(number: int, fewest: int = 10) -> int:
    """How many of ``number`` examples the profile of this run draws: at least ``fewest``, if there
    are so many.
    """
    return max(number * settings.default.max_examples // _ALL, min(number, fewest))


def every(number: int) -> int:
    """A check of every ``number``-th case in the thorough profile is one of every so many here."""
    return number * _ALL // settings.default.max_examples


def some(cases: Iterable[Case]) -> list[Case]:
    """The cases of a list that this run tests: all in the thorough profile, else one of five. For
    cases that test one thing again and again, at some expense.
    """
    share = settings.default.max_examples
    return [case for number, case in enumerate(cases) if number * share % _ALL < share]
