"""The statements of a loop program.

A program starts with accesses at coordinates, as in Halide (``Call`` and :class:`Provide`); the
flatten pass replaces them by flat ones (:class:`~spaces.backend.ir.vectors.Load` and
:class:`Store`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, TypeAlias, TypeVar

from attrs import evolve, frozen

from spaces.backend.ir.node import Node
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.expr import Call, Expr, Op, Variable
from spaces.model.expressions.message import Message
from spaces.model.expressions.types import Type
from spaces.model.schedules.domain_order import LoopKind, Partition
from spaces.model.schedules.schedule import MemoryType

Given = TypeVar("Given")

Statement: TypeAlias = (
    "Block | For | ParallelFor | Allocate | Provide | Store | TupleAssignment | If | Assert"
    " | Barrier | Prefetch | Recall | Invoke | Timed"
)


class _Statement(Node["Statement"]):
    """A statement: besides the statements inside it, it has expressions of its own. Its text is
    one line; the statements inside follow.
    """

    __slots__ = ()

    called: ClassVar[str] = "Statement"

    @property
    def in_place(self) -> tuple[str, ...]:
        """The buffers or Funcs that it reads besides those in its expressions."""
        return ()


@frozen
class Block(_Statement):
    """Statements in order."""

    body: tuple[Statement, ...]

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
    def in_place(self) -> tuple[str, ...]:
        return () if self.update is None else (self.func,)

    def __str__(self) -> str:
        place = f"{self.func}({', '.join(map(str, self.args))})"
        return f"{place} {_becomes(self.update)} {self.value}"


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
    def in_place(self) -> tuple[str, ...]:
        return () if self.update is None else (self.buffer,)

    def __str__(self) -> str:
        where = "" if self.mask is None else f" where {self.mask}"
        return f"{self.buffer}[{self.index}{where}] {_becomes(self.update)} {self.value}"


def _becomes(update: Update | None) -> str:
    if update is None:
        return "="
    shared = " in one step" if update.shared else ""
    return f"becomes{shared} {update.operator} of itself and"


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


@frozen
class Assert(_Statement):
    """An assertion that fails here, as Halide's ``assert(false, message)``: the program ends.

    An :class:`If` around it holds the condition. ``values`` are the numbers in the message.
    """

    message: Message
    values: tuple[Expr, ...] = ()

    def __str__(self) -> str:
        return f"assert false, {self.message.filled([str(v) for v in self.values])}"


@frozen
class Prefetch(_Statement):
    """Brings one element of a buffer into the cache, if it exists: the one at some coordinates
    (before flattening) or at a flat index (after).
    """

    buffer: str
    at: tuple[Expr, ...]

    @property
    def in_place(self) -> tuple[str, ...]:
        return (self.buffer,)

    def __str__(self) -> str:
        return f"prefetch {self.buffer}[{', '.join(map(str, self.at))}]"


@frozen
class Invoke(_Statement):
    """A call of foreign code, which reads the first of ``arrays`` and fills the last ones, as many
    as ``outputs``. It takes ``scalars``, too: each stands in its place among the arguments.

    ``mins`` and ``extents`` hold an entry for each dimension of each array, ``counts`` of them for
    an array: the part of the array that the code gets. ``strides`` are the distances of neighbours
    in elements, and ``offsets`` the place of the first element in the memory of each array. Both
    are known when the program is flat.
    """

    symbol: str
    arrays: tuple[str, ...]
    types: tuple[Type, ...]
    counts: tuple[int, ...]
    outputs: int
    mins: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    strides: tuple[Expr, ...] = ()
    offsets: tuple[Expr, ...] = ()
    scalars: tuple[Expr, ...] = ()
    places: tuple[int, ...] = ()

    @property
    def in_place(self) -> tuple[str, ...]:
        return self.arrays

    @property
    def kinds(self) -> tuple[Type | None, ...]:
        """Its arguments in order: the type of each scalar, and None for each array."""
        arrays: list[Type | None] = [None] * len(self.arrays)
        return tuple(self.arguments(arrays, (scalar.type for scalar in self.scalars)))

    def arguments(self, arrays: Iterable[Given], scalars: Iterable[Given]) -> list[Given]:
        """What stands for the arrays and for the scalars, in the order of the arguments."""
        found = list(arrays)
        for place, scalar in zip(self.places, scalars, strict=True):
            found.insert(place, scalar)
        return found

    def parts(self, of_dimensions: tuple[Expr, ...]) -> list[tuple[Expr, ...]]:
        """``of_dimensions`` by array."""
        found, first = [], 0
        for count in self.counts:
            found.append(of_dimensions[first : first + count])
            first += count
        return found

    def __str__(self) -> str:
        read, filled = self.arrays[: -self.outputs], self.arrays[-self.outputs :]
        given = self.arguments(read, map(str, self.scalars))
        return f"{', '.join(filled)} = {self.symbol}({', '.join(given)})"


@frozen
class Recall(_Statement):
    """Copies the values of ``buffers`` that are kept for the numbers ``key``, if there are any;
    else runs ``body``, which computes them, and keeps a copy.

    Each buffer has the ``extents``. Programs that compute the same under the same ``key`` have the
    same ``identity``, others another one.
    """

    identity: bytes
    key: tuple[Expr, ...]
    buffers: tuple[str, ...]
    types: tuple[Type, ...]
    extents: tuple[Expr, ...]
    body: Statement

    @property
    def in_place(self) -> tuple[str, ...]:
        return self.buffers

    def __str__(self) -> str:
        return f"recall {', '.join(self.buffers)} by ({', '.join(map(str, self.key))}), or else:"


@frozen
class Timed(_Statement):
    """Runs ``body``, which computes ``func``, and counts its visits and the time of one in
    ``every``.
    """

    func: str
    every: int
    body: Statement

    def __str__(self) -> str:
        return f"count the time of {self.func} in one visit of {self.every}:"


@frozen
class Barrier(_Statement):
    """All threads of a GPU block wait for each other."""

    def __str__(self) -> str:
        return "barrier"


EMPTY = Block(())
"""The statement that does nothing."""


def block(*statements: Statement) -> Statement:
    """The statements in order, without blocks inside blocks; a single one stands for itself."""
    flat: list[Statement] = []
    for statement in statements:
        flat += statement.body if isinstance(statement, Block) else (statement,)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))
