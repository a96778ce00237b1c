"""What is known of the sizes of a call before anything of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import frozen

from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.reasoning.formulas import at_most
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import never_wraps
from spaces.model.formulas.regions import Box
from spaces.model.nest.inward_shifts import inward_shifts
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.parameters import parameters

_ONE = constant(1, Int32)


@frozen
class Assumptions:
    """Conditions on sizes that a call is refused without.

    Attributes:
        common: those that say nothing about images, and those about what outputs must hold.
        images: for each image the others about it.
    """

    common: tuple[Expr, ...]
    images: dict[str, tuple[Expr, ...]]

    @property
    def all(self) -> tuple[Expr, ...]:
        """Each of them once."""
        images = (c for conditions in self.images.values() for c in conditions)
        return tuple(dict.fromkeys((*self.common, *images)))

    def about(self, buffer: str) -> tuple[Expr, ...]:
        """All that bears on an access of ``buffer``."""
        return (*self.common, *self.images.get(buffer, ()))


def assumptions(nest: LoopNest, checked: CheckedSchedule | None) -> Assumptions:
    """What may be assumed of sizes: extents and parameters are at least 1, and what the rules
    require. Of a nest that no rule has seen, it is what its tiles and its regions need: outputs
    no smaller than the tiles that are shifted into them, and buffers around all that is computed
    of them or read.
    """
    required = _needed(nest) if checked is None else _required(checked)
    cases = (arithmetic(c) for c in nest.assumptions if _is_of_sizes(c))
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


def _is_of_sizes(condition: Expr) -> bool:
    """Whether a condition is one on where outputs and images begin and how large they are."""
    parts = (name.rsplit(".", 2)[1:2] for name in variables(condition))
    return all(part in (["min"], ["extent"]) for part in parts)


_IDLE = ("bounds.fused-extent", "gpu.grid-dimension")
"""Rules which say only how large numbers may be: integers are unbounded in proofs, so that neither
the size of a product nor that of a grid helps any of them, and their long formulas slow all.
"""

_OUTPUT = "bounds.output-overrun"

_Required: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
"""Conditions about what outputs must hold, which may be as much as an image says; and others."""


def _required(checked: CheckedSchedule) -> _Required:
    of_outputs = tuple(r.condition for r in checked.size_conditions if r.rule == _OUTPUT)
    others = (r.condition for r in checked.size_conditions if r.rule not in (_OUTPUT, *_IDLE))
    return of_outputs, tuple(others)


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
