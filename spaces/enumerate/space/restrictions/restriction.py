"""Restrictions of a space: conditions on named features, and predicates in Python.

A condition is a formula, so ints, arrays and the solver read it like the rules of the library. A
predicate is a Python function, which sees schedules one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
from attrs import frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.rule import RESTRICTION, VIOLATED, Check, SpaceRule
from spaces.enumerate.space.restrictions.text import parse_restriction
from spaces.features.structure_features import StructureFeatures, structure_features
from spaces.features.used_features import UsedFeature, features_in, read_features
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.articles import shown_kind
from spaces.model.expressions.expr import Arithmetic, Expr, constant
from spaces.model.expressions.rewrite import substitute
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import INTEGERS, read
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule

SchedulePredicate: TypeAlias = Callable[[Schedule], bool]
"""Whether a schedule is wanted."""


@frozen
class FeatureCondition:
    """A restriction by a formula.

    Attributes:
        holds: the condition over named features.
    """

    holds: Expr

    def __str__(self) -> str:
        return str(self.holds)

    @property
    def features(self) -> tuple[UsedFeature, ...]:
        """The features that it names."""
        return features_in(self.holds)

    def rule(
        self, pipeline: Pipeline, device: Device, only: frozenset[str] | None = None
    ) -> SpaceRule:
        """The condition as a rule about structures of a pipeline.

        Args:
            pipeline: the pipeline.
            device: the device.
            only: the Funcs that count in features of the whole schedule; None for all.
        """

        def check(structure: Schedule, func: str) -> Iterator[Check]:
            yield self._check(structure_features(pipeline, structure, device, only), func)

        return SpaceRule(
            f"{RESTRICTION}{self}",
            f"A schedule without `{self}` is left out, because the user of the space wants others.",
            "The user.",
            check,
            funcs=self._funcs,
        )

    @property
    def _funcs(self) -> frozenset[str]:
        """The Funcs whose entries, with those of their consumers, decide it; empty if others may
        change it.
        """
        used = self.features
        is_local = all(one.feature.decided_by != "schedule" for one in used)
        return frozenset(one.func for one in used if one.func) if is_local else frozenset()

    def _check(self, about: StructureFeatures, func: str) -> Check:
        """The check of one structure; its formula has only parameters of the structure."""
        sizes = {name: constant(n, Int32) for name, n in about.pipeline.sizes().items()}
        holds = substitute(read_features(self.holds, about), sizes)
        if not holds.names <= set(parameters(about.schedule)):
            holds = VIOLATED  # it depends on a loop, and must hold in all iterations
        return Check(
            next((used.func for used in self.features if used.func), func),
            holds,
            "The space is restricted to schedules with {condition}; here {numbers}.",
            values={
                "condition": str(self),
                "numbers": partial(_numbers, self.features, about, sizes),
            },
        )


def _numbers(
    features: tuple[UsedFeature, ...], about: StructureFeatures, sizes: Mapping[str, Expr]
) -> str:
    """``threads(f) = 48``; a formula where a number is open."""
    read_ = {used: substitute(used.read(about), sizes) for used in features}
    return ", ".join(
        f"{used} = {formula if formula.names else int(read(formula, {}, INTEGERS))}"
        for used, formula in read_.items()
    )


@frozen
class Predicate:
    """A restriction by a Python function that sees whole schedules, in which all factors are
    numbers.
    """

    function: SchedulePredicate

    def __str__(self) -> str:
        return _name_of(self.function)

    def allows(self, schedule: Schedule) -> bool:
        """Whether the schedule is wanted.

        Raises:
            TypeError: the function returns neither True nor False.
        """
        return _answer(self.function, schedule)


@frozen
class PartialPredicate:
    """A restriction by a Python function that sees partial schedules, too: the entries of the Funcs
    decided so far, consumers before producers, where factors without a number are names. It returns
    False only if it does so for every completion.
    """

    function: SchedulePredicate

    def __str__(self) -> str:
        return _name_of(self.function)

    def allows(self, schedule: Schedule) -> bool:
        """Whether a completion of the schedule may be wanted.

        Raises:
            TypeError: the function returns neither True nor False.
        """
        return _answer(self.function, schedule)


Restriction: TypeAlias = FeatureCondition | Predicate | PartialPredicate


def _name_of(function: SchedulePredicate) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _answer(function: SchedulePredicate, schedule: Schedule) -> bool:
    answer: object = function(schedule)
    if not isinstance(answer, bool | np.bool_):
        raise TypeError(
            f"The restriction {_name_of(function)} returns {answer!r}; a predicate returns True or "
            "False."
        )
    return bool(answer)


def as_restrictions(given: object) -> tuple[Restriction, ...]:
    """The restrictions of a list of conditions and functions; one that stands alone is a list of
    one.

    Raises:
        RestrictionSyntaxError: a text is no condition.
        TypeError: it is not a list, or something in it is no restriction.
    """
    if isinstance(given, str | Arithmetic) or callable(given) or isinstance(given, Restriction):
        given = (given,)
    if not isinstance(given, Iterable):
        raise TypeError(
            f"where takes a list of restrictions, not {_shown(given)}; write where=[...]."
        )
    return tuple(_as_restriction(place, one) for place, one in enumerate(given))


def _as_restriction(place: int, given: object) -> Restriction:
    if isinstance(given, FeatureCondition | Predicate | PartialPredicate):
        return given
    if isinstance(given, str):
        return FeatureCondition(parse_restriction(given))
    if isinstance(given, Arithmetic):
        holds = given.as_expr()
        if not holds.type.is_bool:
            raise TypeError(
                f"where[{place}] is the number `{holds}` and no condition; compare it, as in "
                f"`{holds} <= 32`."
            )
        return FeatureCondition(holds)
    if callable(given):
        return Predicate(given)
    raise TypeError(
        f"where[{place}] is {_shown(given)}; a restriction is a condition on features such as "
        '`threads("f") % 32 == 0`, or a function from a schedule to True or False.'
    )


def _shown(given: object) -> str:
    if given is None or isinstance(given, bool | int | float):
        return repr(given)
    return shown_kind(given)
