"""The named features that a formula uses.

A formula names features by its variables, such as ``threads(blur_y)``. :func:`read_features`
replaces them by the formulas of one structure, over its parameters; ints, arrays and the solver
read these like the formulas of rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import frozen

from spaces.features.named_features import NAMED_FEATURES, NamedFeature
from spaces.features.structure_features import StructureFeatures
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import substitute, variables
from spaces.model.formulas.symbolic import as_formula
from spaces.model.suggestions import suggestion


class FeatureNameError(ValueError):
    """A formula names a feature that does not exist, or that has no meaning here."""


@frozen
class UsedFeature:
    """A named feature with its arguments, as a formula uses it."""

    feature: NamedFeature
    args: tuple[str | int, ...]

    def __str__(self) -> str:
        return self.feature.written(self.args)

    @property
    def func(self) -> str:
        """The Func that it is about; empty if it is about the whole schedule."""
        return str(self.args[0]) if self.args else ""

    @property
    def arguments(self) -> Mapping[str, str | int]:
        """The arguments by name, without those left out."""
        return dict(zip(self.feature.takes, self.args, strict=False))

    def read(self, about: StructureFeatures) -> Expr:
        """Its formula for a structure."""
        return as_formula(self.feature.reader(*self.args)(about))


@lru_cache(maxsize=1024)
def used_feature(name: str) -> UsedFeature:
    """The feature that a variable of a formula stands for.

    Raises:
        FeatureNameError: no feature has this name, or it takes other arguments.
    """
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", name)
    feature = NAMED_FEATURES.get(found[1]) if found else None
    if found is None or feature is None:
        known = list(NAMED_FEATURES)
        word = found[1] if found else name
        raise FeatureNameError(
            f"No feature is called {word!r}{suggestion(word, known)}; formulas may name "
            f"{', '.join(known)}."
        )
    texts = found[2].split(", ") if found[2] else []
    takes = feature.takes
    least = len(takes) - (takes[-1:] == ("stage",))
    is_stage_number = len(texts) < len(takes) or takes[-1:] != ("stage",) or texts[-1].isdecimal()
    if not least <= len(texts) <= len(takes) or not is_stage_number:
        raise FeatureNameError(f"{name} is not complete: {_usage(feature)}.")
    args: list[str | int] = [*texts[:least], *map(int, texts[least:])]
    return UsedFeature(feature, tuple(args))


def _usage(feature: NamedFeature) -> str:
    takes = feature.takes
    return (
        f"write {feature.name}({', '.join(takes)})" if takes else f"{feature.name} has no arguments"
    )


def features_in(formula: Expr) -> tuple[UsedFeature, ...]:
    """The features that a formula names.

    Raises:
        FeatureNameError: a variable of the formula is not a feature.
    """
    return tuple(map(used_feature, variables(formula)))


def read_features(formula: Expr, about: StructureFeatures) -> Expr:
    """A formula in which the formulas of a structure replace the features.

    Raises:
        LevelError, UnboundedError: the schedule has no loop nest.
    """
    values = {name: used_feature(name).read(about) for name in variables(formula)}
    return substitute(formula, values)
