"""Declarations of a kernel's memory: plain ones, or ones that test each access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spaces.backend.cuda.c_text import ctype
from spaces.backend.cuda.kernel import BufferParam
from spaces.backend.cuda.names import Names
from spaces.backend.ir.host import SharedArray
from spaces.constraints.sizes.kernels import WORD_BYTES
from spaces.model.expressions.types import Type

CHECKED_PRELUDE = """\
#ifndef CHECKED
#define CHECKED(type, name, memory, bytes, buffer) type* const name = memory
#define GIVEN_BYTES(argument) 0
#define PART_BYTES(start, bytes) 0
#define POISONED(array)
#endif
"""
"""The beginning of a text that tests its accesses. Only the emulator tests them; it defines these
macros before.
"""


class Declarations:
    """Plain declarations, without tests."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def name(self, buffer: str) -> str:
        """The name of a buffer in accesses."""
        return self._names.of(buffer, "buf")

    def memory(self, buffer: str) -> str:
        """The name of a buffer's memory in its declaration."""
        return self.name(buffer)

    def parameter(self, buffer: str, type: Type, written: bool) -> BufferParam:
        """The parameter for a buffer that a launch passes."""
        return BufferParam(self.memory(buffer), ctype(type), written)

    def given(self, buffers: Sequence[str], params: Sequence[BufferParam]) -> Iterator[str]:
        """Declarations for the parameters, at the beginning of the text."""
        yield from ()

    def shared(self, array: SharedArray) -> Iterator[str]:
        """Declares an array that the threads of a block share."""
        aligned = f"__align__({WORD_BYTES}) " if array.in_words else ""
        declared = f"{ctype(array.type)} {self.memory(array.buffer)}[{array.elements}]"
        yield f"__shared__ {aligned}{declared};"

    def part(self, array: SharedArray, start: int) -> Iterator[str]:
        """Declares a shared array in the dynamic shared memory of a launch."""
        type = ctype(array.type)
        yield f"{type}* const {self.memory(array.buffer)} = ({type}*)(shared_bytes + {start});"

    def own(self, buffer: str, type: Type, elements: int) -> Iterator[str]:
        """Declares an array of one thread."""
        yield f"{ctype(type)} {self.memory(buffer)}[{elements}];"


class CheckedDeclarations(Declarations):
    """Each declaration is followed by a pointer that tests accesses and has the buffer's name."""

    def memory(self, buffer: str) -> str:
        return self._names.of(buffer, "memory")

    def given(self, buffers: Sequence[str], params: Sequence[BufferParam]) -> Iterator[str]:
        for number, (buffer, param) in enumerate(zip(buffers, params, strict=True)):
            pointed = param.declared_type().removesuffix("*")
            yield self._checked(pointed, buffer, f"GIVEN_BYTES({number})")

    def shared(self, array: SharedArray) -> Iterator[str]:
        yield from super().shared(array)
        yield self._checked(ctype(array.type), array.buffer, f"sizeof {self.memory(array.buffer)}")

    def part(self, array: SharedArray, start: int) -> Iterator[str]:
        yield from super().part(array, start)
        nbytes = f"PART_BYTES({start}, {array.nbytes})"
        yield self._checked(ctype(array.type), array.buffer, nbytes)

    def own(self, buffer: str, type: Type, elements: int) -> Iterator[str]:
        # C has no arrays without elements.
        yield from super().own(buffer, type, max(elements, 1))
        yield f"POISONED({self.memory(buffer)});"
        yield self._checked(ctype(type), buffer, str(elements * type.bytes))

    def _checked(self, type: str, buffer: str, nbytes: str) -> str:
        quoted = buffer.replace("\\", "\\\\").replace('"', '\\"')
        names = f"{self.name(buffer)}, {self.memory(buffer)}"
        return f'CHECKED({type}, {names}, {nbytes}, "{quoted}");'
