"""Choices at random, drawn towards what a case is to contain."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import frozen

_AIMED = 0.8
"""How often a choice that has an aimed option takes it."""


@frozen
class Dice:
    """A generator of random numbers and the constructs that it is to draw, as ``group: name``."""

    rng: random.Random
    aims: frozenset[str] = frozenset()

    def pick(self, group: str, options: Sequence[str]) -> str:
        """One of the names of a group."""
        wanted = [o for o in options if f"{group}: {o}" in self.aims]
        return self.rng.choice(wanted if wanted and self.rng.random() < _AIMED else options)

    def several(self, group: str, options: Sequence[str]) -> list[str]:
        """Names of a group: mostly all that are aimed at, of which a case has two or more at once
        if it can, else one.
        """
        wanted = [o for o in dict.fromkeys(options) if f"{group}: {o}" in self.aims]
        self.rng.shuffle(wanted)
        return wanted if wanted and self.rng.random() < _AIMED else [self.rng.choice(options)]

    def takes(self, construct: str, share: float) -> bool:
        """Whether to draw something that is drawn in a share of cases where nobody aims at it."""
        return self.rng.random() < (_AIMED if construct in self.aims else share)

    def aimed(self, group: str) -> list[str]:
        """The names of a group that are aimed at."""
        prefix = f"{group}: "
        return sorted(aim.removeprefix(prefix) for aim in self.aims if aim.startswith(prefix))
