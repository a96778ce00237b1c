"""Rewrites that derive further Funcs: clones, wrappers, factored reductions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import frozen

from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenFuncs
from spaces.model.schedules.derivations import Derivation


@frozen
class Derive:
    """Adds derivations of one directive.

    Attributes:
        directive: the directive.
        steps: the derivations.
    """

    keeps_structure: ClassVar[bool] = False

    directive: str
    steps: tuple[Derivation, ...]

    def open(self, found: FoundSchedule) -> Iterator[OpenFuncs]:
        """The schedule with the derivations."""
        yield OpenFuncs(self.directive, self.steps)
