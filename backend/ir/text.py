"""A loop program as text: one line a statement, indented by nesting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.sizes import product
from spaces.backend.ir.statements import (
    Allocate,
    Block,
    For,
    If,
    ParallelFor,
    Statement,
    TupleAssignment,
)
from spaces.model.amounts import amount
from spaces.model.schedules.domain_order import LoopKind


def program_text(program: LoopProgram) -> str:
    """The program: its parameters, what it requires of them, and its statements."""
    lines = [f"program {program.name}:"]
    for buffer in program.buffers:
        role = "output" if buffer.is_output else "image"
        lines.append(
            f"  {role} {buffer.name}: {buffer.type}, {amount(buffer.dimensions, 'dimension')}"
        )
    lines += [f"  scalar {s.name}: {s.type}" for s in program.scalars]
    lines += [f"  check {r.condition}" for r in program.size_checks]
    return "\n".join([*lines, *_lines(program.body, 1)])


_Part: TypeAlias = "str | Iterator[_Part]"
"""A line, or the parts of a statement that stands there."""


def _lines(statement: Statement, depth: int) -> Iterator[str]:
    """The lines of a statement, by a stack instead of recursion: statements nest without limit."""
    open_parts = [_parts(statement, depth)]
    while open_parts:
        part = next(open_parts[-1], None)
        if part is None:
            open_parts.pop()
        elif isinstance(part, str):
            yield part
        else:
            open_parts.append(part)


def _parts(statement: Statement, depth: int) -> Iterator[_Part]:
    indent = "  " * depth
    match statement:
        case Block(body=body):
            for part in body:
                yield _parts(part, depth)
        case For(kind=kind):
            word = "for" if kind is LoopKind.SERIAL else str(kind)
            yield f"{indent}{word} {_range(statement)}:"
            yield _parts(statement.body, depth + 1)
        case ParallelFor():
            uses = ", ".join([*statement.buffers, *(v.name for v in statement.variables)])
            yield f"{indent}task {_range(statement)} using {uses}:"
            yield _parts(statement.body, depth + 1)
        case If():
            yield f"{indent}if {statement.condition}:"
            yield _parts(statement.body, depth + 1)
            if statement.otherwise is not None:
                yield f"{indent}else:"
                yield _parts(statement.otherwise, depth + 1)
        case Allocate():
            memory = "" if statement.memory == "auto" else f" in {statement.memory}"
            within = f" within {statement.within}" if statement.within else ""
            yield f"{indent}allocate {statement.buffer}: {_size(statement)}{memory}{within}"
            yield _parts(statement.body, depth)
        case TupleAssignment(body=parts):
            yield f"{indent}at once:"
            for part in parts:
                yield _parts(part, depth + 1)
        case _:
            yield f"{indent}{statement}"
            for inside in statement.children:
                yield _parts(inside, depth + 1)


def _range(loop: For | ParallelFor) -> str:
    return f"{loop.var.name} from {loop.min}, {loop.extent} times"


def _size(node: Allocate) -> str:
    if not node.extents:
        return f"{node.type}[{product(node.sizes)}]"
    sides = (
        f"{extent}{'' if fold is None else ' folded'}"
        for extent, fold in zip(node.extents, node.folds, strict=True)
    )
    return f"{node.type}[{', '.join(sides)}]"
