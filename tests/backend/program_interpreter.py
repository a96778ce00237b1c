"""A loop program run one statement at a time, in plain Python: the oracle of the lowering passes.

Memory is a dictionary a buffer, from coordinates (before flattening) or flat indices (after). What
was never stored cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
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

Step = tuple[Callable[..., Any], list[int]]
"""What a node of an expression gives, and the places of its children among those before it."""


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
        self._steps: dict[Expr, list[Step]] = {}

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
                place = self._place(node.func, [self.value(a) for a in node.args])
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

    def _place(self, name: str, at: Sequence[int]) -> tuple[int, ...]:
        """The coordinates where a buffer holds the value at ``at``."""
        folds = self.folds.get(name, ())
        at = list(at)
        for d, fold in enumerate(folds):
            if fold is not None:
                at[d] %= self.value(fold)
        return tuple(at)

    def value(self, root: Expr) -> Any:
        """An int, or a list of one int a lane."""
        steps = self._steps.get(root)
        if steps is None:
            steps = self._steps[root] = self._planned(root)
        done: list[Any] = []
        for meaning, positions in steps:
            done.append(meaning(*[done[i] for i in positions]))
        return done[-1]

    def _planned(self, root: Expr) -> list[Step]:
        """The nodes of an expression, which is evaluated many times, each after its children."""
        positions: dict[Expr, int] = {}
        steps: list[Step] = []
        for node in walk(root):
            steps.append((self._meaning(node), [positions[c] for c in node.children]))
            positions[node] = len(positions)
        return steps

    def _meaning(self, node: Expr) -> Callable[..., Any]:
        """What a node gives, from what its children give."""
        lanes, wrap = node.type.lanes, node.type.wrap
        match node:
            case Const(value=value):
                return lambda: int(value)
            case Variable(name=name):
                return lambda: self.variables[name]
            case Ramp():
                return lambda base, stride: [base + i * stride for i in range(lanes)]
            case Broadcast():
                return lambda value: [value] * lanes
            case Shuffle(picks=picks):
                return lambda *parts: _picked(parts, picks)
            case Call(target=name):
                return lambda *at: self.memory[name][self._place(name, at)]
            case Load(buffer=name) if lanes > 1:
                return lambda at, *_: [self.memory[name].get(i) for i in at]
            case Load(buffer=name):
                return lambda at, *_: self.memory[name][at]
            case MaskedLoad(buffer=name):
                return lambda at, mask: [
                    self.memory[name][i] if keep else 0 for i, keep in zip(at, mask, strict=True)
                ]
            case AnyLane():
                return any
            case Reduced(operator=operator):
                combine = INTEGERS.operators[operator]
                return partial(reduce, lambda a, b: wrap(int(combine(a, b))))
            case Cast() if lanes > 1:
                return lambda value: [wrap(v) for v in value]
            case Cast():
                return wrap
            case Op(name=name) if lanes > 1:
                apply = INTEGERS.operators[name]
                return lambda *parts: [
                    wrap(int(apply(*row))) for row in zip(*_rows(parts, lanes), strict=True)
                ]
            case Op(name=name):
                apply = INTEGERS.operators[name]
                return lambda *parts: wrap(int(apply(*parts)))
        raise TypeError(f"{node!r} has no meaning here")


def _rows(parts: tuple[Any, ...], lanes: int) -> list[list[int]]:
    return [part if isinstance(part, list) else [part] * lanes for part in parts]


def _picked(parts: tuple[list[int], ...], picks: tuple[int, ...]) -> list[int]:
    joined = [value for part in parts for value in part]
    return [joined[pick] for pick in picks]
