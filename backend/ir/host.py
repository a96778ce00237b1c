"""The program of a GPU schedule: kernels, and the host program that launches them.

A kernel's body is one thread's: it runs over the variables of :data:`THREAD` and :data:`BLOCK`,
the sizes and scalars of its program, and the loop variables of the host around its launch. The
host's formulas are over the same names, without threads and blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attrs import evolve, frozen

from backend.ir.node import Node
from backend.ir.program import BufferParameter, ScalarParameter, SizeCheck
from backend.ir.statements import BufferDimension, Statement
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32, Type

THREAD = tuple(Variable(Int32, f"threadIdx.{axis}") for axis in "xyz")
"""The place of a thread in its block along x, y and z."""

BLOCK = tuple(Variable(Int32, f"blockIdx.{axis}") for axis in "xyz")
"""The place of a block in the grid along x, y and z."""

Dimensions: TypeAlias = tuple[int, int, int]


@frozen
class SharedArray:
    """A buffer that the threads of a block share; ``elements`` of ``type``, and ``in_words`` if it
    begins and ends with words, which threads access as a whole.
    """

    buffer: str
    type: Type
    elements: int
    in_words: bool = False

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.elements * self.type.bytes


@frozen
class DeviceFunction:
    """One kernel: what a thread does, and how many threads and blocks there are.

    ``grid`` is worked out at each launch; a block's size and shared memory are constants.
    """

    name: str
    grid: tuple[Expr, Expr, Expr]
    block: Dimensions
    shared: tuple[SharedArray, ...]
    body: Statement

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, in bytes."""
        return sum(array.nbytes for array in self.shared)


@frozen
class HostBlock(Node["HostNode"]):
    """Steps of the host in order."""

    body: tuple[HostNode, ...]

    @property
    def children(self) -> tuple[HostNode, ...]:
        return self.body

    def with_children(self, children: tuple[HostNode, ...]) -> HostNode:
        return HostBlock(children)


@frozen
class HostLoop(Node["HostNode"]):
    """A loop of the host around launches."""

    var: Variable
    min: Expr
    extent: Expr
    body: HostNode

    @property
    def children(self) -> tuple[HostNode, ...]:
        return (self.body,)

    def with_children(self, children: tuple[HostNode, ...]) -> HostNode:
        return evolve(self, body=children[0])


@frozen
class HostIf(Node["HostNode"]):
    """Steps that run where ``condition`` holds."""

    condition: Expr
    body: HostNode

    @property
    def children(self) -> tuple[HostNode, ...]:
        return (self.body,)

    def with_children(self, children: tuple[HostNode, ...]) -> HostNode:
        return evolve(self, body=children[0])


@frozen
class GlobalArray(Node["HostNode"]):
    """Memory outside of kernels, for the time of ``body``, of as many elements as the product of
    its ``sizes``, each at least 0.
    """

    buffer: str
    type: Type
    sizes: tuple[Expr, ...]
    body: HostNode

    @property
    def children(self) -> tuple[HostNode, ...]:
        return (self.body,)

    def with_children(self, children: tuple[HostNode, ...]) -> HostNode:
        return evolve(self, body=children[0])


@frozen
class Launch(Node["HostNode"]):
    """Runs a kernel over its grid."""

    kernel: DeviceFunction


@frozen
class HostPart(Node["HostNode"]):
    """A part of the program that the CPU computes: loops without blocks and threads."""

    name: str
    body: Statement


HostNode: TypeAlias = HostBlock | HostLoop | HostIf | GlobalArray | Launch | HostPart


@frozen
class GpuProgram:
    """A whole program, as :class:`backend.ir.program.LoopProgram` with kernels carved out.

    Attributes:
        assumptions: conditions on sizes and parameters, of calls, under which it is run; none
            where it is the only one of its pipeline.
        dimensions: how memory that it obtains stands for coordinates, where errors are to name
            them; these count from the origin of the memory.
    """

    name: str
    buffers: tuple[BufferParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    size_checks: tuple[SizeCheck, ...]
    kernels: tuple[DeviceFunction, ...]
    body: HostNode
    assumptions: tuple[Expr, ...] = ()
    dimensions: Mapping[str, tuple[BufferDimension, ...]] = {}
