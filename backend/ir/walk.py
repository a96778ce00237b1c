"""Walks over the statements of a loop program."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from backend.ir.statements import (
    Allocate,
    Barrier,
    Block,
    Dimension,
    For,
    If,
    ParallelFor,
    Prefetch,
    Provide,
    Statement,
    Stop,
    Store,
    Together,
    block,
)
from backend.ir.vectors import Load, MaskedLoad
from spaces.model.expressions.expr import Call, Expr, Variable, walk
from spaces.model.expressions.message import Message
from spaces.model.expressions.rewrite import Substitution


def map_bodies(statement: Statement, change: Callable[[Statement], Statement]) -> Statement:
    """The statement with the statements directly inside it replaced."""
    match statement:
        case Block(body=body):
            return block(*(change(s) for s in body))
        case Together(body=parts):
            return Together(tuple(_assignment(change(p)) for p in parts))
        case If(otherwise=otherwise):
            rest = None if otherwise is None else change(otherwise)
            return If(statement.condition, change(statement.body), rest)
        case For() | ParallelFor() | Allocate():
            inside = change(statement.body)
            return statement if inside is statement.body else evolve(statement, body=inside)
        case Provide() | Store() | Barrier() | Prefetch() | Stop():
            return statement


def _assignment(statement: Statement) -> Provide | Store:
    """A part of :class:`Together` after a change that leaves it one."""
    assert isinstance(statement, Provide | Store)
    return statement


def map_own(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with its own expressions replaced, not those of statements inside it."""
    match statement:
        case For() | ParallelFor():
            low, extent = change(statement.min), change(statement.extent)
            if low is statement.min and extent is statement.extent:
                return statement
            return evolve(statement, min=low, extent=extent)
        case Allocate():
            return evolve(
                statement,
                sizes=tuple(change(e) for e in statement.sizes),
                mins=tuple(change(e) for e in statement.mins),
                extents=tuple(change(e) for e in statement.extents),
                folds=tuple(None if e is None else change(e) for e in statement.folds),
                dimensions=tuple(_changed(d, change) for d in statement.dimensions),
            )
        case Provide():
            args = tuple(change(a) for a in statement.args)
            return evolve(statement, args=args, value=change(statement.value))
        case Store():
            mask = None if statement.mask is None else change(statement.mask)
            index, value = change(statement.index), change(statement.value)
            if index is statement.index and value is statement.value and mask is statement.mask:
                return statement
            return evolve(statement, index=index, value=value, mask=mask)
        case If():
            return evolve(statement, condition=change(statement.condition))
        case Prefetch():
            return Prefetch(statement.buffer, tuple(change(e) for e in statement.at))
        case Stop():
            return Stop(statement.message, tuple(change(e) for e in statement.values))
        case Block() | Together() | Barrier():
            return statement


def _changed(dimension: Dimension, change: Callable[[Expr], Expr]) -> Dimension:
    return Dimension(change(dimension.min), change(dimension.extent), change(dimension.stride))


def map_all(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    """The statement with every expression in it and in the statements inside it replaced."""
    return map_bodies(map_own(statement, change), lambda s: map_all(s, change))


def bind(statement: Statement, var: Variable, value: Expr) -> Statement:
    """The statement with a variable replaced everywhere."""
    return map_all(statement, Substitution({var.name: value}))


def walk_statements(statement: Statement) -> Iterator[Statement]:
    """The statement and all inside it, parents first."""
    yield statement
    match statement:
        case Block() | Together():
            for inner in statement.body:
                yield from walk_statements(inner)
        case For(body=inside) | ParallelFor(body=inside) | Allocate(body=inside):
            yield from walk_statements(inside)
        case If():
            yield from walk_statements(statement.body)
            if statement.otherwise is not None:
                yield from walk_statements(statement.otherwise)


def own_expressions(statement: Statement) -> tuple[Expr, ...]:
    """The expressions of the statement itself, not those of statements inside it."""
    match statement:
        case For() | ParallelFor():
            return (statement.min, statement.extent)
        case Allocate():
            folds = tuple(f for f in statement.folds if f is not None)
            flat = (e for d in statement.dimensions for e in (d.min, d.extent, d.stride))
            return (*statement.sizes, *statement.mins, *statement.extents, *folds, *flat)
        case Provide():
            return (*statement.args, statement.value)
        case Store():
            mask = () if statement.mask is None else (statement.mask,)
            return (statement.index, statement.value, *mask)
        case If():
            return (statement.condition,)
        case Prefetch():
            return statement.at
        case Stop():
            return statement.values
        case Block() | Together() | Barrier():
            return ()


def messages(statement: Statement) -> tuple[Message, ...]:
    """What it may stop with, in order."""
    found = (s.message for s in walk_statements(statement) if isinstance(s, Stop))
    return tuple(dict.fromkeys(found))


def free_variables(statement: Statement) -> tuple[Variable, ...]:
    """The variables it uses that are not those of loops inside it, in order of first use."""
    bound = {s.var.name for s in walk_statements(statement) if isinstance(s, For | ParallelFor)}
    roots = [e for inner in walk_statements(statement) for e in own_expressions(inner)]
    found = {
        node.name: node
        for node in walk(*roots)
        if isinstance(node, Variable) and node.name not in bound
    }
    return tuple(found.values())


def free_buffers(statement: Statement) -> tuple[str, ...]:
    """The buffers it uses that are not allocated inside it, in order of first use."""
    own = {s.buffer for s in walk_statements(statement) if isinstance(s, Allocate)}
    used: dict[str, None] = {}
    seen: set[Expr] = set()
    for inner in walk_statements(statement):
        used |= dict.fromkeys((*_buffers_read(inner, seen), *buffers_written(inner)))
    return tuple(name for name in used if name not in own)


def buffers_read(statement: Statement) -> tuple[str, ...]:
    """The buffers, Funcs and images that the statement itself reads."""
    return _buffers_read(statement, set())


def _buffers_read(statement: Statement, seen: set[Expr]) -> tuple[str, ...]:
    """The buffers that the statement reads, but not in the expressions ``seen`` before."""
    found: dict[str, None] = {}
    stack = [*reversed(own_expressions(statement))]
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
    if isinstance(statement, Prefetch):
        found[statement.buffer] = None
    if isinstance(statement, Provide | Store) and statement.update is not None:
        found |= dict.fromkeys(buffers_written(statement))
    return tuple(found)


def buffers_written(statement: Statement) -> tuple[str, ...]:
    """The buffer or Func that the statement itself writes, if it does."""
    match statement:
        case Store(buffer=name) | Provide(func=name):
            return (name,)
    return ()
