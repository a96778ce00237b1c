"""A loop program run one statement at a time, in plain Python: the oracle of the lowering passes.

Memory is a dictionary a buffer, from coordinates (before flattening) or flat indices (after). What
was never stored cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from backend.program import (
    Allocate,
    AnyLane,
    Block,
    Broadcast,
    For,
    If,
    Load,
    LoopProgram,
    MaskedLoad,
    ParallelFor,
    Prefetch,
    Provide,
    Ramp,
    Reduced,
    Shuffle,
    Statement,
    Store,
    Together,
    updated,
)
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.formulas.algebra import INTEGERS

Cells = dict[Any, int]


def run_program(
    program: LoopProgram, sizes: Mapping[str, int], memory: Mapping[str, Cells]
) -> dict[str, Cells]:
    """The contents of all buffers after a run that begins with ``memory``."""
    run = _Run(dict(sizes), {name: dict(cells) for name, cells in memory.items()})
    run.statement(program.body)
    return run.memory


class _Run:
    def __init__(self, variables: dict[str, int], memory: dict[str, Cells]) -> None:
        self.variables = variables
        self.memory = memory
        self.folds: dict[str, tuple[Expr | None, ...]] = {}

    def statement(self, node: Statement) -> None:
        match node:
            case Block(body=body):
                for part in body:
                    self.statement(part)
            case For() | ParallelFor():
                self._loop(node)
            case If():
                taken = node.body if self.value(node.condition) else node.otherwise
                if taken is not None:
                    self.statement(taken)
            case Allocate():
                kept = self.memory.get(node.buffer), self.folds.get(node.buffer, ())
                self.memory[node.buffer], self.folds[node.buffer] = {}, node.folds
                self.statement(node.body)
                del self.memory[node.buffer]
                if kept[0] is not None:
                    self.memory[node.buffer], self.folds[node.buffer] = kept
            case Provide() | Store():
                self._stored([updated(node)])
            case Together(body=parts):
                self._stored(parts)
            case Prefetch():
                self.value(node.at[0])  # wherever it is, it need not exist
            case _:
                raise TypeError(f"{node} is no statement of CPU code")

    def _loop(self, loop: For | ParallelFor) -> None:
        low, extent = self.value(loop.min), self.value(loop.extent)
        hidden: dict[str, int] = {}
        if isinstance(loop, ParallelFor):  # its body sees what it says it uses, nothing else
            unused = set(self.variables) - {v.name for v in loop.variables}
            hidden = {name: self.variables.pop(name) for name in unused}
        iterations = range(low, low + extent)
        for i in reversed(iterations) if isinstance(loop, ParallelFor) else iterations:
            self.variables[loop.var.name] = i
            self.statement(loop.body)
        self.variables.update(hidden)

    def _stored(self, stores: Sequence[Provide | Store]) -> None:
        """Values and places of all of them are found before any changes."""
        found: list[tuple[Cells, Any, Any]] = []
        for node in stores:
            value = self.value(node.value)
            if isinstance(node, Provide):
                place = self._place(node.func, node.args)
                found.append((self.memory[node.func], [place], [value]))
                continue
            places = self.value(node.index)
            if not isinstance(places, list):
                places, value = [places], [value]
            kept = [True] * len(places) if node.mask is None else self.value(node.mask)
            lanes = [at for at, keep in zip(places, kept, strict=True) if keep]
            values = [v for v, keep in zip(value, kept, strict=True) if keep]
            found.append((self.memory[node.buffer], lanes, values))
        for cells, places, values in found:
            cells.update(zip(places, values, strict=True))

    def _place(self, name: str, args: tuple[Expr, ...]) -> tuple[int, ...]:
        at = [self.value(a) for a in args]
        folds = self.folds.get(name, ())
        for d, fold in enumerate(folds):
            if fold is not None:
                at[d] %= self.value(fold)
        return tuple(at)

    def value(self, root: Expr) -> Any:
        """An int, or a list of one int a lane."""
        done: dict[Expr, Any] = {}
        for node in walk(root):
            done[node] = self._node(node, [done[c] for c in node.children])
        return done[root]

    def _node(self, node: Expr, parts: list[Any]) -> Any:
        lanes = node.type.lanes
        match node:
            case Const(value=value):
                return int(value)
            case Variable(name=name):
                return self.variables[name]
            case Ramp():
                return [parts[0] + i * parts[1] for i in range(lanes)]
            case Broadcast():
                return parts * lanes
            case Shuffle(picks=picks):
                joined = [lane for part in parts for lane in part]
                return [joined[pick] for pick in picks]
            case Call(target=name):
                return self.memory[name][self._place(name, node.args)]
            case Load(buffer=name):
                cells = self.memory[name]
                return [cells.get(i) for i in parts[0]] if lanes > 1 else cells[parts[0]]
            case MaskedLoad(buffer=name):
                cells = self.memory[name]
                return [cells[i] if keep else 0 for i, keep in zip(*parts, strict=True)]
            case AnyLane():
                return any(parts[0])
            case Reduced(operator=operator):
                combine = INTEGERS.operators[operator]
                return reduce(lambda a, b: node.type.wrap(int(combine(a, b))), parts[0])
            case Cast(type=type):
                return [type.wrap(v) for v in parts[0]] if lanes > 1 else type.wrap(parts[0])
            case Op(name=name):
                rows = [p if isinstance(p, list) else [p] * lanes for p in parts]
                apply = INTEGERS.operators[name]
                found = [node.type.wrap(int(apply(*row))) for row in zip(*rows, strict=True)]
                return found if lanes > 1 else found[0]
        raise TypeError(f"{node!r} has no meaning here")
