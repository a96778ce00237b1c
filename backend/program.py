"""The loop program: what lowering passes turn a loop nest into, and what both printers print.

Expressions are those of the model plus memory and vectors: :class:`Load`, :class:`MaskedLoad`,
:class:`Ramp`, :class:`Broadcast`, :class:`Shuffle`, :class:`AnyLane`. A program starts with
Halide-like multidimensional accesses (``Call`` and :class:`Provide`), and the flatten pass replaces
them by flat ones (``Load`` and :class:`Store`).
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from attrs import evolve, field, frozen

from spaces.model.expressions.expr import Call, Expr, Op, Variable
from spaces.model.expressions.message import Message
from spaces.model.expressions.types import Type
from spaces.model.schedules.domain_order import LoopKind, Partition
from spaces.model.schedules.schedule import Memory

Statement: TypeAlias = (
    "Block | For | ParallelFor | Allocate | Provide | Store | Together | If | Stop | Barrier"
    " | Prefetch"
)


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
    """The elements of a flat buffer in those lanes where ``mask`` holds, zeros in the others, which
    touch no memory.
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
    """Whether a vector of conditions holds in one lane at least."""

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
    """A scalar in every one of ``type.lanes`` lanes."""

    value: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Broadcast(self.type, children[0])

    def written(self, children: tuple[str, ...]) -> str:
        return f"x{self.type.lanes}({children[0]})"


@frozen(eq=False, slots=True, repr=False)
class Shuffle(Expr):
    """Lanes picked out of vectors of one type, put end to end: ``picks`` are their places there."""

    parts: tuple[Expr, ...] = field()
    picks: tuple[int, ...] = field()

    def _children(self) -> tuple[Expr, ...]:
        return self.parts

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Shuffle(self.type, children, self.picks)

    def written(self, children: tuple[str, ...]) -> str:
        return f"shuffle({', '.join(children)}; {' '.join(map(str, self.picks))})"


@frozen
class Block:
    """Statements in order."""

    body: tuple[Statement, ...]


@frozen
class For:
    """A loop of ``extent`` iterations from ``min``."""

    var: Variable
    min: Expr
    extent: Expr
    kind: LoopKind
    body: Statement
    partition: Partition = Partition.AUTO


@frozen
class ParallelFor:
    """A parallel loop whose body is a function of its own, called by the threads of a pool.

    ``variables`` and ``buffers`` are what the body uses of its surroundings.
    """

    var: Variable
    min: Expr
    extent: Expr
    variables: tuple[Variable, ...]
    buffers: tuple[str, ...]
    body: Statement


@frozen
class Dimension:
    """One dimension of flat memory: its first coordinate, how many there are, and how many elements
    lie between neighbors.
    """

    min: Expr
    extent: Expr
    stride: Expr


@frozen
class Allocate:
    """A buffer of its own for the time of ``body``.

    Before flattening ``mins``, ``extents`` and ``folds`` describe its dimensions, and ``order``
    says how they lie in memory, innermost first. It has as many elements as the product of its
    ``sizes``, each at least 0; these are its extents until a pass knows better. Where ``within``
    names a buffer around it, it is what that buffer's memory is used for. ``dimensions`` say, after
    flattening and where errors are to name coordinates, how flat memory stands for them.
    """

    buffer: str
    type: Type
    memory: Memory
    sizes: tuple[Expr, ...]
    body: Statement
    mins: tuple[Expr, ...] = ()
    extents: tuple[Expr, ...] = ()
    folds: tuple[Expr | None, ...] = ()
    order: tuple[int, ...] = ()
    within: str = ""
    dimensions: tuple[Dimension, ...] = ()


@frozen(eq=False, slots=True, repr=False)
class Reduced(Expr):
    """All lanes of a vector combined by an operator whose order does not matter."""

    operator: str = field()
    lanes: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.lanes,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Reduced(self.type, self.operator, children[0])

    def written(self, children: tuple[str, ...]) -> str:
        return f"{self.operator} of lanes({children[0]})"


@frozen
class Update:
    """An element becomes ``operator`` of itself and a value, in one step where it is ``shared``
    with other threads.
    """

    operator: str
    shared: bool


@frozen
class Provide:
    """Func ``func`` at ``args`` becomes ``value``, or is updated by it."""

    func: str
    args: tuple[Expr, ...]
    value: Expr
    update: Update | None = None


@frozen
class Store:
    """The element (or, with a vector index, elements) of a flat buffer becomes ``value``; with a
    ``mask``, those of the lanes where it holds. One element may be updated by a value instead.
    """

    buffer: str
    index: Expr
    value: Expr
    mask: Expr | None = None
    update: Update | None = None


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
class Together:
    """Several arrays change at once, those of a Tuple: all values and places are evaluated before
    anything is stored.
    """

    body: tuple[Provide | Store, ...]


@frozen
class If:
    """``body`` where ``condition`` holds, else ``otherwise`` if given."""

    condition: Expr
    body: Statement
    otherwise: Statement | None = None


@frozen
class Stop:
    """The program ends here and says why: a message, and the values in it."""

    message: Message
    values: tuple[Expr, ...] = ()


@frozen
class Prefetch:
    """The element of a buffer at some coordinates (before flattening) or at a flat index (after) is
    brought near, if there is one.
    """

    buffer: str
    at: tuple[Expr, ...]


@frozen
class Barrier:
    """All threads of a GPU block wait for each other."""


@frozen
class BufferParameter:
    """An image or output the caller passes: a pointer to its first element, and min, extent,
    stride (in elements) of each dimension, innermost first.

    Attributes:
        steps: the strides that are known, and None for those of the caller.
    """

    name: str
    type: Type
    dimensions: int
    is_output: bool
    steps: tuple[int | None, ...] = field()

    @steps.default
    def _dense(self) -> tuple[int | None, ...]:
        return (1, *(None,) * (self.dimensions - 1))[: self.dimensions]


@frozen
class ScalarParameter:
    """A scalar the caller passes."""

    name: str
    type: Type


@frozen
class Requirement:
    """A condition on sizes that the caller is told about where it does not hold."""

    condition: Expr
    message: str


@frozen
class LoopProgram:
    """A whole program.

    It runs only in calls for which the ``assumptions`` hold. Its free variables are ``B.min.D``,
    ``B.extent.D``, ``B.stride.D`` of its buffers and the names of its scalars. Where it is
    ``hinted``, operators of its values say which sides of tests are the usual ones.
    """

    name: str
    buffers: tuple[BufferParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    requirements: tuple[Requirement, ...]
    body: Statement
    assumptions: tuple[Expr, ...] = ()
    hinted: bool = False
