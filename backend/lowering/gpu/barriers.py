"""Barriers between writes and reads of different threads in a block.

A kernel's body is a sequence of *parts*: perfect nests of thread loops, and code outside thread
loops. All threads of a block go from part to part together, so all of them reach a barrier between
two parts. A part needs a barrier before it if it reads what was written since the last barrier, or
writes what was read or written since then. In a loop, the accesses of one iteration come before the
next iteration.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Allocate, Barrier, Block, For, If, Statement, Store, block
from spaces.backend.ir.vectors import Load
from spaces.backend.ir.walk import buffers_read, buffers_written
from spaces.backend.lowering.gpu.loops import has_threads
from spaces.backend.lowering.gpu.memory import PRIVATE
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Expr, walk
from spaces.model.schedules.domain_order import LoopKind

_Access: TypeAlias = tuple[str, int]
"""A buffer, and the threads that access it: a thread need not wait for its own access."""


@frozen
class _Accesses:
    """Reads and writes since the last barrier."""

    read: frozenset[_Access] = frozenset()
    written: frozenset[_Access] = frozenset()

    def __or__(self, other: _Accesses) -> _Accesses:
        return _Accesses(self.read | other.read, self.written | other.written)

    def conflict(self, later: _Accesses) -> bool:
        """Whether ``later`` accesses must wait until these accesses are done."""
        return _meet(self.written, later.read | later.written) or _meet(self.read, later.written)


def _meet(earlier: frozenset[_Access], later: frozenset[_Access]) -> bool:
    return any(a == b and who != other for a, who in earlier for b, other in later)


@named("barriers")
def insert_barriers(program: LoopProgram) -> LoopProgram:
    """``program``, flattened, with the barriers that its kernels need."""
    return evolve(program, body=_outside(program.body))


def _outside(statement: Statement) -> Statement:
    if isinstance(statement, For) and statement.kind.is_gpu:
        return _Inserter(_shared(statement)).visit(statement, _Accesses())[0]
    return map_children(statement, _outside)


def _shared(kernel: Statement) -> frozenset[str]:
    """The buffers that a kernel writes and that several threads may access."""
    inside = tuple(walk_nodes(kernel))
    private = {s.buffer for s in inside if isinstance(s, Allocate) and s.memory in PRIVATE}
    return frozenset(name for s in inside for name in buffers_written(s)) - private


@frozen
class _Inserter:
    """Inserts barriers into one kernel, for accesses of the ``shared`` buffers."""

    shared: frozenset[str]

    def visit(self, statement: Statement, before: _Accesses) -> tuple[Statement, _Accesses]:
        """The statement with its barriers, and the accesses since the last barrier."""
        if _is_part(statement):
            return self._part(statement, before)
        match statement:
            case Block(body=body):
                done = []
                for inner in body:
                    changed, before = self.visit(inner, before)
                    done.append(changed)
                return block(*done), before
            case For(kind=LoopKind.SERIAL | LoopKind.UNROLLED):
                return self._loop(statement, before)
            case For() | Allocate():
                inner, after = self.visit(statement.body, before)
                return evolve(statement, body=inner), after
            case If():
                inner, after = self.visit(statement.body, before)
                return evolve(statement, body=inner), before | after
        raise TypeError(f"{type(statement).__name__} is not a statement of a kernel.")

    def _part(self, part: Statement, before: _Accesses) -> tuple[Statement, _Accesses]:
        accesses = self._accesses(part)
        if before.conflict(accesses):
            return block(Barrier(), part), accesses
        return part, before | accesses

    def _accesses(self, part: Statement) -> _Accesses:
        """The accesses of a part.

        Two rounds of one part do not wait for each other's writes: either the same thread writes an
        element in both rounds, or both write the same value. If the part reads only the element of
        a buffer that it writes (an update in place), they do not wait for reads either.
        """
        inside = tuple(walk_nodes(part))
        places = _places(inside)
        written = {(s.buffer, id(part)) for s in inside if isinstance(s, Store)}
        read = {
            (name, id(part) if len(places[name]) == 1 else -id(part))
            for s in inside
            for name in buffers_read(s)
            if name in places  # no load and no store names it: no value to wait for
        }
        return _Accesses(self._about(read), self._about(written))

    def _about(self, accesses: Iterable[_Access]) -> frozenset[_Access]:
        return frozenset(access for access in accesses if access[0] in self.shared)

    def _loop(self, loop: For, before: _Accesses) -> tuple[Statement, _Accesses]:
        bounds = _Accesses(read=self._about((name, -id(loop)) for name in buffers_read(loop)))
        if not before.conflict(bounds):
            together, after = self._rounds(loop, before | bounds)
            apart, own = self._rounds(loop, bounds)
            if _barriers(together) == _barriers(apart):
                return together, after
        else:
            apart, own = self._rounds(loop, bounds)
        # One barrier before the loop saves one barrier in each iteration.
        return block(Barrier(), apart), own

    def _rounds(self, loop: For, entry: _Accesses) -> tuple[Statement, _Accesses]:
        """The loop with its barriers; ``entry`` are the accesses before its first iteration."""
        while True:
            body, after = self.visit(loop.body, entry)
            if entry | after == entry:
                return evolve(loop, body=body), entry
            entry |= after


def _places(inside: tuple[Statement, ...]) -> dict[str, set[Expr]]:
    """The index expressions of each buffer's accesses."""
    places: dict[str, set[Expr]] = {}
    for statement in inside:
        if isinstance(statement, Store):
            places.setdefault(statement.buffer, set()).add(statement.index)
        for node in walk(*statement.expressions):
            if isinstance(node, Load):
                places.setdefault(node.buffer, set()).add(node.index)
    return places


def _barriers(statement: Statement) -> int:
    return sum(isinstance(s, Barrier) for s in walk_nodes(statement))


def _is_part(statement: Statement) -> bool:
    """Whether threads need not meet inside: it is one nest of thread loops, or has no thread
    loop.
    """
    is_nest = isinstance(statement, For) and statement.kind is LoopKind.GPU_THREAD
    return is_nest or not has_threads(statement)
