"""The conditions on the sizes of a call that hold before it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import frozen

from spaces.constraints.reasoning.formulas import at_most
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import never_wraps
from spaces.model.formulas.interval import Box
from spaces.model.nest.inward_shifts import inward_shifts
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.parameters import parameters

_ONE = constant(1, Int32)

RuleCondition: TypeAlias = tuple[str, Expr]
"""The id of a rule, and the condition on sizes under which it holds."""


@frozen
class Assumptions:
    """Conditions on sizes that every accepted call meets.

    Attributes:
        common: the conditions without images, and those on outputs.
        images: for each image the other conditions about it.
    """

    common: tuple[Expr, ...]
    images: dict[str, tuple[Expr, ...]]

    @property
    def all(self) -> tuple[Expr, ...]:
        """All conditions, each once."""
        images = (c for conditions in self.images.values() for c in conditions)
        return tuple(dict.fromkeys((*self.common, *images)))

    def mapped(self, change: Callable[[Expr], Expr]) -> Assumptions:
        """The assumptions with each condition changed."""
        images = {name: tuple(map(change, given)) for name, given in self.images.items()}
        return Assumptions(tuple(map(change, self.common)), images)

    def about(self, buffer: str) -> tuple[Expr, ...]:
        """The conditions that concern an access of ``buffer``."""
        return (*self.common, *self.images.get(buffer, ()))


def assumptions(nest: LoopNest, judged: tuple[RuleCondition, ...] | None) -> Assumptions:
    """The assumptions on sizes: extents and parameters are at least 1, and the conditions of the
    rules hold, ``judged``. For a nest that no rule has judged, outputs are at least as large as the
    tiles that shift into them, and buffers hold all values that the nest computes or reads.
    """
    required = _needed(nest) if judged is None else _required(judged)
    numbers = {scalar.name for scalar in nest.pipeline.scalars if scalar.type is Int32}
    cases = (arithmetic(c) for c in nest.assumptions if _is_known(c, numbers))
    common = [*_positive(nest), *filter(never_wraps, cases)]
    promised = (arithmetic(p.condition) for p in nest.pipeline.promises)
    images = {i.name: list(_extents(i.name, i.dimensions)) for i in nest.pipeline.images}
    of_outputs, others = required
    common += (c for c in of_outputs if not isinstance(c, Const))
    for condition in (*others, *(c for c in promised if never_wraps(c))):
        if isinstance(condition, Const):
            continue
        about = {n.split(".")[0] for n in variables(condition)} & set(images)
        if not about:
            common.append(condition)
        for name in about:
            images[name].append(condition)
    return Assumptions(tuple(common), {n: tuple(c) for n, c in images.items()})


def _is_known(condition: Expr, numbers: set[str]) -> bool:
    """Whether a condition mentions only the minima and extents of outputs and images, and Params
    among ``numbers``.
    """
    parts = (name.rsplit(".", 2)[1:2] for name in variables(condition) if name not in numbers)
    return all(part in (["min"], ["extent"]) for part in parts)


_IDLE = ("bounds.fused-extent", "gpu.grid-dimension")
"""Rules that only limit how large numbers are. Integers are unbounded in proofs, so that these
limits help no proof, and their long formulas slow all proofs.
"""

_OUTPUT = "bounds.output-overrun"

_Required: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""The conditions on outputs, which may also mention an image, and the other conditions."""


def _required(judged: tuple[RuleCondition, ...]) -> _Required:
    of_outputs = tuple(condition for rule, condition in judged if rule == _OUTPUT)
    others = tuple(condition for rule, condition in judged if rule not in (_OUTPUT, *_IDLE))
    return of_outputs, others


def _positive(nest: LoopNest) -> Iterator[Expr]:
    for name in nest.pipeline.outputs:
        yield from _extents(name, len(nest.pipeline.function(name).args))
    for name in parameters(nest.schedule):
        yield at_most(_ONE, Variable(Int32, name))


def _extents(buffer: str, dimensions: int) -> Iterator[Expr]:
    for d in range(dimensions):
        yield at_most(_ONE, size_variable(buffer, "extent", d))


def _needed(nest: LoopNest) -> _Required:
    of_outputs = (c for name, box in nest.outputs.items() for c in _inside(nest, name, box))
    of_images = (c for name, box in nest.inputs.items() for c in _inside(nest, name, box))
    return tuple(of_outputs), (*_of_tiles(nest), *of_images)


def _of_tiles(nest: LoopNest) -> Iterator[Expr]:
    for name in nest.pipeline.outputs:
        function = nest.pipeline.function(name)
        for shift in inward_shifts(function, nest.schedule.of(name)):
            size = size_variable(name, "extent", function.args.index(shift.dimension))
            yield at_most(shift.factor, size)


def _inside(nest: LoopNest, buffer: str, box: Box) -> Iterator[Expr]:
    for d, interval in enumerate(box):
        low = size_variable(buffer, "min", d)
        high = low + size_variable(buffer, "extent", d) - 1
        for a, b in ((low, interval.min), (interval.max, high)):
            if a is not None and b is not None and not nest.simplify.at_most(a, b):
                yield at_most(a, b)
