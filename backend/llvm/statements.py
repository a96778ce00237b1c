"""Statements as LLVM IR: loops, branches, allocation and freeing of memory, and the bodies of
parallel loops and the loops of long functions as separate functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, field
from llvmlite import ir

from spaces.backend.access import AccessMode
from spaces.backend.ir.lifetimes import parts_of
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    Block,
    For,
    If,
    Invoke,
    ParallelFor,
    Prefetch,
    Recall,
    Statement,
    Store,
    Timed,
    TupleAssignment,
)
from spaces.backend.llvm.alias import LoopHint
from spaces.backend.llvm.closures import LONG, Closure, loops_in
from spaces.backend.llvm.expressions import Expressions
from spaces.backend.llvm.module import FOREIGN_FAILED, ILL_SIZED, OUT_OF_MEMORY, FunctionEmitter
from spaces.backend.llvm.operators import FloatMode, llvm_type
from spaces.backend.llvm.runtime.blocks import I8, I32, I64, POINTER, VOID, Value, i32, i64
from spaces.backend.llvm.words import load_words, local_bytes, reporting, store_words
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.types import Float64, Int32, Type
from spaces.model.schedules.schedule import AUTO_STACK_BYTES, MemoryType

_SHORT = 16
"""LLVM may unroll a loop of up to this many iterations if its body is small, although no schedule
says so.
"""

_PHASES = 41
"""Neighbouring iterations of a parallel loop begin their visits of a Func so far apart, in visits,
as to which of them are timed.
"""

_BUFFER_WORDS = 7
"""The size of a ``halide_buffer_t``: device handle and interface, host address, flags, element type
and number of dimensions, address of the dimensions, padding.
"""

_STACK_BYTES = 256 << 10
"""The most bytes of a function's scratch on the stack. A thread may have only 2 MiB of stack and
run inside several functions.
"""


@define
class Statements:
    """Emits statements into one function."""

    emitter: FunctionEmitter
    values: Expressions
    _owned: list[Value] = field(factory=list)
    """The heap blocks in use."""
    _exits: dict[tuple[Value, ...], Value] = field(factory=dict)
    """The blocks that leave the function, by the memory that they free."""
    _status: Value = None
    _stack_bytes: int = 0
    _is_long: bool = False

    def __attrs_post_init__(self) -> None:
        self.emitter.accesses.leave_by(self.emitter.report, self._leave_where)

    @property
    def _build(self) -> Any:
        return self.emitter.here.builder

    def dimensions(self, buffer: BufferParameter) -> None:
        """Leaves the function if a dimension of a buffer is too short, has coordinates that do not
        fit int32, or has another stride than the known one. All other code assumes that this is not
        so.
        """
        build, most = self._build, i64(Int32.max_value)
        least = i64(buffer.least_extent)
        longest = i64(Int32.max_value - buffer.least_extent)
        for d, step in enumerate(buffer.steps):
            low, extent, stride = (
                self.values.variables[f"{buffer.name}.{part}.{d}"]
                for part in ("min", "extent", "stride")
            )
            is_low = build.icmp_signed("==", low, build.sext(build.trunc(low, I32), I64))
            counts = build.icmp_unsigned("<=", build.sub(extent, least), longest)
            ends = build.icmp_signed("<=", build.sub(build.add(low, extent), i64(1)), most)
            fits = build.and_(build.and_(is_low, counts), ends)
            if step is not None:
                is_step = build.icmp_signed("==", stride, i64(step))
                is_one = build.icmp_signed("<=", extent, i64(1))
                fits = build.and_(fits, build.or_(is_step, is_one))
            self._leave_if(build.not_(fits), i32(ILL_SIZED))

    def size_checks(self, program: LoopProgram) -> None:
        """Emits the size checks: the function returns the number of the first one that does not
        hold.
        """
        for number, check in enumerate(program.size_checks, start=1):
            holds = self.values.condition(check.condition)
            self._leave_if(self._build.not_(holds), i32(number))

    def body(self, statement: Statement) -> None:
        """Emits the body of the function (:meth:`inside`), and ends it with success."""
        self.inside(statement)
        self.emitter.close()

    def inside(self, statement: Statement) -> None:
        """Emits the body of the function. In a long function each loop that is not long itself
        becomes a function of its own.
        """
        self._is_long = loops_in(statement) > LONG
        self.statement(statement)

    def statement(self, statement: Statement) -> None:
        """Emits one statement. Values read from memory stay known through consecutive stores."""
        match statement:
            case Block(body=body):
                for part in body:
                    self.statement(part)
            case Store():
                self.values.ready(statement)()
                self.values.forget(statement.buffer)
            case TupleAssignment(body=parts):
                stores = [part for part in parts if isinstance(part, Store)]
                for ready in [self.values.ready(store) for store in stores]:
                    ready()
                for store in stores:
                    self.values.forget(store.buffer)
            case _:
                self.values.forget_memory()
                self._other(statement)
                self.values.forget_memory()

    def _other(self, statement: Statement) -> None:
        """Emits a statement that is not a store."""
        match statement:
            case Assert(message=message):
                status = self.emitter.module.statuses[message]
                if message.types:
                    self._tell(status, statement.values)
                self._leave_if(ir.Constant(ir.IntType(1), 1), i32(status))
            case Prefetch(buffer=buffer, at=(index,)):
                # To be read, into all caches, as data.
                options = i32(0), i32(3), i32(1)
                address = self.values.address(buffer, index)
                self.emitter.here.operators.intrinsic("llvm.prefetch.p0", VOID, address, *options)
            case For() if self._is_long and loops_in(statement) <= LONG:
                self._apart(statement)
            case For():
                self._loop(statement)
            case If():
                self._if(statement)
            case Allocate():
                self._allocate(statement)
            case ParallelFor():
                self._parallel(statement)
            case Recall():
                self._recall(statement)
            case Timed(func=func, every=every):
                with self.emitter.counters.timing(self._build, func, every):
                    self.statement(statement.body)
            case Invoke():
                self._invoke(statement)
            case _:
                raise TypeError(f"a {type(statement).__name__} is not a statement of CPU code")

    def _tell(self, status: int, values: tuple[Expr, ...]) -> None:
        """Reports the status and the values of a message, unless another thread has reported
        before.
        """
        words = [self._word(value) for value in values]
        with reporting(self._build, self.emitter.report, status):
            store_words(self._build, self.emitter.report, words, first=1)

    def _word(self, expr: Expr) -> Value:
        """A scalar value in 64 bits: an integer is extended, a float becomes the bits of a
        double.
        """
        if expr.type == Int32:
            return self.values.index(expr)
        value, build = self.values.value(expr), self._build
        if expr.type.is_float:
            double = llvm_type(Float64)
            wide = build.fpext(value, double) if expr.type.bits == 32 else value
            return build.bitcast(wide, I64)
        if expr.type.bits == 64:
            return value
        return build.sext(value, I64) if expr.type.is_int else build.zext(value, I64)

    @contextmanager
    def _block(self, name: str, after: Value) -> Iterator[None]:
        """Emits the code inside into a new block that ends with a jump to ``after``."""
        self._build.position_at_end(self.emitter.function.append_basic_block(name))
        with self.values.scope():
            yield
        self._build.branch(after)

    def _if(self, node: If) -> None:
        condition = self.values.condition(node.condition)
        start, function = self._build.block, self.emitter.function
        after = function.append_basic_block("endif")
        targets = []
        for body, name in ((node.body, "then"), (node.otherwise, "else")):
            if body is None:
                targets.append(after)
                continue
            targets.append(len(function.blocks))
            with self._block(name, after):
                self.statement(body)
        chosen = [function.blocks[t] if isinstance(t, int) else t for t in targets]
        self._build.position_at_end(start)
        self._build.cbranch(condition, *chosen)
        self._build.position_at_end(after)

    def _loop(self, loop: For) -> None:
        low, extent = self.values.index(loop.min), self.values.index(loop.extent)
        function, build = self.emitter.function, self._build
        body = function.append_basic_block(loop.var.name)
        after = function.append_basic_block("done")
        if isinstance(loop.extent, Const) and loop.extent.value > 0:
            build.branch(body)
        else:
            build.cbranch(build.icmp_signed(">", extent, i64(0)), body, after)
        before = build.block
        build.position_before(before.terminator)
        last = build.add(low, extent, flags=["nsw"])
        build.position_at_end(body)
        index = build.phi(I64, loop.var.name)
        index.add_incoming(low, before)
        with self.values.inside(loop.var.name, index):
            self.statement(loop.body)
        following = build.add(index, i64(1), flags=["nsw"])
        index.add_incoming(following, build.block)
        jump = build.cbranch(build.icmp_signed("<", following, last), body, after)
        if not _is_short(loop):
            jump.set_metadata("llvm.loop", LoopHint())
        build.position_at_end(after)

    def _allocate(self, node: Allocate) -> None:
        for part in parts_of(node):
            for storage in part.begins:
                self.values.buffers[storage.buffer] = self._storage(storage)
            self.statement(part.statement)
            for storage in part.ends:
                block = self.values.buffers.pop(storage.buffer)
                if block in self._owned and not storage.within:
                    self._owned.remove(block)
                    self._build.call(self.emitter.module.runtime["free"], [block])

    def _storage(self, node: Allocate) -> Value:
        """The address of new memory for the values of a Func."""
        accesses = self.emitter.accesses
        if node.within:
            accesses.again(node, self.values.index)
            return self.values.buffers[node.within]
        elements = known_elements(node.sizes)
        size = None if elements is None else elements * node.type.bytes
        if size is not None and self._fits_stack(node, size):
            self._stack_bytes += size
            self.emitter.counters.allocated(self._build, node.buffer, i64(size))
            place = local_bytes(self.emitter.entry.builder, max(size, 1))
            accesses.obtained(node, place, i64(size), self.values.index)
            return place
        build, wanted = self._build, self._bytes(node.type, node.sizes)
        self.emitter.counters.allocated(build, node.buffer, wanted)
        block = build.call(self.emitter.module.runtime["malloc"], [wanted])
        null = build.icmp_unsigned("==", block, ir.Constant(POINTER, None))
        self._leave_if(null, i32(OUT_OF_MEMORY))
        self._owned.append(block)
        accesses.obtained(node, block, wanted, self.values.index)
        return block

    def _fits_stack(self, node: Allocate, size: int) -> bool:
        """Whether scratch of ``size`` bytes goes on the stack: the schedule says so, or it is
        small.
        """
        most = {MemoryType.AUTO: AUTO_STACK_BYTES, MemoryType.HEAP: -1}.get(
            node.memory, _STACK_BYTES
        )
        return size <= most and self._stack_bytes + size <= _STACK_BYTES

    def _recall(self, node: Recall) -> None:
        """Copies values that are kept, or computes them and keeps a copy. Hardened code watches
        every store, so it computes them always.
        """
        module = self.emitter.module
        if module.access_mode is not AccessMode.PLAIN:
            self.statement(node.body)
            return
        parts = [node.identity[i : i + 8] for i in range(0, len(node.identity), 8)]
        mode = list(FloatMode).index(module.float_mode)
        fixed = [i64(int.from_bytes(part, "little", signed=True)) for part in parts]
        words = [*fixed, i64(mode), *map(self._word, node.key)]
        arrays = [self.values.buffers[name] for name in node.buffers]
        sizes = [self._bytes(type, node.extents) for type in node.types]
        lists = []
        for values in (words, [self._build.ptrtoint(array, I64) for array in arrays], sizes):
            lists.append(local_bytes(self.emitter.entry.builder, 8 * len(values)))
            store_words(self._build, lists[-1], values)
        given = [lists[0], i64(len(words)), *lists[1:], i64(len(arrays))]
        missing = self._build.icmp_signed(
            "==", self._build.call(module.runtime["recall"], given), i32(0)
        )
        with self._build.if_then(missing), self.values.scope():
            self.statement(node.body)
            self._build.call(module.runtime["keep"], given)

    def _invoke(self, node: Invoke) -> None:
        """Calls foreign code with a ``halide_buffer_t`` for each array, and its scalars."""
        build, module = self._build, self.emitter.module
        mins, extents, strides = map(node.parts, (node.mins, node.extents, node.strides))
        given = []
        for number, (name, type) in enumerate(zip(node.arrays, node.types, strict=True)):
            offset = self.values.index(node.offsets[number])
            bytes_before = build.mul(offset, i64(type.bytes))
            first = build.gep(self.values.buffers[name], [bytes_before], source_etype=I8)
            dimensions = zip(mins[number], extents[number], strides[number], strict=True)
            words = [
                word
                for low, extent, stride in dimensions
                for word in (self._halves(low, extent), self._halves(stride))
            ]
            shape = local_bytes(self.emitter.entry.builder, max(8 * len(words), 1))
            store_words(build, shape, words)
            count = len(mins[number])
            kind = halide_type(type) | count << 32
            host, described = (build.ptrtoint(p, I64) for p in (first, shape))
            buffer = local_bytes(self.emitter.entry.builder, 8 * _BUFFER_WORDS)
            zero = i64(0)
            store_words(build, buffer, [zero, zero, host, zero, i64(kind), described, zero])
            given.append(buffer)
        given = node.arguments(given, map(self.values.value, node.scalars))
        status = build.call(module.foreign(node.symbol, node.kinds), given)
        self._leave_if(build.icmp_signed("!=", status, i32(0)), i32(FOREIGN_FAILED))

    def _halves(self, low: Expr, high: Expr | None = None) -> Value:
        """Two numbers of 32 bits as a word, the first one in its low half."""
        build, rest = self._build, i64((1 << 32) - 1)
        word = build.and_(self.values.index(low), rest)
        if high is None:
            return word
        return build.or_(word, build.shl(self.values.index(high), i64(32)))

    def _bytes(self, type: Type, sizes: Iterable[Expr]) -> Value:
        """The bytes of an array; if they overflow, more bytes than memory can have."""
        build = self._build
        total, beyond = i64(type.bytes), ir.Constant(ir.IntType(1), 0)
        for size in sizes:
            count = self.values.index(size)
            count = build.select(build.icmp_signed(">", count, i64(0)), count, i64(0))
            pair = build.smul_with_overflow(total, count)
            total = build.extract_value(pair, 0)
            beyond = build.or_(beyond, build.extract_value(pair, 1))
        return build.select(beyond, i64(2**63 - 1), total)

    def _leave_if(self, condition: Value, status: Value) -> None:
        """Frees all owned memory and returns ``status`` if the condition holds."""
        self._leave_where(condition, lambda: status)

    def _leave_where(self, condition: Value, status: Callable[[], Value]) -> None:
        """Frees all owned memory and returns a status if the condition holds; ``status`` emits it
        on the way out.
        """
        function, build = self.emitter.function, self._build
        if not self._exits:
            self._status = local_bytes(self.emitter.entry.builder, 4)
        leave = function.append_basic_block("leave")
        stay = function.append_basic_block("stay")
        build.cbranch(condition, leave, stay)
        build.position_at_end(leave)
        build.store(status(), self._status, align=4)
        build.branch(self._exit(tuple(self._owned)))
        build.position_at_end(stay)

    def _exit(self, owned: tuple[Value, ...]) -> Value:
        """A block that frees all that is ``owned`` and returns the status."""
        if owned not in self._exits:
            block = self._exits[owned] = self.emitter.function.append_basic_block("exit")
            build = ir.IRBuilder(block)
            if owned:
                build.call(self.emitter.module.runtime["free"], [owned[-1]])
                build.branch(self._exit(owned[:-1]))
            else:
                build.ret(build.load(self._status, typ=I32, align=4))
        return self._exits[owned]

    def _parallel(self, loop: ParallelFor) -> None:
        closure, module = Closure(loop.buffers, loop.variables), self.emitter.module
        task = module.define(module.task_name(loop.var), POINTER, I32)
        task.linkage = "internal"
        emitter = FunctionEmitter.begin(module, task)
        entry, counters = emitter.entry.builder, emitter.counters
        counters.region = self.emitter.counters.region
        counters.phase = entry.mul(entry.zext(task.args[1], I64), i64(_PHASES))
        given = load_words(entry, task.args[0], closure.kinds(emitter.accesses))
        index = {loop.var.name: entry.sext(task.args[1], I64)}
        with counters.task(emitter.here.builder):
            Statements(*closure.received(emitter, given, index)).inside(loop.body)
        emitter.close()
        held, build = closure.held(self.emitter, self.values), self._build
        packed = local_bytes(self.emitter.entry.builder, 8 * len(held))
        store_words(build, packed, held)
        low, extent = (build.trunc(self.values.index(e), I32) for e in (loop.min, loop.extent))
        arguments = [self.emitter.pool, task, low, extent, packed]
        with self.emitter.counters.waiting(build):
            status = build.call(module.runtime["par_for"], arguments)
        self._leave_if_failed(status)

    def _apart(self, loop: For) -> None:
        """Emits a loop into a function of its own, and calls it."""
        closure, module = Closure.of(loop), self.emitter.module
        kinds = closure.kinds(self.emitter.accesses)
        nest = module.define(module.task_name(loop.var), *kinds)
        nest.linkage = "internal"
        nest.attributes.add("noinline")
        emitter = FunctionEmitter.begin(module, nest)
        emitter.counters.region = self.emitter.counters.region
        Statements(*closure.received(emitter, nest.args)).body(loop)
        held = closure.held(self.emitter, self.values)
        self._leave_if_failed(self._build.call(nest, held))

    def _leave_if_failed(self, status: Value) -> None:
        self._leave_if(self._build.icmp_signed("!=", status, i32(0)), status)


def halide_type(type: Type) -> int:
    """An element type as a ``halide_type_t``: code, bits, and one lane."""
    code = {"int": 0, "uint": 1, "float": 2}[type.code]
    bits = 1 if type.is_bool else type.bits
    return code | bits << 8 | 1 << 16


def _is_short(loop: For) -> bool:
    """Whether LLVM may unroll a loop: memory on the stack then moves to registers."""
    return isinstance(loop.extent, Const) and loop.extent.value <= _SHORT
