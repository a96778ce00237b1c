"""A part of a GPU program that the CPU computes, compiled and called with host arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from numpy.typing import NDArray

from spaces.backend.access import AccessError, AccessMode
from spaces.backend.buffers import scalar_word
from spaces.backend.ir.host import HostPart
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.walk import buffers_read, buffers_written, free_buffers, free_variables
from spaces.backend.llvm.accesses import OUTSIDE, reported_access
from spaces.backend.llvm.codegen import entry_name, llvm_module, report_words
from spaces.backend.llvm.module import OUT_OF_MEMORY
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.llvm.runtime.pools import ThreadPool
from spaces.backend.lowering.cpu.passes import host_passes
from spaces.machine_code import CompiledModule, compile_module
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Type

_Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@frozen
class HostFunction:
    """Machine code of one host part.

    Attributes:
        buffers: the buffers that it takes, in order.
        variables: the sizes, scalars and loop variables that it takes, in order.
        reads: the members of ``buffers`` that it reads.
        writes: the members of ``buffers`` that it writes.
    """

    name: str
    buffers: tuple[str, ...]
    variables: tuple[Variable, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    _program: LoopProgram = field(repr=False, eq=False)
    _access_mode: AccessMode = field(repr=False, eq=False)
    _module: CompiledModule = field(repr=False, eq=False)
    _pool: ThreadPool = field(repr=False, eq=False)

    def __call__(
        self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, int | float]
    ) -> None:
        """Computes the part.

        Args:
            arrays: a dense array in C order for each of ``buffers``. The strides among ``values``
                are those of dense arrays, and hardened code tests against the bytes of the array.
            values: a number for each of ``variables``.

        Raises:
            ValueError: an array has other strides.
            MemoryError: there is not enough memory for what the part stores.
            AccessError: hardened code meant to touch memory that is not its own.
        """
        words: list[int] = []
        for name in self.buffers:
            array = arrays[name]
            if not array.flags.c_contiguous:
                raise ValueError(
                    f"{self.name} computes on dense arrays in C order, but the array of {name} has "
                    f"the shape {array.shape} and strides of {array.strides} bytes."
                )
            words += [array.ctypes.data, 0, array.size, 1]
        words += [scalar_word(v.type, values[v.name]) for v in self.variables]
        report = (ctypes.c_int64 * report_words(self._program, self._access_mode))()
        words += [ctypes.addressof(report)] if report else []
        packed = (ctypes.c_int64 * len(words))(*words)
        entry = _Entry(self._module.address(entry_name(self.name)))
        status = entry(self._pool.address, ctypes.addressof(packed))
        if status == OUTSIDE:
            raise AccessError(reported_access(self._program, report))
        if status == OUT_OF_MEMORY:
            raise MemoryError(
                f"There is no memory for the intermediate values of {self.name}; compute them in "
                "smaller tiles, or ask for a smaller output."
            )


def compile_host_part(
    part: HostPart,
    types: Mapping[str, Type],
    pool: ThreadPool,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> HostFunction:
    """Machine code of ``part``, whose buffers have ``types``."""
    buffers = free_buffers(part.body)
    variables = free_variables(part.body)
    inside = tuple(walk_nodes(part.body))
    lowered = LoopProgram(
        name=part.name,
        # Buffers are flat memory. The sizes and strides that the part uses come as scalars; they
        # replace the sizes of the flat memory, which only hardened code uses.
        buffers=tuple(BufferParameter(b, types[b], 1, True) for b in buffers),
        scalars=tuple(ScalarParameter(v.name, v.type) for v in variables),
        size_checks=(),
        body=part.body,
    )
    for lowering in host_passes(access_mode):
        lowered = lowering(lowered)
    read = {name for s in inside for name in buffers_read(s)}
    written = {name for s in inside for name in buffers_written(s)}
    return HostFunction(
        name=part.name,
        buffers=buffers,
        variables=variables,
        reads=tuple(b for b in buffers if b in read),
        writes=tuple(b for b in buffers if b in written),
        program=lowered,
        access_mode=access_mode,
        module=compile_module(llvm_module(lowered, access_mode=access_mode), runtime_symbols()),
        pool=pool,
    )
