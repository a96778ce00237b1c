"""Funcs and images as they lie in memory, and the parts of them that coordinates touch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from attrs import field, frozen

from spaces.features.accesses import Index
from spaces.features.records import FuncFeatures, volume
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum


def _make_comparable(extents: tuple[SymbolicNumber, ...] | None) -> object:
    """Stands for the extents of an image in comparisons: arrays are never equal to others."""
    is_fixed = extents is None or all(isinstance(extent, int) for extent in extents)
    return extents if is_fixed else id(extents)


@frozen
class MemoryBuffer:
    """A Func or an image as it lies in memory.

    Attributes:
        name: the Func or image.
        order: its dimensions, the innermost in memory first.
        element_bytes: the bytes of one element.
        func: its features; None of an image. Two of them are never equal.
        extents: those of an image whose size is known; else None.
        estimate: the estimated (min, extent) of each dimension of an image or output; else None.
        steps: the promised strides of an image or output.
    """

    name: str
    order: tuple[int, ...]
    element_bytes: int
    func: FuncFeatures | None = field(eq=id, repr=False)
    extents: tuple[SymbolicNumber, ...] | None = field(eq=_make_comparable)
    estimate: tuple[tuple[int, int], ...] | None
    steps: tuple[int | None, ...]

    @property
    def storage(self) -> Hashable:
        """Equal for two buffers of one name that lie alike in memory, though the loops of the Func
        may differ: its touched parts and its lines are the same.
        """
        func = self.func
        if func is None:
            return self
        is_fixed = all(isinstance(extent, int | float) for extent in func.allocated)
        allocated = func.allocated if is_fixed else id(func)
        place = self.name, self.order, self.element_bytes, self.estimate, self.steps
        return *place, func.is_output, allocated

    def touched(
        self, indices: Sequence[Index], extents: Mapping[str, SymbolicNumber]
    ) -> tuple[SymbolicNumber, ...]:
        """The extents that coordinates touch while Vars and RVars range over ``extents``. Where a
        coordinate is a value (``f(g(x))``), each iteration over the Vars that may change it touches
        another element. These elements spread over the outermost dimensions first.
        """
        known = spans(indices, extents)
        free = [d for d, index in enumerate(indices) if not index.is_known]
        if not free:
            return known
        found = list(known)
        movers = frozenset[str]().union(*(indices[d].moved_by for d in free))
        left = volume(tuple(extents[name] for name in sorted(movers)))
        for d in reversed(free):
            own = volume(tuple(extents[name] for name in sorted(indices[d].moved_by)))
            limit, most = self._limit(d), indices[d].most
            limit = limit if most is None else minimum(limit, most)
            found[d] = maximum(1, minimum(limit, minimum(own, left)))
            left = left / found[d]
        return tuple(found)

    def _limit(self, dimension: int) -> SymbolicNumber:
        """The extent of one dimension; 1 of an image without a size."""
        if self.func is not None:
            return self.func.allocated[dimension]
        return self.extents[dimension] if self.extents else 1


def spans(
    indices: Iterable[Index], extents: Mapping[str, SymbolicNumber]
) -> tuple[SymbolicNumber, ...]:
    """The number of elements that coordinates span, each in its dimension, while Vars range over
    ``extents``.
    """
    result = []
    for index in indices:
        span: SymbolicNumber = index.spread + 1
        for var, step, divisor in index.strides:
            moved = (extents[var] - 1) * step
            span = span + (moved if divisor == 1 else moved // divisor)
        result.append(span if index.most is None else minimum(span, index.most))
    return tuple(result)
