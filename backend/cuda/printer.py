"""Kernels as CUDA C text, by the conventions of `spaces.backend.cuda`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce

from attrs import frozen

from spaces.backend.access import AccessMode
from spaces.backend.cuda.atomics import atomic_call
from spaces.backend.cuda.c_text import binary, ctype
from spaces.backend.cuda.declarations import CHECKED_PRELUDE, CheckedDeclarations, Declarations
from spaces.backend.cuda.expressions import ExpressionPrinter, Root
from spaces.backend.cuda.helpers import HELPERS
from spaces.backend.cuda.kernel import (
    DYNAMIC_SHARED_PRELUDE,
    BufferParam,
    CudaKernel,
    CudaModule,
    ScalarParam,
)
from spaces.backend.cuda.names import Names
from spaces.backend.cuda.number_ends import NumberEnds
from spaces.backend.cuda.uniform import with_block_numbers, with_host_numbers
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import (
    Allocate,
    Barrier,
    Block,
    For,
    If,
    Statement,
    Store,
    TupleAssignment,
    updated,
)
from spaces.backend.ir.walk import buffers_written, free_buffers, free_variables
from spaces.constraints.sizes.kernels import WORD_BYTES
from spaces.model.expressions.expr import Expr, Op, Variable
from spaces.model.expressions.types import Type
from spaces.model.schedules.domain_order import LoopKind

STATIC_SHARED_BYTES = 48 * 1024
"""The most shared memory that a block may declare; a launch requests more. CUDA C++ Programming
Guide, table "Technical Specifications per Compute Capability".
"""

_CHANGE_PART = "change_part"
"""The helper that accesses the whole word around an element."""

_INDENT = "    "

_SHARED_ALIGNMENT = 16
"""In bytes: the least alignment that suits every element type."""


@frozen
class PrintedKernel:
    """A kernel's record, and the meaning of its parameters.

    Attributes:
        function: the kernel that was printed.
        record: name, parameters and sizes in the text.
        buffers: the buffers that a launch passes, in order.
        scalars: the variables that a launch passes after the buffers, in order.
        numbers: the formulas of those that the host computes, by name.
    """

    function: DeviceFunction
    record: CudaKernel
    buffers: tuple[str, ...]
    scalars: tuple[Variable, ...]
    numbers: Mapping[str, Expr]


@frozen
class PrintedProgram:
    """The text of all kernels, and each kernel by its name in the program."""

    module: CudaModule
    kernels: Mapping[str, PrintedKernel]


def print_kernels(
    kernels: Iterable[DeviceFunction],
    types: Mapping[str, Type],
    access_mode: AccessMode = AccessMode.PLAIN,
) -> PrintedProgram:
    """``kernels`` as text.

    Args:
        kernels: the kernels of a program, or of the programs of several cases. Kernels with the
            same name are equal and are printed once.
        types: the element type of every buffer outside kernels.
        access_mode: whether the emulator tests the accesses of the text.
    """
    helpers: set[str] = set()
    names = Names()
    printed: dict[str, PrintedKernel] = {}
    texts = []
    for function in {kernel.name: kernel for kernel in kernels}.values():
        ends = NumberEnds.of(function)
        function, numbers = with_host_numbers(function, ends)
        printer = _KernelPrinter(function, ends.beside(numbers), types, helpers, access_mode)
        kernel = printer.kernel(names.fresh(function.name), numbers)
        printed[function.name] = kernel
        texts.append(printer.text(kernel))
    parts = [text for name, text in HELPERS.items() if name in helpers]
    if any(kernel.record.dynamic_shared_bytes for kernel in printed.values()):
        parts.insert(0, DYNAMIC_SHARED_PRELUDE)
    if access_mode is AccessMode.HARDENED:
        parts.insert(0, CHECKED_PRELUDE)
    records = tuple(kernel.record for kernel in printed.values())
    granule = WORD_BYTES if _CHANGE_PART in helpers else 1
    return PrintedProgram(CudaModule("\n".join([*parts, *texts]), records, granule), printed)


class _KernelPrinter:
    def __init__(
        self,
        function: DeviceFunction,
        ends: NumberEnds,
        types: Mapping[str, Type],
        helpers: set[str],
        access_mode: AccessMode,
    ) -> None:
        self._function = function
        self._named, self._of_block = with_block_numbers(function, ends)
        self._types = types
        self._names = Names()
        hardened = access_mode is AccessMode.HARDENED
        self._memory = (CheckedDeclarations if hardened else Declarations)(self._names)
        self._expressions = ExpressionPrinter(
            self._variable,
            ends.beside(self._of_block),
            self._memory.name,
            self._names.fresh,
            helpers,
        )

    def kernel(self, name: str, numbers: Mapping[str, Expr]) -> PrintedKernel:
        """The record of the kernel under the name ``name``; the host computes ``numbers``."""
        function, types = self._function, self._types
        body = tuple(walk_nodes(function.body))
        written = {buffer for s in body for buffer in buffers_written(s)}
        shared = {array.buffer for array in function.shared}
        buffers = tuple(b for b in free_buffers(function.body) if b not in shared)
        places = {v.name for v in (*THREAD, *BLOCK)}
        scalars = tuple(v for v in free_variables(function.body) if v.name not in places)
        is_dynamic = function.shared_bytes > STATIC_SHARED_BYTES
        record = CudaKernel(
            name=name,
            params=(
                *(self._memory.parameter(b, types[b], b in written) for b in buffers),
                *(ScalarParam(self._variable(v.name), ctype(v.type)) for v in scalars),
            ),
            block=function.block,
            static_shared_bytes=0 if is_dynamic else function.shared_bytes,
            dynamic_shared_bytes=self._dynamic_bytes() if is_dynamic else 0,
        )
        return PrintedKernel(function, record, buffers, scalars, numbers)

    def text(self, kernel: PrintedKernel) -> str:
        """The function as text."""
        record = kernel.record
        given = [param for param in record.params if isinstance(param, BufferParam)]
        lines = [
            *self._memory.given(kernel.buffers, given),
            *self._shared(record),
            *self._places(),
            *self._block_numbers(),
            *self._statement(self._named.body),
        ]
        return f"{record.declaration()} {{\n{_text(lines)}}}\n"

    def _variable(self, name: str) -> str:
        # Names with a dot are loops and sizes: no word of C looks like `blur_s0_x`.
        return self._names.of(name.replace(".s0.", "."), "" if "." in name else "arg")

    def _offsets(self) -> Iterator[tuple[int, int]]:
        """The first byte of each dynamic shared array, and the byte behind it."""
        end = 0
        for array in self._function.shared:
            start = -(-end // _SHARED_ALIGNMENT) * _SHARED_ALIGNMENT
            end = start + array.nbytes
            yield start, end

    def _dynamic_bytes(self) -> int:
        return max((end for _, end in self._offsets()), default=0)

    def _shared(self, record: CudaKernel) -> Iterator[str]:
        arrays = self._function.shared
        if not record.dynamic_shared_bytes:
            for array in arrays:
                yield from self._memory.shared(array)
            return
        yield "DYNAMIC_SHARED(shared_bytes);"
        for array, (start, _) in zip(arrays, self._offsets(), strict=True):
            yield from self._memory.part(array, start)

    def _places(self) -> Iterator[str]:
        """The place of the thread and of its block as int, if the kernel uses them."""
        used = {v.name for v in free_variables(self._function.body)}
        for place in (*BLOCK, *THREAD):
            if place.name in used:
                yield f"const int {self._variable(place.name)} = (int){place.name};"

    def _block_numbers(self) -> Iterator[str]:
        """The numbers that all threads of a block share."""
        numbers = self._of_block
        printed = self._expressions.print([Root(formula, True) for formula in numbers.values()])
        yield from printed.definitions
        for (name, formula), text in zip(numbers.items(), printed.texts, strict=True):
            yield f"const {ctype(formula.type)} {self._variable(name)} = {text};"

    def _statement(self, statement: Statement) -> Iterator[str]:
        match statement:
            case Block(body=body):
                for inner in body:
                    yield from self._statement(inner)
            case Store():
                yield from self._store(statement)
            case TupleAssignment(body=parts):
                yield from self._tuple_assignment([p for p in parts if isinstance(p, Store)])
            case If():
                yield from self._if(statement)
            case For():
                yield from self._for(statement)
            case Allocate(buffer=name, type=type, sizes=sizes):
                elements = known_elements(sizes)
                assert elements is not None  # the pass that places GPU memory makes sizes constant
                yield from self._memory.own(name, type, elements)
                yield from self._statement(statement.body)
            case Barrier():
                yield "__syncthreads();"
            case _:
                raise TypeError(f"A kernel has no statement like `{statement}`.")

    def _store(self, store: Store) -> Iterator[str]:
        if store.update is not None and store.update.shared:
            yield from self._in_one_step(store, store.update.operator)
            return
        store = updated(store)
        printed = self._expressions.print((Root(store.index, True), Root(store.value, False)))
        index, value = printed.texts
        yield from printed.definitions
        yield f"{self._memory.name(store.buffer)}[{index}] = {value};"

    def _in_one_step(self, store: Store, operator: str) -> Iterator[str]:
        """Changes an element in one atomic step, because other threads may change it too."""
        roots = (Root(store.index, True), Root(store.value, False))
        printed = self._expressions.print(roots)
        index, operand = printed.texts
        yield from printed.definitions
        type, place = store.value.type, f"&{self._memory.name(store.buffer)}[{index}]"
        native = atomic_call(operator, type, place, operand)
        if native is not None:
            yield f"{native};"
            return
        now, value = Variable(type, "update.now"), Variable(type, "update.value")
        (changed,) = self._expressions.print((Root(Op(type, operator, (now, value)), False),)).texts
        name, word = ctype(type), f"unsigned {'int' if type.bits == 32 else 'long long'}"
        body = f"const {name} {self._variable(value.name)} = {operand}; return {changed};"
        function = f"[&]({name} {self._variable(now.name)}) {{ {body} }}"
        helper = "change" if type.bytes >= WORD_BYTES else _CHANGE_PART
        types = f"{name}, {word}" if helper == "change" else name
        self._expressions.helpers.add(helper)
        yield f"{helper}<{types}>({place}, {function});"

    def _tuple_assignment(self, stores: list[Store]) -> Iterator[str]:
        """First constants for all expressions that read memory, then the stores."""
        roots = [r for s in stores for r in (Root(s.index, True), Root(s.value, False))]
        printed = self._expressions.print(roots)
        yield from printed.definitions
        texts = []
        for root, text in zip(roots, printed.texts, strict=True):
            texts.append(str(text))
            if root.expr.loads:
                texts[-1] = self._expressions.fresh("t")
                yield f"const {ctype(root.expr.type)} {texts[-1]} = {text};"
        for store, index, value in zip(stores, texts[::2], texts[1::2], strict=True):
            yield f"{self._memory.name(store.buffer)}[{index}] = {value};"

    def _if(self, statement: If) -> Iterator[str]:
        conditions, body = [statement.condition], statement.body
        # A value that a condition reads may get a name before its `if`. It may exist only if the
        # outer conditions hold, so these keep their own `if`.
        while isinstance(body, If) and not body.condition.loads:
            conditions.append(body.condition)
            body = body.body
        printed = self._expressions.print([Root(c, True) for c in conditions])
        yield from printed.definitions
        yield f"if ({reduce(partial(binary, '&&'), printed.texts)}) {{"
        yield from map(_indented, self._statement(body))
        yield "}"

    def _for(self, loop: For) -> Iterator[str]:
        end = coordinate("add", loop.min, loop.extent)
        printed = self._expressions.print((Root(loop.min, True), Root(end, True)))
        low, high = printed.texts
        name = self._variable(loop.var.name)
        yield from printed.definitions
        if loop.kind is LoopKind.UNROLLED:
            yield "#pragma unroll"
        yield f"for (int {name} = {low}; {name} < {high}; ++{name}) {{"
        yield from map(_indented, self._statement(loop.body))
        yield "}"


def _indented(line: str) -> str:
    return _INDENT + line


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{_INDENT}{line}\n" for line in lines)
