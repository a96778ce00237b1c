"""The frontier of a half-decided schedule: the places for the open Funcs.

A search decides Funcs consumers first. The decisions so far limit an open Func only through the
loops that enclose all its uses: its residual path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from attrs import frozen

from spaces.model.algorithm.inlined import live_functions
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel


@frozen
class ResidualLoop:
    """One loop of a residual path."""

    func: str
    stage: int
    loop: str
    kind: LoopKind

    @property
    def level(self) -> LoopLevel:
        """The level just inside it."""
        return LoopLevel(self.func, self.loop)


ResidualPath: TypeAlias = tuple[ResidualLoop, ...]
"""Loops, outermost first."""


@frozen
class Frontier:
    """The residual path of each open Func that a decided Func reads."""

    paths: Mapping[str, ResidualPath]

    def path(self, func: str) -> ResidualPath:
        """The loops that enclose every use of ``func`` so far; empty for outputs."""
        return self.paths.get(func, ())

    def reads(self, func: str) -> bool:
        """Whether a decided Func reads ``func``."""
        return func in self.paths

    @staticmethod
    def of(pipeline: Pipeline, entries: Iterable[FuncSchedule]) -> Frontier:
        """The frontier after the Funcs of some entries, consumers first. Of an inlined Func only
        those reads count that its consumers still have.
        """
        decided = {entry.name: entry for entry in entries}
        inlined = frozenset(e.name for e in decided.values() if e.compute.is_inline)
        found = Frontier({})
        for function in reversed(live_functions(pipeline, inlined)):
            if function.name in decided:
                found = found.after(function, decided[function.name])
        return found

    def after(self, function: Function, entry: FuncSchedule) -> Frontier:
        """The frontier after ``function``, whose reads all count, has the schedule ``entry``."""
        if entry.compute.is_inline and not self.reads(function.name):
            return self
        own = self.path(function.name)
        paths = {name: path for name, path in self.paths.items() if name != function.name}
        site = own[: depth_of(own, entry.compute)]
        for index, stage in enumerate(function.stages):
            inside: ResidualPath = own
            if not entry.compute.is_inline:
                loops = entry.stages[index].loops
                steps = (ResidualLoop(function.name, index, loop.name, loop.kind) for loop in loops)
                inside = (*site, *steps)
            for name in dict.fromkeys(call.target for call in stage.calls):
                if name != function.name:
                    paths[name] = _shared(paths[name], inside) if name in paths else inside
        return Frontier(paths)


def depth_of(path: ResidualPath, level: LoopLevel) -> int:
    """The number of loops of ``path`` around ``level``; 0 for root and for an inlined Func."""
    return next((i + 1 for i, step in enumerate(path) if step.level == level), 0)


def in_one_grid(outside: LoopKind, inside: LoopKind) -> bool:
    """Whether a loop and the next one inside it are of one grid of blocks or threads. They must
    stay together, so that nothing is computed between them.
    """
    return inside.is_gpu and outside is inside


def open_depths(path: ResidualPath) -> list[int]:
    """The depths of ``path`` at which a Func may be computed, other than root.

    Leaves out depths inside vectorized and unrolled loops, which nobody uses, and those between the
    loops of a grid.
    """
    depths = []
    for depth, step in enumerate(path, start=1):
        if step.kind.has_constant_extent:
            break
        if depth == len(path) or not in_one_grid(step.kind, path[depth].kind):
            depths.append(depth)
    return depths


def store_depths(path: ResidualPath, compute: int) -> list[int]:
    """The depths at or outside ``compute`` without a concurrent loop between, innermost first."""
    depths = [compute]
    while depths[-1] > 0 and not path[depths[-1] - 1].kind.is_concurrent:
        depths.append(depths[-1] - 1)
    return depths


def _shared(a: ResidualPath, b: ResidualPath) -> ResidualPath:
    """The common first loops of both paths."""
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return a[:count]
