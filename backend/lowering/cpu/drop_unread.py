"""Leave out what nothing reads: the arrays of a Tuple that no Func needs, and their stores."""

from __future__ import annotations

from attrs import evolve

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import (
    EMPTY,
    Allocate,
    For,
    If,
    Prefetch,
    Provide,
    Statement,
    Store,
    TupleAssignment,
    block,
)
from spaces.backend.ir.walk import buffers_read, buffers_written
from spaces.backend.lowering.passes import named
from spaces.model.recursion import deeper


@named("drop_unread")
def drop_unread(program: LoopProgram) -> LoopProgram:
    """Removes the arrays that reach no output, with the statements that compute them. An array
    reaches what is computed from it, and the conditions, bounds and sizes that read it.
    """
    unneeded = _unneeded(program.body)
    return evolve(program, body=_without(unneeded, program.body)) if unneeded else program


def _unneeded(body: Statement) -> frozenset[str]:
    """The allocated arrays that reach nothing else."""
    allocated = {s.buffer for s in walk_nodes(body) if isinstance(s, Allocate)}
    sources: dict[str, set[str]] = {}
    reached: list[str] = []
    for statement in walk_nodes(body):
        written, read = buffers_written(statement), buffers_read(statement)
        if isinstance(statement, Allocate) and statement.within:
            sources.setdefault(statement.buffer, set()).add(statement.within)
        for name in written:
            sources.setdefault(name, set()).update(read)
        if not (written or isinstance(statement, Prefetch)):
            reached += read
    reached += [name for name in sources if name not in allocated]
    needed: set[str] = set()
    while reached:
        name = reached.pop()
        if name not in needed:
            needed.add(name)
            reached += sources.get(name, ())
    return frozenset(allocated - needed)


def _without(names: frozenset[str], statement: Statement) -> Statement:
    """The statement without these arrays, and without loops and conditions that did only that."""
    match statement:
        case Allocate(buffer=name, body=body) if name in names:
            return deeper(lambda inner: _without(names, inner), body)
        case Store() | Provide() if names.issuperset(buffers_written(statement)):
            return EMPTY
        case Prefetch(buffer=name):
            return EMPTY if name in names else statement
        case TupleAssignment(body=body):
            kept = tuple(s for s in body if not names.issuperset(buffers_written(s)))
            return TupleAssignment(kept) if len(kept) > 1 else block(*kept)
    inside = map_children(statement, lambda inner: _without(names, inner))
    match inside:
        case For(body=body) if body == EMPTY:
            return EMPTY
        case If(body=body, otherwise=None) if body == EMPTY:
            return EMPTY
    return inside
