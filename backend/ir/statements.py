"""The statements of a loop program.

A program starts with accesses at coordinates, as in Halide (``Call`` and :class:`Provide`); the
flatten pass replaces them by flat ones (:class:`~backend.ir.vectors.Load` and :class:`Store`).
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias, TypeVar, cast

from attrs import evolve, frozen

from backend.ir.node import Node
from backend.ir.vectors import Load
from spaces.model.expressions.expr import Call, Expr, Op, Variable
from spaces.model.expressions.message import Message
from spaces.model.expressions.types import Type
from spaces.model.schedules.domain_order import LoopKind, Partition
from spaces.model.schedules.schedule import MemoryType

Statement: TypeAlias = (
    "Block | For | ParallelFor | Allocate | Provide | Store | TupleAssignment | If | Stop | Barrier"
    " | Prefetch"
)


class _Statement(Node["Statement"]):
    """A statement: besides the statements inside it, it has expressions of its own."""

    __slots__ = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Its own expressions, without those of statements inside it."""
        return ()

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        """The same statement with other expressions, as many as before."""
        return cast("Statement", self)


@frozen
class Block(_Statement):
    """Statements in order."""

    body: tuple[Statement, ...]

    @property
    def children(self) -> tuple[Statement, ...]:
        return self.body

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return block(*children)


@frozen
class For(_Statement):
    """A loop of ``extent`` iterations from ``min``."""

    var: Variable
    min: Expr
    extent: Expr
    kind: LoopKind
    body: Statement
    partition: Partition = Partition.AUTO

    @property
    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return evolve(self, body=children[0])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.min, self.extent

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        low, extent = expressions
        return evolve(self, min=low, extent=extent)


@frozen
class ParallelFor(_Statement):
    """A parallel loop whose body is a function of its own, called by the threads of a pool.

    ``variables`` and ``buffers`` are those that the body uses from outside.
    """

    var: Variable
    min: Expr
    extent: Expr
    variables: tuple[Variable, ...]
    buffers: tuple[str, ...]
    body: Statement

    @property
    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return evolve(self, body=children[0])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.min, self.extent

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        low, extent = expressions
        return evolve(self, min=low, extent=extent)


@frozen
class BufferDimension:
    """One dimension of flat memory: first coordinate, extent, and stride in elements."""

    min: Expr
    extent: Expr
    stride: Expr


@frozen
class Allocate(_Statement):
    """A buffer that lives while ``body`` runs.

    Before flattening ``mins``, ``extents`` and ``folds`` describe its dimensions, and ``order``
    says how they lie in memory, innermost first. It has as many elements as the product of its
    ``sizes``; each size counts as at least 0. The sizes are its extents until a pass knows better.
    Where ``within`` names a buffer around it, it uses the memory of that buffer. After flattening,
    ``dimensions`` say how flat memory stands for coordinates, where errors name coordinates.
    """

    buffer: str
    type: Type
    memory: MemoryType
    sizes: tuple[Expr, ...]
    body: Statement
    mins: tuple[Expr, ...] = ()
    extents: tuple[Expr, ...] = ()
    folds: tuple[Expr | None, ...] = ()
    order: tuple[int, ...] = ()
    within: str = ""
    dimensions: tuple[BufferDimension, ...] = ()

    nests_deep: ClassVar[bool] = True

    @property
    def children(self) -> tuple[Statement, ...]:
        return (self.body,)

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return evolve(self, body=children[0])

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (
            *self.sizes,
            *self.mins,
            *self.extents,
            *(fold for fold in self.folds if fold is not None),
            *(e for d in self.dimensions for e in (d.min, d.extent, d.stride)),
        )

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        given = iter(expressions)
        return evolve(
            self,
            sizes=tuple(next(given) for _ in self.sizes),
            mins=tuple(next(given) for _ in self.mins),
            extents=tuple(next(given) for _ in self.extents),
            folds=tuple(None if fold is None else next(given) for fold in self.folds),
            dimensions=tuple(
                BufferDimension(next(given), next(given), next(given)) for _ in self.dimensions
            ),
        )


@frozen
class Update:
    """An element becomes ``operator`` of itself and a value. Where other threads ``shared`` it,
    this happens in one atomic step.
    """

    operator: str
    shared: bool


@frozen
class Provide(_Statement):
    """Func ``func`` at ``args`` becomes ``value``, or is updated by it."""

    func: str
    args: tuple[Expr, ...]
    value: Expr
    update: Update | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return *self.args, self.value

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        *args, value = expressions
        return evolve(self, args=tuple(args), value=value)


@frozen
class Store(_Statement):
    """Stores ``value`` in the element (or, with a vector index, elements) of a flat buffer; with a
    ``mask``, only in the lanes where the mask holds. A store may instead update one element by
    ``value``.
    """

    buffer: str
    index: Expr
    value: Expr
    mask: Expr | None = None
    update: Update | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (
            (self.index, self.value) if self.mask is None else (self.index, self.value, self.mask)
        )

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        index, value, *mask = expressions
        return evolve(self, index=index, value=value, mask=mask[0] if mask else None)


_Assignment = TypeVar("_Assignment", bound="Provide | Store")


def updated(statement: _Assignment) -> _Assignment:
    """An update as two steps: read the element, then store its new value. Correct only where no
    other access can come between the two.
    """
    update, value = statement.update, statement.value
    if update is None:
        return statement
    if isinstance(statement, Provide):
        now: Expr = Call(value.type, statement.func, statement.args)
    else:
        now = Load(value.type, statement.buffer, statement.index)
    changed = Op(value.type, update.operator, (now, value))
    return evolve(statement, value=changed, update=None)


@frozen
class TupleAssignment(_Statement):
    """The arrays of a Tuple change at once: the statement evaluates all values and indices before
    it stores anything.
    """

    body: tuple[Provide | Store, ...]

    @property
    def children(self) -> tuple[Statement, ...]:
        return self.body

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return TupleAssignment(tuple(_assignment(child) for child in children))


def _assignment(statement: Statement) -> Provide | Store:
    """A part of :class:`TupleAssignment` after a change, which must leave it an assignment."""
    assert isinstance(statement, Provide | Store)
    return statement


@frozen
class If(_Statement):
    """Runs ``body`` where ``condition`` holds, else ``otherwise`` if there is one."""

    condition: Expr
    body: Statement
    otherwise: Statement | None = None

    @property
    def children(self) -> tuple[Statement, ...]:
        return (self.body,) if self.otherwise is None else (self.body, self.otherwise)

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return If(self.condition, *children)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        return evolve(self, condition=expressions[0])


@frozen
class Stop(_Statement):
    """The program ends here and says why: a message, and the values in it."""

    message: Message
    values: tuple[Expr, ...] = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.values

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        return Stop(self.message, expressions)


@frozen
class Prefetch(_Statement):
    """Brings one element of a buffer into the cache, if it exists: the one at some coordinates
    (before flattening) or at a flat index (after).
    """

    buffer: str
    at: tuple[Expr, ...]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return self.at

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        return Prefetch(self.buffer, expressions)


@frozen
class Barrier(_Statement):
    """All threads of a GPU block wait for each other."""


EMPTY = Block(())
"""The statement that does nothing."""


def block(*statements: Statement) -> Statement:
    """The statements in order, without blocks inside blocks; a single one stands for itself."""
    flat: list[Statement] = []
    for statement in statements:
        flat += statement.body if isinstance(statement, Block) else (statement,)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))
