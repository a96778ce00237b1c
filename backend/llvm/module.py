"""A module, and one of its functions, under construction.

Every function returns a status: 0 for success.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field, frozen
from llvmlite import ir

from spaces.backend.access import AccessMode
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.walk import messages
from spaces.backend.llvm.accesses import Accesses, HardenedAccesses, emit_outside, types_of
from spaces.backend.llvm.alias import AliasScopes
from spaces.backend.llvm.coordinates import coordinates_of
from spaces.backend.llvm.counters import CounterTable, FunctionCounters, ModuleCounters
from spaces.backend.llvm.expressions import Expressions
from spaces.backend.llvm.insertion_point import InsertionPoint
from spaces.backend.llvm.operators import FloatMode, Operators, llvm_type
from spaces.backend.llvm.runtime.blocks import I1, I32, I64, NULL, POINTER, VOID, Value, i32
from spaces.backend.llvm.runtime.helpers import FUNCTIONS
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.message import Message
from spaces.model.expressions.types import Type

OUT_OF_MEMORY = -1
"""The status of a function that gets no memory for its storage."""

FOREIGN_FAILED = -4
"""The status of a function whose foreign code fails."""

ILL_SIZED = -3
"""The status of a function that is not compiled for the dimensions of a buffer."""


@define
class Module:
    """The parts of a module that its functions share."""

    program: LoopProgram
    float_mode: FloatMode
    access_mode: AccessMode
    module: Any = field(init=False)
    scopes: AliasScopes = field(init=False)
    types: dict[str, Type] = field(init=False)
    coordinates: frozenset[Expr] = field(init=False)
    numbers: dict[str, int] = field(init=False)
    runtime: dict[str, Value] = field(init=False)
    counters: ModuleCounters = field(init=False)
    statuses: dict[Message, int] = field(init=False)
    """For each message, the status of a program that ends with it."""
    _tasks: int = 0

    def __attrs_post_init__(self) -> None:
        self.module = ir.Module(self.program.name)
        self.types = types_of(self.program)
        self.coordinates = coordinates_of(self.program)
        self.numbers = {name: number for number, name in enumerate(self.types)}
        first = len(self.program.size_checks) + 1
        self.statuses = {m: first + i for i, m in enumerate(messages(self.program.body))}
        self.scopes = AliasScopes(self.module, tuple(self.types))
        self.runtime = {
            name: self._declare(f"spaces_{name}", *signature)
            for name, signature in FUNCTIONS.items()
        }
        self.runtime["malloc"].return_value.add_attribute("noalias")
        self.counters = ModuleCounters(CounterTable.of(self.program), self.module)

    def _declare(self, name: str, result: Any, *arguments: Any) -> Value:
        function = ir.Function(self.module, ir.FunctionType(result, arguments), name)
        function.attributes.add("nounwind")
        return function

    def foreign(self, symbol: str, kinds: Sequence[Type | None]) -> Value:
        """The foreign function of this name, which returns 0 if it succeeds. ``kinds`` are the
        types of its scalars, and None for each array.
        """
        known = self.module.globals.get(symbol)
        if known is None:
            given = [POINTER if kind is None else llvm_type(kind) for kind in kinds]
            known = ir.Function(self.module, ir.FunctionType(I32, given), symbol)
            for argument, kind in zip(known.args, kinds, strict=True):
                if kind is not None and not kind.is_float and kind.bits < 32:
                    # C expects narrow integers in whole registers.
                    argument.add_attribute("signext" if kind.is_int else "zeroext")
        return known

    def accesses(self) -> Accesses:
        """The tests of accesses for a new function."""
        hardened = self.access_mode is AccessMode.HARDENED
        return HardenedAccesses(self) if hardened else Accesses()

    def intrinsic(self, name: str, result: Any, *arguments: Any) -> Value:
        """An intrinsic of LLVM, by its full name."""
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def outside(self) -> Value:
        """The function that reports an access outside of the obtained memory."""
        memcpy = self.intrinsic("llvm.memcpy.p0.p0.i64", VOID, POINTER, POINTER, I64, I1)
        return self.module.globals.get("outside") or emit_outside(self.module, memcpy)

    def define(self, name: str, *arguments: Any) -> Value:
        """A new function that returns a status."""
        return self._declare(name, I32, *arguments)

    def task_name(self, variable: Variable) -> str:
        """A fresh name for the body of a parallel loop."""
        self._tasks += 1
        return f"task{self._tasks}.{variable.name}"


@frozen
class FunctionEmitter:
    """One function under construction: entry block, body, and exit."""

    module: Module
    function: Value
    entry: InsertionPoint
    here: InsertionPoint
    accesses: Accesses
    counters: FunctionCounters
    pool: Value = NULL
    """The threads that execute parallel loops."""
    report: Value = NULL
    """Where to report the values of a message, or null."""

    @staticmethod
    def begin(module: Module, function: Value) -> FunctionEmitter:
        """A function whose first block is for values that never vary."""
        first, body = (function.append_basic_block(n) for n in ("entry", "body"))
        accesses = module.accesses()
        # The first block accesses no memory, so it needs no tests.
        entry = FunctionEmitter.insertion_point(module, first, Accesses())
        here = FunctionEmitter.insertion_point(module, body, accesses)
        accesses.begin(entry.builder, here.builder)
        counters = FunctionCounters(module.counters, entry.builder)
        return FunctionEmitter(module, function, entry, here, accesses, counters)

    @staticmethod
    def insertion_point(module: Module, block: Value, accesses: Accesses) -> InsertionPoint:
        """An insertion point at the end of a block."""
        builder = ir.IRBuilder(block)
        operators = Operators(module.module, builder, module.float_mode)
        return InsertionPoint(builder, operators, accesses.memory(builder, module, operators))

    def values(self, variables: dict[str, Value], buffers: dict[str, Value]) -> Expressions:
        """The values of expressions in the body, with these variables and buffers in scope."""
        return Expressions(
            self.here, self.entry, variables, buffers, self.module.types, self.module.coordinates
        )

    def close(self) -> None:
        """Ends the function with success."""
        self.counters.close(self.here.builder)
        self.here.builder.ret(i32(0))
        self.entry.builder.branch(self.function.blocks[1])
