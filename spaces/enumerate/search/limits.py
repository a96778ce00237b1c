"""When a search ends, and how many schedules it hands over."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from attrs import Attribute, field, frozen

from spaces.model.expressions.numbers import seconds_given, shown_number


def _seconds(value: Any) -> float | None:
    return None if value is None else seconds_given("Limits.seconds", value)


@frozen(kw_only=True)
class Limits:
    """When a search ends, and how many schedules it returns.

    Attributes:
        top: the number of schedules to find. A search may return fewer: in a small space it may
            find fewer that are legal and ``apart``. It also brings what it found into normal form,
            and drops a schedule that is then equal to another one, or cheaper than the first.
        apart: the least number of decisions, split factors aside, in which any two of them differ;
            with 1, no two have the same structure.
        seconds: the search ends after this time with the best so far; None for no limit. With a
            limit, the result depends on the machine; without a limit, a seed always gives the same
            stream.
        structures: the search ends after this many structures with a cost, with the best so far;
            None for no limit. Unlike a time limit it gives the same result on every machine.
        seed: the seed of all random choices of a strategy.

    Raises:
        ValueError: ``top``, ``apart`` or ``structures`` is not a positive integer, ``seconds`` is
            not a time, or ``seed`` is not an integer from 0.
    """

    top: int = field(default=1)
    apart: int = field(default=1)
    seconds: float | None = field(default=None, converter=_seconds)
    structures: int | None = field(default=None)
    seed: int = field(default=0)

    @structures.validator
    @top.validator
    @apart.validator
    def _is_count(self, attribute: Attribute[int], count: object) -> None:
        if count is None and attribute.name == "structures":
            return
        if not _is_whole(count) or count < 1:
            raise ValueError(
                f"Limits.{attribute.name} is {shown_number(count)}; it must be an integer of at "
                "least 1."
            )

    @seed.validator
    def _is_seed(self, _: Any, seed: object) -> None:
        if not _is_whole(seed) or seed < 0:
            raise ValueError(
                f"Limits.seed is {shown_number(seed)}; it is a whole number, at least 0."
            )


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
