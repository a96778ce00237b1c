"""Decisions and their options.

An option *claims* parts of the canonical form of every schedule that takes it. So whether a given
schedule took an option can be read from its form, whatever its loops are called.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from types import EllipsisType
from typing import TYPE_CHECKING, TypeAlias

from attrs import field, frozen

from spaces.model.nest.canonical import CanonicalForm

if TYPE_CHECKING:
    from spaces.enumerate.space.process.state import ProcessState

Claims: TypeAlias = Mapping[str, str | int | EllipsisType | None]
"""Parts of canonical forms: what each part is; None if it is absent, ``...`` if it is there with a
number that a later decision gives.
"""


USUAL = 16
"""The weight of most options in random draws; what experts seldom write has 1."""

PLAINNESS = 6
"""How seldom a decision adds something to the schedule: once in this many times."""


@frozen
class DecisionOption:
    """One option of a decision.

    Attributes:
        label: what the option does, as a directive if it adds one. Labels of a decision differ.
        claims: the parts of canonical forms that it decides.
        state: the state after it is taken, but for its ``change``.
        weight: how likely random draws take it, relative to the other options.
        change: makes the state after it of ``state``, once it is taken: most options never are.
    """

    label: str
    claims: Claims = field(eq=False, repr=False)
    state: ProcessState = field(eq=False, repr=False)
    weight: int = field(eq=False, repr=False, default=USUAL)
    change: Callable[[ProcessState], ProcessState] | None = field(
        eq=False, repr=False, default=None
    )

    @cached_property
    def after(self) -> ProcessState:
        """The state after it is taken."""
        return self.state if self.change is None else self.change(self.state)

    @property
    def is_plain(self) -> bool:
        """Whether it adds nothing to the schedule."""
        return all(claimed is None for claimed in self.claims.values())

    def fits(self, form: FormParts) -> bool:
        """Whether a schedule of this form took the option."""
        return not self.misfits(form)

    def misfits(self, form: FormParts) -> int:
        """How many of the claims do not hold for a schedule of this form."""
        return sum(
            (name not in form) if claimed is ... else form.get(name) != claimed
            for name, claimed in self.claims.items()
        )

    def distance(self, form: FormParts) -> tuple[int, float]:
        """How far a schedule of this form is from the option: the number of claims that do not
        hold, and how far each is from what the schedule has in its place. The distance of two
        numbers is how often one must be doubled or halved to give the other. A loop is nearer to a
        loop over the same dimension than to other loops.
        """
        far = 0.0
        for name, claimed in self.claims.items():
            own = form.get(name)
            if isinstance(claimed, int) and isinstance(own, int) and min(claimed, own) > 0:
                far += abs(math.log2(claimed / own))
            elif isinstance(claimed, str) and isinstance(own, str):
                far += claimed.partition(".")[0] != own.partition(".")[0]
        return self.misfits(form), far


def find_option_taken(options: Iterable[DecisionOption], form: FormParts) -> DecisionOption | None:
    """The option that a schedule of this form took; None if it took none of these. One that claims
    nothing fits every schedule, so it counts only if no other fits.
    """
    anyway = None
    for option in options:
        if option.fits(form):
            if option.claims:
                return option
            anyway = anyway or option
    return anyway


def random_option(
    options: Sequence[DecisionOption], chosen: random.Random
) -> tuple[DecisionOption, Fraction]:
    """A random option, and one over its chance. If an option adds nothing to the schedule, the
    others come only once in ``PLAINNESS`` times.
    """
    plain = next((option for option in options if option.is_plain), None)
    if plain is None:
        return _weighted_option(options, chosen)
    if chosen.randrange(PLAINNESS):
        return plain, Fraction(PLAINNESS, PLAINNESS - 1)
    others = [option for option in options if option is not plain]
    option, times = _weighted_option(others, chosen)
    return option, PLAINNESS * times


def _weighted_option(
    options: Sequence[DecisionOption], chosen: random.Random
) -> tuple[DecisionOption, Fraction]:
    """A random option by the weights of all, and one over its chance."""
    weights = [option.weight for option in options]
    if len(set(weights)) == 1:
        return chosen.choice(options), Fraction(len(options))
    (option,) = chosen.choices(options, weights)
    return option, Fraction(sum(weights), option.weight)


@frozen
class DecisionPoint:
    """One decision of a process.

    Attributes:
        name: unique in its process.
        func: the Func that it is about; empty if it is about the whole pipeline.
        options: at least two.
    """

    name: str
    func: str
    options: tuple[DecisionOption, ...]


FormParts: TypeAlias = Mapping[str, str | int]
"""All parts of a canonical form by name, such as ``f loop 0`` and ``derive f.in()``."""


def parts_of(form: CanonicalForm) -> FormParts:
    """All parts of a form by name."""
    parts = dict(form.parts)
    for stage, loops in form.loops.items():
        parts |= {f"{stage} loop {number}": loop for number, loop in enumerate(loops)}
    parts |= {f"derive {text}": 1 for text in form.derivations}
    parts |= {f"{func} reads": " ".join(names) for func, names in form.reads.items()}
    return parts
