"""The loop nest as text, in the manner of Halide's ``print_loop_nest``, with regions and sizes."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.model.algorithm.pipeline import Pipeline
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
    open_ = [(node, depth) for node in reversed(nodes)]
    while open_:
        node, depth = open_.pop()
        yield "  " * depth + _line(node)
        if not isinstance(node, Compute):
            inner = depth + isinstance(node, Produce | Loop)
            open_ += ((one, inner) for one in reversed(node.body))


def _line(node: NestNode) -> str:
    match node:
        case HoistedStorage():
            sides = ", ".join(map(str, node.extents))
            return f"memory for {node.func}: [{sides}]"
        case Allocate():
            return _allocation(node)
        case Produce():
            return f"{node}:"
        case Loop():
            return _loop(node)
        case Compute():
            guards = " and ".join(map(str, (*(g.condition for g in node.guards), *node.predicates)))
            stage = f" (update {node.stage - 1})" if node.stage else ""
            condition = f"if {guards}: " if guards else ""
            args = ", ".join(str(a) for a in node.args)
            return f"{condition}{node.func}({args}) = ...{stage}"


def _allocation(node: Allocate) -> str:
    parts = []
    for extent, fold in zip(node.extents, node.folds, strict=True):
        parts.append(f"{extent} folded" if fold is not None else str(extent))
    memory = "" if node.memory == "auto" else f" in {node.memory}"
    types = ", ".join(map(str, node.types))
    element = types if len(node.types) == 1 else f"({types})"
    return f"store {node.func}: {element}[{', '.join(parts)}]{memory}"


def _loop(node: Loop) -> str:
    var = node.var
    kind = "for" if var.kind is LoopKind.SERIAL else str(var.kind)
    return f"{kind} {var.func}.{var.loop} in {var.min} .. {var.max}:"
