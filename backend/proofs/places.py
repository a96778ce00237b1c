"""When two flat indices name different places.

An index is a sum of coordinates times strides. In the caller's buffers strides are unknown numbers.
Coordinates inside a buffer have one index each (another obligation proves the bounds), so equal
indices have equal factors of every stride.

The strides of other memory are products of its extents, which are formulas of sizes. There the
difference of two indices is ``p + e * (q + f * (r ..))``, with extents ``e``, ``f`` .. It is not 0
in two cases: ``|p| < e`` and ``p`` is not 0; or ``p`` is 0 and the same rule gives that
``q + f * (r ..)`` is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from attrs import field, frozen

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate
from spaces.backend.lowering.analyses.hints import unhinted
from spaces.backend.lowering.flatten import flatten
from spaces.backend.lowering.gpu.passes import gpu_passes
from spaces.backend.lowering.gpu.sizes import KernelSizes
from spaces.backend.lowering.start import start
from spaces.constraints.reasoning.formulas import FALSE, all_of, any_of, different, less
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.polynomial import Polynomial, multiples
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.loopnest import LoopNest

_ZERO = constant(0, Int32)


def shapes(nest: LoopNest) -> dict[str, tuple[Expr, ...]]:
    """The extents of all memory that the GPU program of a nest allocates, by buffer, the densest
    dimension first. They have the same form as in the program's indices.
    """
    sizes = KernelSizes.of(nest)
    program = unhinted(start(nest))
    for one in takewhile(lambda one: one is not flatten, gpu_passes(sizes)):
        program = one(program)
    return {
        node.buffer: tuple(node.extents[d] for d in node.order)
        for node in walk_nodes(program.body)
        if isinstance(node, Allocate)
    }


@frozen
class Places:
    """Compares indices.

    Attributes:
        dimensions: the number of dimensions of each buffer of the caller, by name.
        extents: the extents of other buffers, from :func:`shapes`.
    """

    dimensions: dict[str, int]
    extents: Mapping[str, tuple[Expr, ...]] = field(factory=dict)
    _simplify: Simplifier = field(factory=Simplifier, eq=False)

    def of(self, buffer: str, index: Expr) -> tuple[Expr, ...]:
        """Numbers that are equal for two indices of a buffer only if the indices name the same
        place: the factors of its strides, or the index itself.
        """
        rest = self._simplify.polynomial(index)
        factors: list[Expr] = []
        for d in range(1, self.dimensions.get(buffer, 0)):
            parts = rest.split(Variable(Int32, f"{buffer}.stride.{d}"))
            if parts is None:
                return (index,)
            factor, rest = parts
            factors.append(self._simplify.normal(factor))
        return (self._simplify.normal(rest), *factors)

    def is_symbolic(self, buffer: str) -> bool:
        """Whether the buffer is memory of the program whose strides are formulas of sizes."""
        return not all(isinstance(e, Const) for e in self.extents.get(buffer, ())[:-1])

    def apart(self, buffer: str, a: Expr, b: Expr, same: Expr = FALSE) -> Expr:
        """The condition that two indices of a buffer name different places, or that ``same`` holds.
        If strides are formulas of sizes, it may be false for different places.
        """
        if not self.is_symbolic(buffer):
            pairs = zip(self.of(buffer, a), self.of(buffer, b), strict=True)
            return any_of((*(different(x, y) for x, y in pairs), same))
        factors, extents = self._factors(buffer, a, b), self.extents[buffer]
        result = any_of((different(factors[-1].expr(), _ZERO), same))
        for factor, extent in reversed([*zip(factors[:-1], extents, strict=False)]):
            inside = (less(f.expr(), extent) for f in (factor, factor.scaled(-1)))
            result = all_of((*inside, any_of((different(factor.expr(), _ZERO), result))))
        return result

    def _factors(self, buffer: str, a: Expr, b: Expr) -> list[Polynomial]:
        """The difference of two indices, split by the extents of a buffer, densest first."""
        rest = self._simplify.polynomial(a) - self._simplify.polynomial(b)
        factors: list[Polynomial] = []
        for extent in self.extents[buffer][:-1]:
            rest, factor = _divided(rest, self._simplify.polynomial(extent))
            factors.append(factor)
        return [*factors, rest]


def _divided(p: Polynomial, by: Polynomial) -> tuple[Polynomial, Polynomial]:
    """``(q, r)`` with ``p = q * by + r``; a number divides only its multiples."""
    number = by.constant
    if number is None:
        return multiples(p, by)
    whole = {m: c // number for m, c in p.terms.items() if number and c % number == 0}
    return Polynomial(whole), Polynomial({m: c for m, c in p.terms.items() if m not in whole})
