"""Barriers between what the threads of a block write and what they read of one another.

A kernel's body is a sequence of *parts*: perfect nests of thread loops, and code outside thread
loops. All of a block's threads pass from part to part together, so a barrier between two parts is
reached by all of them. One is needed where a part reads what was written since the last barrier, or
writes what was read or written since; around a loop the accesses of one iteration stand before the
next. Only a part that comes round again need not wait for its own writes: what two of its rounds
both write, the same thread writes, or the same value.
"""

from __future__ import annotations

from attrs import evolve, frozen

from backend.lowering.gpu_loops import GPU_KINDS, has_threads
from backend.lowering.gpu_memory import PRIVATE
from backend.lowering.statements import (
    block,
    buffers_read,
    buffers_written,
    map_bodies,
    walk_statements,
)
from backend.program import Allocate, Barrier, Block, For, If, LoopProgram, Statement
from spaces.model.schedule import LoopKind


@frozen
class _Accesses:
    """Buffers that some thread has read since the last barrier, and those that it has written, each
    with the part that did.
    """

    read: frozenset[str] = frozenset()
    written: frozenset[tuple[str, int]] = frozenset()

    def __or__(self, other: _Accesses) -> _Accesses:
        return _Accesses(self.read | other.read, self.written | other.written)

    def conflict(self, later: _Accesses) -> bool:
        """Whether ``later`` must wait until these are done."""
        return any(
            buffer in later.read or any(buffer == b and part != p for b, p in later.written)
            for buffer, part in self.written
        ) or any(buffer in self.read for buffer, _ in later.written)


def insert_barriers(program: LoopProgram) -> LoopProgram:
    """``program``, flattened, with the barriers that its kernels need."""
    return evolve(program, body=_outside(program.body))


def _outside(statement: Statement) -> Statement:
    if isinstance(statement, For) and statement.kind in GPU_KINDS:
        return _Inserter(_shared(statement)).visit(statement, _Accesses())[0]
    return map_bodies(statement, _outside)


def _shared(kernel: Statement) -> frozenset[str]:
    """The buffers that a kernel writes and that are not one thread's own."""
    inside = tuple(walk_statements(kernel))
    private = {s.buffer for s in inside if isinstance(s, Allocate) and s.memory in PRIVATE}
    return frozenset(name for s in inside for name in buffers_written(s)) - private


@frozen
class _Inserter:
    """Inserts barriers into one kernel; ``shared`` are the buffers that they are about."""

    shared: frozenset[str]

    def visit(self, statement: Statement, before: _Accesses) -> tuple[Statement, _Accesses]:
        """The statement with its barriers, and what was accessed since the last of them."""
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
        inside = tuple(walk_statements(part))
        read = frozenset(name for s in inside for name in buffers_read(s))
        written = frozenset(name for s in inside for name in buffers_written(s))
        return _Accesses(
            read & self.shared, frozenset((name, id(part)) for name in written & self.shared)
        )

    def _loop(self, loop: For, before: _Accesses) -> tuple[Statement, _Accesses]:
        bounds = _Accesses(read=frozenset(buffers_read(loop)) & self.shared)
        if not before.conflict(bounds):
            together, after = self._rounds(loop, before | bounds)
            apart, own = self._rounds(loop, bounds)
            if _barriers(together) == _barriers(apart):
                return together, after
        else:
            apart, own = self._rounds(loop, bounds)
        # One barrier in front of the loop saves one in each round.
        return block(Barrier(), apart), own

    def _rounds(self, loop: For, entry: _Accesses) -> tuple[Statement, _Accesses]:
        """The loop with its barriers, where ``entry`` was accessed before its first round."""
        while True:
            body, after = self.visit(loop.body, entry)
            if entry | after == entry:
                return evolve(loop, body=body), entry
            entry |= after


def _barriers(statement: Statement) -> int:
    return sum(isinstance(s, Barrier) for s in walk_statements(statement))


def _is_part(statement: Statement) -> bool:
    """Whether threads need not meet inside: it is one nest of thread loops, or has none."""
    is_nest = isinstance(statement, For) and statement.kind is LoopKind.GPU_THREAD
    return is_nest or not has_threads(statement)
