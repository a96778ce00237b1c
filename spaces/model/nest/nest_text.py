"""The loop nest as text, in the manner of Halide's ``print_loop_nest``, with regions and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.rewrite import Substitution
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import (
    Allocate,
    Compute,
    HoistedStorage,
    Loop,
    LoopNest,
    NestNode,
    Produce,
    loop_nest,
)
from spaces.model.schedules.cases import cases, is_specialized
from spaces.model.schedules.conditions import format_condition
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import few_lines, shown

Written: TypeAlias = Callable[[Expr], str]
"""Writes a formula of a nest."""


@frozen
class NestRow:
    """A line of a loop nest: its node, and how deep it lies."""

    depth: int
    node: NestNode
    text: str


def format_nests(pipeline: Pipeline, schedule: Schedule) -> str:
    """The loop nest of a schedule; of one with specializations that of each case, below its
    conditions. Raises what :func:`~spaces.model.nest.loopnest.loop_nest` does.
    """
    if not is_specialized(schedule):
        return format_nest(loop_nest(pipeline, schedule))
    parts = []
    for case in cases(schedule):
        conditions = " and ".join(map(format_condition, case.assumptions))
        if case.failure:
            text = f"  assert false, {case.failure}"
        else:
            nest = loop_nest(pipeline, case.schedule, case.assumptions)
            text = "\n".join(_lines(nest.body, 1))
        parts.append(f"where {conditions}:\n{text}")
    return "\n".join(parts)


def format_nest(nest: LoopNest) -> str:
    """One line a node, indented by nesting; intervals are closed."""
    return "\n".join(_lines(nest.body, 0))


@shown.register
def _(nest: LoopNest) -> str:
    return few_lines(_lines(nest.body, 0), rest="lines (format_nest has all)")


def _lines(nodes: tuple[NestNode, ...], depth: int) -> Iterator[str]:
    return ("  " * row.depth + row.text for row in nest_rows(nodes, depth))


def nest_rows(
    nodes: tuple[NestNode, ...], depth: int = 0, written: Written = str
) -> Iterator[NestRow]:
    """The lines of a nest, parents first; ``written`` gives the text of each formula."""
    for below, node in nodes_by_depth(nodes, depth):
        yield NestRow(below, node, _line(node, written))


def nodes_by_depth(nodes: tuple[NestNode, ...], depth: int = 0) -> Iterator[tuple[int, NestNode]]:
    """Each node of a nest with the depth of its line, parents first."""
    open_ = [(node, depth) for node in reversed(nodes)]
    while open_:
        node, depth = open_.pop()
        yield depth, node
        if not isinstance(node, Compute):
            inner = depth + isinstance(node, Produce | Loop)
            open_ += ((one, inner) for one in reversed(node.body))


def written_at_estimates(nest: LoopNest) -> Written:
    """Writes formulas with the estimated sizes in place of their names."""
    sizes = {n: constant(v, Int32) for n, v in nest.pipeline.sizes().items()}
    known, simplify = Substitution(sizes), nest.simplify

    def written(formula: Expr) -> str:
        return str(simplify(known(formula)))

    return written


def _line(node: NestNode, written: Written) -> str:
    match node:
        case HoistedStorage():
            sides = ", ".join(map(written, node.extents))
            places = "" if node.slots is None else f" for each of {node.slots} iterations"
            return f"memory for {node.func}: [{sides}]{places}"
        case Allocate():
            return _allocation(node, written)
        case Produce():
            box = "".join(f"[{_end(i.min, written)} .. {_end(i.max, written)}]" for i in node.box)
            key = "" if node.key is None else f", memoized by ({', '.join(map(written, node.key))})"
            return f"produce {node.func}{box}{key}:"
        case Loop():
            return _loop(node, written)
        case Compute():
            conditions = (*(g.condition for g in node.guards), *node.predicates)
            guards = " and ".join(map(written, conditions))
            stage = f" (update {node.stage - 1})" if node.stage else ""
            condition = f"if {guards}: " if guards else ""
            args = ", ".join(map(written, node.args))
            return f"{condition}{node.func}({args}) = ...{stage}"


def _end(end: Expr | None, written: Written) -> str:
    return str(end) if end is None else written(end)


def _allocation(node: Allocate, written: Written) -> str:
    parts = []
    for extent, fold in zip(node.extents, node.folds, strict=True):
        parts.append(f"{written(extent)} folded" if fold is not None else written(extent))
    memory = "" if node.memory == "auto" else f" in {node.memory}"
    types = ", ".join(map(str, node.types))
    element = types if len(node.types) == 1 else f"({types})"
    slot = "" if node.slot is None else f" in place {written(node.slot)}"
    return f"store {node.func}: {element}[{', '.join(parts)}]{memory}{slot}"


def _loop(node: Loop, written: Written) -> str:
    var = node.var
    kind = "for" if var.kind is LoopKind.SERIAL else str(var.kind)
    return f"{kind} {var.func}.{var.loop} in {written(var.min)} .. {written(var.max)}:"
