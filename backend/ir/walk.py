"""Walks over the statements of a loop program."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    For,
    ParallelFor,
    Provide,
    Statement,
    Store,
)
from spaces.backend.ir.vectors import Load, MaskedLoad
from spaces.model.expressions.expr import Call, Expr, Variable, walk
from spaces.model.expressions.message import Message
from spaces.model.expressions.rewrite import Substitution


def map_own(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with ``change`` applied to its own expressions, not to those of statements
    inside it.
    """
    own = statement.expressions
    changed = tuple([change(expr) for expr in own])
    return statement if all(map(is_, own, changed)) else statement.with_expressions(changed)


def map_all(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with ``change`` applied to every expression in it and in the statements inside
    it.
    """
    return map_children(map_own(statement, change), lambda s: map_all(s, change))


def bind(statement: Statement, var: Variable, value: Expr) -> Statement:
    """The statement with ``value`` in place of ``var`` everywhere."""
    return map_all(statement, Substitution({var.name: value}))


def messages(statement: Statement) -> tuple[Message, ...]:
    """The messages of its assertions, in order."""
    found = (s.message for s in walk_nodes(statement) if isinstance(s, Assert))
    return tuple(dict.fromkeys(found))


def free_variables(statement: Statement) -> tuple[Variable, ...]:
    """The variables that a statement uses, but not those of loops inside it, in order of first
    use.
    """
    bound = {s.var.name for s in walk_nodes(statement) if isinstance(s, For | ParallelFor)}
    roots = [e for inner in walk_nodes(statement) for e in inner.expressions]
    found = {
        node.name: node
        for node in walk(*roots)
        if isinstance(node, Variable) and node.name not in bound
    }
    return tuple(found.values())


def free_buffers(statement: Statement) -> tuple[str, ...]:
    """The buffers that a statement uses but does not allocate, in order of first use."""
    own = {s.buffer for s in walk_nodes(statement) if isinstance(s, Allocate)}
    used: dict[str, None] = {}
    seen: set[Expr] = set()
    for inner in walk_nodes(statement):
        used |= dict.fromkeys((*_buffers_read(inner, seen), *buffers_written(inner)))
    return tuple(name for name in used if name not in own)


def buffers_read(statement: Statement) -> tuple[str, ...]:
    """The buffers, Funcs and images that the statement itself reads."""
    return _buffers_read(statement, set())


def _buffers_read(statement: Statement, seen: set[Expr]) -> tuple[str, ...]:
    """The buffers that the statement reads, but not in the expressions ``seen`` before."""
    found: dict[str, None] = {}
    stack = [*reversed(statement.expressions)]
    while stack:
        node = stack.pop()
        if not node.loads or node in seen:
            continue
        seen.add(node)
        if isinstance(node, Load | MaskedLoad):
            found[node.buffer] = None
        elif isinstance(node, Call):
            found[node.target] = None
        stack += reversed(node.children)
    return tuple(found | dict.fromkeys(statement.in_place))


def buffers_written(statement: Statement) -> tuple[str, ...]:
    """The buffer or Func that the statement itself writes, if it does."""
    match statement:
        case Store(buffer=name) | Provide(func=name):
            return (name,)
    return ()
