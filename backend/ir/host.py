"""The program of a GPU schedule: kernels, and the host program that launches them.

A kernel's body is what one thread runs. It reads the variables of :data:`THREAD` and :data:`BLOCK`,
the sizes and scalars of its program, and the variables of the host's loops around its launch. The
host's formulas read the same names, except threads and blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from attrs import frozen

from spaces.backend.ir.node import Node
from spaces.backend.ir.program import BufferParameter, ScalarParameter, SizeCheck
from spaces.backend.ir.statements import BufferDimension, Statement
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32, Type

THREAD = tuple(Variable(Int32, f"threadIdx.{axis}") for axis in "xyz")
"""The place of a thread in its block along x, y and z."""

BLOCK = tuple(Variable(Int32, f"blockIdx.{axis}") for axis in "xyz")
"""The place of a block in the grid along x, y and z."""

Dimensions: TypeAlias = tuple[int, int, int]


@frozen
class SharedArray:
    """A buffer of ``elements`` of ``type`` that the threads of a block share. With ``in_words`` it
    begins and ends at word boundaries, because threads access whole words of it.
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

    The host computes ``grid`` at each launch; a block's size and shared memory are constants.
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


class _Step(Node["HostNode"]):
    """What all steps of the host have in common."""

    __slots__ = ()

    called: ClassVar[str] = "HostNode"


@frozen
class HostBlock(_Step):
    """Steps of the host in order."""

    body: tuple[HostNode, ...]


@frozen
class HostLoop(_Step):
    """A loop of the host around launches."""

    var: Variable
    min: Expr
    extent: Expr
    body: HostNode


@frozen
class HostIf(_Step):
    """Steps that run where ``condition`` holds."""

    condition: Expr
    body: HostNode


@frozen
class GlobalArray(_Step):
    """Memory outside of kernels that lives while ``body`` runs. It has as many elements as the
    product of its ``sizes``; each size counts as at least 0.
    """

    buffer: str
    type: Type
    sizes: tuple[Expr, ...]
    body: HostNode


@frozen
class Launch(_Step):
    """Runs a kernel over its grid."""

    kernel: DeviceFunction


@frozen
class HostPart(_Step):
    """A part of the program that the CPU computes: loops without blocks and threads."""

    name: str
    body: Statement


HostNode: TypeAlias = HostBlock | HostLoop | HostIf | GlobalArray | Launch | HostPart


@frozen
class GpuProgram:
    """A whole program: a :class:`spaces.backend.ir.program.LoopProgram` whose kernels are outlined.

    Attributes:
        assumptions: conditions on the sizes and parameters of a call; the program runs only where
            they hold. Empty if it is the only program of its pipeline.
        dimensions: for each buffer that it obtains, how memory stands for coordinates, where errors
            name coordinates. They count from the origin of the memory.
    """

    name: str
    buffers: tuple[BufferParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    size_checks: tuple[SizeCheck, ...]
    kernels: tuple[DeviceFunction, ...]
    body: HostNode
    assumptions: tuple[Expr, ...] = ()
    dimensions: Mapping[str, tuple[BufferDimension, ...]] = {}
