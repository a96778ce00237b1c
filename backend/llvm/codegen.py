"""A lowered program as LLVM IR text.

The module defines ``i32 run_NAME(ptr pool, ptr arguments)``. ``arguments`` are 64-bit words: of
each buffer its address and then min, extent and stride of each dimension, then each scalar (floats
by their bits). It returns 0; or the number, counted from 1, of a requirement that does not hold,
and after these of a message that it stops with; or :data:`OUT_OF_MEMORY`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define, evolve, field, frozen
from llvmlite import ir

from backend.llvm.alias import AliasScopes, LoopHint
from backend.llvm.blocks import I32, I64, POINTER, VOID, Value, i32, i64
from backend.llvm.expressions import Expressions, Place
from backend.llvm.lifetimes import parts_of
from backend.llvm.memory import Memory
from backend.llvm.operators import FloatMode, Operators, llvm_type
from backend.llvm.words import Words, local_bytes
from backend.lowering.sizes import SMALL_BYTES, factors
from backend.lowering.statements import messages, walk_statements
from backend.program import (
    Allocate,
    Block,
    For,
    If,
    LoopProgram,
    ParallelFor,
    Prefetch,
    Statement,
    Stop,
    Store,
    Together,
)
from spaces.model.expressions.expr import Const, Expr, Variable
from spaces.model.expressions.message import Message
from spaces.model.expressions.types import Float64, Int32, Type
from spaces.model.schedules.schedule import Memory as MemoryKind

OUT_OF_MEMORY = -1

_NULL = ir.Constant(POINTER, None)

_SHORT = 16
"""Iterations of a loop that is written out where its body is small, though no schedule says so."""


def identifier(name: str) -> str:
    """A name of a pipeline, buffer or scalar as C can write it."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def entry_name(pipeline: str) -> str:
    """Name of the function that the module of a pipeline exports."""
    return f"run_{identifier(pipeline)}"


_STACK_BYTES = 256 << 10
"""A function's scratch on the stack stays below this; a thread may have 2 MiB of stack, and be
inside several functions."""


def told_words(program: LoopProgram) -> int:
    """How many words the values of its messages take with the status before them; 0 for none."""
    most = max((len(m.types) for m in messages(program.body)), default=0)
    return most + 1 if most else 0


def llvm_module(program: LoopProgram, float_mode: FloatMode = FloatMode.STRICT) -> str:
    """The IR of a program that has passed all lowering passes."""
    module = _Module(program, float_mode)
    module.entry()
    return f"{module.module}\n{LoopHint.text()}"


@define
class _Module:
    """What the functions of one module share."""

    program: LoopProgram
    float_mode: FloatMode
    module: Any = field(init=False)
    scopes: AliasScopes = field(init=False)
    types: dict[str, Type] = field(init=False)
    runtime: dict[str, Value] = field(init=False)
    statuses: dict[Message, int] = field(init=False)
    """What is returned where the program stops, by message."""
    _tasks: int = 0

    def __attrs_post_init__(self) -> None:
        self.module = ir.Module(self.program.name)
        parameters = {b.name: b.type for b in self.program.buffers}
        scratch = {
            s.buffer: s.type for s in walk_statements(self.program.body) if isinstance(s, Allocate)
        }
        self.types = {**parameters, **scratch}
        first = len(self.program.requirements) + 1
        self.statuses = {m: first + i for i, m in enumerate(messages(self.program.body))}
        self.scopes = AliasScopes(self.module, tuple(self.types))
        self.runtime = {
            "par_for": self._declare("spaces_par_for", I32, POINTER, POINTER, I32, I32, POINTER),
            "malloc": self._declare("spaces_malloc", POINTER, I64),
            "free": self._declare("spaces_free", VOID, POINTER),
        }
        self.runtime["malloc"].return_value.add_attribute("noalias")

    def _declare(self, name: str, result: Any, *arguments: Any) -> Value:
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        function.attributes.add("nounwind")
        return function

    def define(self, name: str, *arguments: Any) -> Value:
        """A new function that returns a status."""
        function = ir.Function(self.module, ir.FunctionType(I32, arguments), name)
        function.attributes.add("nounwind")
        return function

    def task_name(self, variable: Variable) -> str:
        """A fresh name for the body of a parallel loop."""
        self._tasks += 1
        return f"task{self._tasks}.{variable.name}"

    def entry(self) -> None:
        """The function that callers call."""
        function = self.define(entry_name(self.program.name), POINTER, POINTER)
        frame = _Frame.begin(self, function, function.args[0])
        words = Words(frame.entry.builder, function.args[1])
        buffers: dict[str, Value] = {}
        variables: dict[str, Value] = {}
        for buffer in self.program.buffers:
            buffers[buffer.name] = words.pointer()
            for d in range(buffer.dimensions):
                for part in ("min", "extent", "stride"):
                    variables[f"{buffer.name}.{part}.{d}"] = words.scalar(Int32)
        for parameter in self.program.scalars:
            variables[parameter.name] = words.scalar(parameter.type)
        if told_words(self.program):
            frame = evolve(frame, told=words.pointer())
        statements = frame.open(variables, buffers)
        statements.requirements(self.program)
        statements.statement(self.program.body)
        frame.close()


@frozen
class _Frame:
    """One function under construction: entry block, body, and the way out."""

    module: _Module
    function: Value
    pool: Value
    entry: Place
    here: Place
    told: Value = _NULL
    """Where the values of messages are wanted, or null."""

    @staticmethod
    def begin(module: _Module, function: Value, pool: Value) -> _Frame:
        """A function whose first block is for what never varies."""
        first, body = (function.append_basic_block(n) for n in ("entry", "body"))
        return _Frame(
            module, function, pool, _Frame.place(module, first), _Frame.place(module, body)
        )

    @staticmethod
    def place(module: _Module, block: Value) -> Place:
        """The end of a block."""
        builder = ir.IRBuilder(block)
        operators = Operators(module.module, builder, module.float_mode)
        return Place(builder, operators, Memory(builder, module.scopes, operators))

    def open(self, variables: dict[str, Value], buffers: dict[str, Value]) -> _Statements:
        """Begin the body, with these variables and buffers in scope."""
        values = Expressions(self.here, self.entry, variables, buffers, self.module.types)
        return _Statements(self, values)

    def close(self) -> None:
        """End the function with success."""
        self.here.builder.ret(i32(0))
        self.entry.builder.branch(self.function.blocks[1])


@define
class _Statements:
    """Emits statements into one function."""

    frame: _Frame
    values: Expressions
    _owned: list[Value] = field(factory=list)
    """The heap blocks that are in use."""
    _exits: dict[tuple[Value, ...], Value] = field(factory=dict)
    """Blocks to jump to in order to leave the function, by what they free."""
    _status: Value = None
    _stack_bytes: int = 0

    @property
    def _build(self) -> Any:
        return self.frame.here.builder

    def requirements(self, program: LoopProgram) -> None:
        """Return the number of the first requirement that does not hold."""
        for number, requirement in enumerate(program.requirements, start=1):
            holds = self.values.condition(requirement.condition)
            self._leave_if(self._build.not_(holds), i32(number))

    def statement(self, statement: Statement) -> None:
        """Emit one statement. What is read stays known while stores follow one another."""
        match statement:
            case Block(body=body):
                for part in body:
                    self.statement(part)
            case Store():
                self.values.ready(statement)()
                self.values.forget(statement.buffer)
            case Together(body=parts):
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
        """Emit a statement that is no store."""
        match statement:
            case Stop(message=message):
                status = self.frame.module.statuses[message]
                if message.types:
                    self._tell(status, statement.values)
                self._leave_if(ir.Constant(ir.IntType(1), 1), i32(status))
            case Prefetch():
                self.values.prefetch(statement.buffer, statement.at[0])
            case For():
                self._loop(statement)
            case If():
                self._if(statement)
            case Allocate():
                self._allocate(statement)
            case ParallelFor():
                self._parallel(statement)
            case _:
                raise TypeError(f"a {type(statement).__name__} is no statement of CPU code")

    def _tell(self, status: int, values: tuple[Expr, ...]) -> None:
        """Leave the status and the values of a message where they are wanted, unless another thread
        has left its own.
        """
        build, told, function = self._build, self.frame.told, self.frame.function
        words = [self._word(value) for value in values]
        ask, tell, after = (function.append_basic_block(n) for n in ("ask", "tell", "told"))
        build.cbranch(build.icmp_unsigned("!=", told, _NULL), ask, after)
        build.position_at_end(ask)
        pair = build.cmpxchg(told, i64(0), i64(status), "monotonic", "monotonic")
        build.cbranch(build.extract_value(pair, 1), tell, after)
        build.position_at_end(tell)
        for number, word in enumerate(words, start=1):
            build.store(word, build.gep(told, [i64(number)], source_etype=I64), align=8)
        build.branch(after)
        build.position_at_end(after)

    def _word(self, expr: Expr) -> Value:
        """A scalar value in 64 bits: a sign or zero in front, of floats the bits of a double."""
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
        """What is emitted now goes into a block of its own that ends by jumping to ``after``."""
        self._build.position_at_end(self.frame.function.append_basic_block(name))
        with self.values.scope():
            yield
        self._build.branch(after)

    def _if(self, node: If) -> None:
        condition = self.values.condition(node.condition)
        start, function = self._build.block, self.frame.function
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
        function, build = self.frame.function, self._build
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
        with self.values.scope(), self._bound(loop.var.name, index):
            self.statement(loop.body)
        following = build.add(index, i64(1), flags=["nsw"])
        index.add_incoming(following, build.block)
        jump = build.cbranch(build.icmp_signed("<", following, last), body, after)
        if not _is_short(loop):
            jump.set_metadata("llvm.loop", LoopHint())
        build.position_at_end(after)

    @contextmanager
    def _bound(self, name: str, value: Value) -> Iterator[None]:
        """A variable in scope."""
        shadowed = self.values.variables.get(name)
        self.values.variables[name] = value
        yield
        if shadowed is None:
            del self.values.variables[name]
        else:
            self.values.variables[name] = shadowed

    def _allocate(self, node: Allocate) -> None:
        for part in parts_of(node):
            for storage in part.begins:
                self.values.buffers[storage.buffer] = self._storage(storage)
            self.statement(part.statement)
            for storage in part.ends:
                block = self.values.buffers.pop(storage.buffer)
                if block in self._owned and not storage.within:
                    self._owned.remove(block)
                    self._build.call(self.frame.module.runtime["free"], [block])

    def _storage(self, node: Allocate) -> Value:
        """Where the values of a Func lie from now on."""
        if node.within:
            return self.values.buffers[node.within]
        elements = node.elements
        size = int(elements.value) * node.type.bytes if isinstance(elements, Const) else None
        if size is not None and self._fits_stack(node, size):
            self._stack_bytes += size
            return local_bytes(self.frame.entry.builder, max(size, 1))
        build = self._build
        block = build.call(self.frame.module.runtime["malloc"], [self._bytes(node)])
        null = build.icmp_unsigned("==", block, ir.Constant(POINTER, None))
        self._leave_if(null, i32(OUT_OF_MEMORY))
        self._owned.append(block)
        return block

    def _fits_stack(self, node: Allocate, size: int) -> bool:
        """Whether scratch of ``size`` bytes goes on the stack: it was asked for, or is small."""
        most = {MemoryKind.AUTO: SMALL_BYTES, MemoryKind.HEAP: -1}.get(node.memory, _STACK_BYTES)
        return size <= most and self._stack_bytes + size <= _STACK_BYTES

    def _bytes(self, node: Allocate) -> Value:
        """The size of an allocation, or more than there can be where it overflows."""
        build = self._build
        total, beyond = i64(node.type.bytes), ir.Constant(ir.IntType(1), 0)
        for factor in factors(node.elements):
            count = self.values.index(factor)
            count = build.select(build.icmp_signed(">", count, i64(0)), count, i64(0))
            pair = build.smul_with_overflow(total, count)
            total = build.extract_value(pair, 0)
            beyond = build.or_(beyond, build.extract_value(pair, 1))
        return build.select(beyond, i64(2**63 - 1), total)

    def _leave_if(self, condition: Value, status: Value) -> None:
        """Free what is owned and return ``status`` where the condition holds."""
        function, build = self.frame.function, self._build
        if not self._exits:
            self._status = local_bytes(self.frame.entry.builder, 4)
        leave = function.append_basic_block("leave")
        stay = function.append_basic_block("stay")
        build.cbranch(condition, leave, stay)
        build.position_at_end(leave)
        build.store(status, self._status, align=4)
        build.branch(self._exit(tuple(self._owned)))
        build.position_at_end(stay)

    def _exit(self, owned: tuple[Value, ...]) -> Value:
        """A block that frees all that is ``owned`` and returns the status."""
        if owned not in self._exits:
            block = self._exits[owned] = self.frame.function.append_basic_block("exit")
            build = ir.IRBuilder(block)
            if owned:
                build.call(self.frame.module.runtime["free"], [owned[-1]])
                build.branch(self._exit(owned[:-1]))
            else:
                build.ret(build.load(self._status, typ=I32, align=4))
        return self._exits[owned]

    def _parallel(self, loop: ParallelFor) -> None:
        closure = _Closure(loop)
        module, build = self.frame.module, self._build
        task = closure.function(module, lambda inner: inner.statement(loop.body))
        packed = closure.pack(self.frame, self.values)
        low, extent = (build.trunc(self.values.index(e), I32) for e in (loop.min, loop.extent))
        arguments = [self.frame.pool, task, low, extent, packed]
        status = build.call(module.runtime["par_for"], arguments)
        self._leave_if(build.icmp_signed("!=", status, i32(0)), status)


def _is_short(loop: For) -> bool:
    """Whether LLVM may write a loop out: what lies on the stack then moves to registers."""
    return isinstance(loop.extent, Const) and loop.extent.value <= _SHORT


@frozen
class _Closure:
    """What the body of a parallel loop is given: the pool, its buffers and its variables, a word
    each.
    """

    loop: ParallelFor

    @property
    def _types(self) -> list[Any]:
        wide = [I64 if v.type == Int32 else llvm_type(v.type) for v in self.loop.variables]
        return [POINTER] * (2 + len(self.loop.buffers)) + wide

    def pack(self, frame: _Frame, values: Expressions) -> Value:
        """Store it on the stack of the caller."""
        closure = local_bytes(frame.entry.builder, 8 * len(self._types))
        held = [
            frame.pool,
            frame.told,
            *(values.buffers[b] for b in self.loop.buffers),
            *(values.variables[v.name] for v in self.loop.variables),
        ]
        for number, value in enumerate(held):
            frame.here.builder.store(
                value, self._slot(frame.here.builder, closure, number), align=8
            )
        return closure

    @staticmethod
    def _slot(builder: Any, closure: Value, number: int) -> Value:
        return builder.gep(closure, [i64(number)], source_etype=I64)

    def function(self, module: _Module, body: Callable[[_Statements], None]) -> Value:
        """The function ``i32 task(closure, index)``."""
        task = module.define(module.task_name(self.loop.var), POINTER, I32)
        task.linkage = "internal"
        first, inside = (task.append_basic_block(n) for n in ("entry", "body"))
        entry, here = _Frame.place(module, first), _Frame.place(module, inside)
        held = [
            entry.builder.load(self._slot(entry.builder, task.args[0], n), typ=kind, align=8)
            for n, kind in enumerate(self._types)
        ]
        count = len(self.loop.buffers)
        buffers = dict(zip(self.loop.buffers, held[2:], strict=False))
        names = [v.name for v in self.loop.variables]
        variables = dict(zip(names, held[2 + count :], strict=True))
        variables[self.loop.var.name] = entry.builder.sext(task.args[1], I64)
        frame = _Frame(module, task, held[0], entry, here, held[1])
        body(frame.open(variables, buffers))
        frame.close()
        return task
