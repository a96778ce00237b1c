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
    """What statements have besides those inside them: expressions of their own."""

    __slots__ = ()

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Its expressions, not those of statements inside it."""
        return ()

    def with_expressions(self, expressions: tuple[Expr, ...]) -> Statement:
        """The same statement with as many other expressions."""
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

    ``variables`` and ``buffers`` are what the body uses of its surroundings.
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
    """One dimension of flat memory: its first coordinate, how many there are, and how many elements
    lie between neighbors.
    """

    min: Expr
    extent: Expr
    stride: Expr


@frozen
class Allocate(_Statement):
    """A buffer of its own for the time of ``body``.

    Before flattening ``mins``, ``extents`` and ``folds`` describe its dimensions, and ``order``
    says how they lie in memory, innermost first. It has as many elements as the product of its
    ``sizes``, each at least 0; these are its extents until a pass knows better. Where ``within``
    names a buffer around it, it is what that buffer's memory is used for. ``dimensions`` say, after
    flattening and where errors are to name coordinates, how flat memory stands for them.
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
    """An element becomes ``operator`` of itself and a value, in one step where it is ``shared``
    with other threads.
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
    """The element (or, with a vector index, elements) of a flat buffer becomes ``value``; with a
    ``mask``, those of the lanes where it holds. One element may be updated by a value instead.
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
    """The statement that reads an element and stores what becomes of it, in two steps; it takes
    the place of an update where nothing comes in between.
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
    """Several arrays change at once, those of a Tuple: all values and places are evaluated before
    anything is stored.
    """

    body: tuple[Provide | Store, ...]

    @property
    def children(self) -> tuple[Statement, ...]:
        return self.body

    def with_children(self, children: tuple[Statement, ...]) -> Statement:
        return TupleAssignment(tuple(_assignment(child) for child in children))


def _assignment(statement: Statement) -> Provide | Store:
    """A part of :class:`TupleAssignment` after a change that leaves it one."""
    assert isinstance(statement, Provide | Store)
    return statement


@frozen
class If(_Statement):
    """``body`` where ``condition`` holds, else ``otherwise`` if given."""

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
    """The element of a buffer at some coordinates (before flattening) or at a flat index (after) is
    brought near, if there is one.
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
