"""Expressions of memory and vectors, which the model does not have."""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.expressions.expr import Expr


@frozen(eq=False, slots=True, repr=False)
class Load(Expr):
    """The element (or, with a vector index, elements) of a flat buffer."""

    buffer: str = field()
    index: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Load(self.type, self.buffer, children[0])

    def _loads(self) -> bool:
        return True

    def written(self, children: tuple[str, ...]) -> str:
        return f"{self.buffer}[{children[0]}]"


@frozen(eq=False, slots=True, repr=False)
class MaskedLoad(Expr):
    """The elements of a flat buffer in the lanes where ``mask`` holds, and zeros in the others. The
    other lanes touch no memory.
    """

    buffer: str = field()
    index: Expr = field()
    mask: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.index, self.mask)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return MaskedLoad(self.type, self.buffer, *children)

    def _loads(self) -> bool:
        return True

    def written(self, children: tuple[str, ...]) -> str:
        return f"{self.buffer}[{children[0]} where {children[1]}]"


@frozen(eq=False, slots=True, repr=False)
class AnyLane(Expr):
    """Whether a vector of conditions holds in at least one lane."""

    lanes: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.lanes,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return AnyLane(self.type, children[0])

    def written(self, children: tuple[str, ...]) -> str:
        return f"any({children[0]})"


@frozen(eq=False, slots=True, repr=False)
class Ramp(Expr):
    """The int32 vector ``base, base + stride, ...`` of ``type.lanes`` lanes."""

    base: Expr = field()
    stride: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.base, self.stride)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Ramp(self.type, children[0], children[1])

    def written(self, children: tuple[str, ...]) -> str:
        return f"ramp({', '.join(children)}, {self.type.lanes})"


@frozen(eq=False, slots=True, repr=False)
class Broadcast(Expr):
    """A scalar in each of ``type.lanes`` lanes."""

    value: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Broadcast(self.type, children[0])

    def written(self, children: tuple[str, ...]) -> str:
        return f"x{self.type.lanes}({children[0]})"


@frozen(eq=False, slots=True, repr=False)
class Shuffle(Expr):
    """Lanes picked out of the concatenation of vectors of one type; ``picks`` are their positions
    in it.
    """

    parts: tuple[Expr, ...] = field()
    picks: tuple[int, ...] = field()

    def _children(self) -> tuple[Expr, ...]:
        return self.parts

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Shuffle(self.type, children, self.picks)

    def written(self, children: tuple[str, ...]) -> str:
        return f"shuffle({', '.join(children)}; {' '.join(map(str, self.picks))})"


@frozen(eq=False, slots=True, repr=False)
class VectorReduce(Expr):
    """All lanes of a vector combined by an operator whose order does not matter."""

    operator: str = field()
    lanes: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.lanes,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return VectorReduce(self.type, self.operator, children[0])

    def written(self, children: tuple[str, ...]) -> str:
        return f"{self.operator} of lanes({children[0]})"
