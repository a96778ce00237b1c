"""Lifetimes of storage: memory that is freed early serves the next allocation.

The allocations of many Funcs nest around all of their statements. But each buffer is in use only
from the statement that computes it to the last statement that reads it. A chain of images needs
memory for two of them.
"""

from __future__ import annotations

from attrs import frozen

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, Block, Statement
from spaces.backend.ir.walk import free_buffers


@frozen
class StatementLifetimes:
    """A statement, with the storage whose use begins here and the storage whose use ends here."""

    begins: tuple[Allocate, ...]
    statement: Statement
    ends: tuple[Allocate, ...]


def parts_of(node: Allocate) -> list[StatementLifetimes]:
    """The statements inside an allocation and the allocations directly in it, in order. Leaves out
    storage that nothing uses.
    """
    storage: list[Allocate] = []
    body: Statement = node
    while isinstance(body, Allocate):
        storage.append(body)
        body = body.body
    if len(storage) == 1:
        return [StatementLifetimes((node,), body, (node,))]  # no other storage could share it
    statements = body.body if isinstance(body, Block) else (body,)
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    memory = {a.buffer: a.within for a in storage if a.within}
    for number, statement in enumerate(statements):
        for name in _used(statement):
            for buffer in (name, memory.get(name, name)):
                first.setdefault(buffer, number)
                last[buffer] = number
    return [
        StatementLifetimes(
            tuple(a for a in storage if first.get(a.buffer) == number),
            statement,
            tuple(a for a in reversed(storage) if last.get(a.buffer) == number),
        )
        for number, statement in enumerate(statements)
    ]


def _used(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement reads or writes, and the memory that storage in it lies in."""
    inner = (s.within for s in walk_nodes(statement) if isinstance(s, Allocate) and s.within)
    return (*free_buffers(statement), *inner)
