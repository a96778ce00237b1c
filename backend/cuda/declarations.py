"""How kernels declare the memory that they access: as it is, or so that each access is tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backend.cuda.c_text import ctype
from backend.cuda.kernel import BufferParam
from backend.cuda.names import Names
from backend.ir.host import SharedArray
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
"""Begins a text that tests its accesses; the emulator, which alone does so, defines these macros
beforehand."""


class Declarations:
    """Memory is declared as it is."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def name(self, buffer: str) -> str:
        """What accesses call a buffer."""
        return self._names.of(buffer, "buf")

    def memory(self, buffer: str) -> str:
        """What its memory is called where it is declared."""
        return self.name(buffer)

    def parameter(self, buffer: str, type: Type, written: bool) -> BufferParam:
        """A buffer that a launch passes."""
        return BufferParam(self.memory(buffer), ctype(type), written)

    def given(self, buffers: Sequence[str], params: Sequence[BufferParam]) -> Iterator[str]:
        """What the text says of the parameters, at its beginning."""
        yield from ()

    def shared(self, array: SharedArray) -> Iterator[str]:
        """An array of the threads of a block."""
        aligned = f"__align__({WORD_BYTES}) " if array.in_words else ""
        declared = f"{ctype(array.type)} {self.memory(array.buffer)}[{array.elements}]"
        yield f"__shared__ {aligned}{declared};"

    def part(self, array: SharedArray, start: int) -> Iterator[str]:
        """Such an array in the memory that a launch asks for."""
        type = ctype(array.type)
        yield f"{type}* const {self.memory(array.buffer)} = ({type}*)(shared_bytes + {start});"

    def own(self, buffer: str, type: Type, elements: int) -> Iterator[str]:
        """An array of one thread."""
        yield f"{ctype(type)} {self.memory(buffer)}[{elements}];"


class CheckedDeclarations(Declarations):
    """Behind each declaration stands what tests accesses, and takes the buffer's name."""

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
