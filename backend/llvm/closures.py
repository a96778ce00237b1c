"""Parts of a function as functions of their own, which get what they use from outside.

The body of a parallel loop is one, because threads call it. The loop nests of a long function are
others (:data:`LONG`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, For, ParallelFor, Statement
from spaces.backend.ir.walk import free_buffers, free_variables
from spaces.backend.llvm.accesses import Accesses
from spaces.backend.llvm.expressions import Expressions
from spaces.backend.llvm.module import FunctionEmitter
from spaces.backend.llvm.operators import llvm_type
from spaces.backend.llvm.runtime.blocks import I64, POINTER, Value
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Int32

LONG = 128
"""A function with more loops is long. For each loop LLVM looks through the conditions of all loops
before it in the same function, so the time to compile one grows with the square of their number.
"""


def loops_in(statement: Statement) -> int:
    """The number of loops that a function with this statement gets: those in the bodies of parallel
    loops are in other functions.
    """
    found, rest = 0, [statement]
    while rest:
        one = rest.pop()
        if not isinstance(one, ParallelFor):
            found += isinstance(one, For)
            rest += one.children
    return found


@frozen
class Closure:
    """The arguments of a part of a function: the pool, the report, its buffers and its variables,
    one word each.

    Attributes:
        buffers: those that it uses from outside.
        variables: the same for variables.
    """

    buffers: tuple[str, ...]
    variables: tuple[Variable, ...]

    @staticmethod
    def of(part: Statement) -> Closure:
        """The arguments of a statement."""
        storage = [s for s in walk_nodes(part) if isinstance(s, Allocate)]
        own = {one.buffer for one in storage}
        around = (one.within for one in storage if one.within and one.within not in own)
        buffers = dict.fromkeys((*free_buffers(part), *around))
        return Closure(tuple(buffers), free_variables(part))

    def kinds(self, accesses: Accesses) -> list[Any]:
        """The types of the arguments."""
        wide = [I64 if v.type == Int32 else llvm_type(v.type) for v in self.variables]
        return [POINTER] * (2 + accesses.words_passed * len(self.buffers)) + wide

    def held(self, emitter: FunctionEmitter, values: Expressions) -> list[Value]:
        """The arguments, in the function that calls."""
        return [
            emitter.pool,
            emitter.report,
            *(values.buffers[b] for b in self.buffers),
            *emitter.accesses.passed(self.buffers),
            *(values.variables[v.name] for v in self.variables),
        ]

    def received(
        self,
        emitter: FunctionEmitter,
        held: Sequence[Value],
        more: Mapping[str, Value] = MappingProxyType({}),
    ) -> tuple[FunctionEmitter, Expressions]:
        """The called function with its arguments, and more variables, in scope."""
        pool, report, *given = held
        count, names = len(self.buffers), [v.name for v in self.variables]
        behind = len(given) - len(names)
        buffers = dict(zip(self.buffers, given, strict=False))
        variables = dict(zip(names, given[behind:], strict=True))
        emitter.accesses.received(self.buffers, given[count:behind])
        emitter = evolve(emitter, pool=pool, report=report)
        return emitter, emitter.values({**variables, **more}, buffers)
