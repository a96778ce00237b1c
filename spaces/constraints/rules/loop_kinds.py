"""Rules about the kinds of loops: vectors, unrolling, and their nesting."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial, reduce

from spaces.constraints.rules.directive_text import kind_directive, placing_directive
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, call_rule, nest_rule, refuse
from spaces.model.expressions.expr import Const, Expr
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.levels import LoopOf
from spaces.model.schedules.schedule import StageOf

MAX_VECTOR_LANES = 1024
"""The widest vector that is compiled. A 512-bit register holds 64 lanes of a byte. LLVM splits
longer vectors, in time that grows with the square: three operations on 1024 lanes take it 0.2 s, on
4096 lanes 2 s.
"""

MAX_UNROLLED_COPIES = 1024
"""The most copies of a stage that are compiled. LLVM takes 5 s for 1024 copies of a blur of three
values, and more than 100 s for 4096."""


@call_rule(
    "kind.inside-vectorized",
    "A parallel or GPU loop inside a vectorized loop is illegal, because one thread computes all "
    "lanes of a vector together.",
    "One instruction computes all lanes of a vector.",
)
def inside_vectorized(records: Records, func: str) -> Iterator[Check]:
    """One check for each such loop of the Func."""
    for placed_stage in records.placed(func):
        index, path, kinds = placed_stage.index, placed_stage.path, placed_stage.kinds
        if LoopKind.VECTORIZED not in kinds:
            continue
        around = kinds.index(LoopKind.VECTORIZED)
        for loop, kind in zip(path[around:], kinds[around:], strict=True):
            if kind.uses_threads and loop.func == func and loop.stage == index:
                outer = path[around]
                placed = next(p for p in path[around:] if _stage(p) != _stage(outer) or p is loop)
                is_own = _stage(outer) == (func, index)
                yield refuse(
                    func,
                    "The {kind} loop {loop} of {stage_name} ({directive}) lies inside the "
                    "vectorized loop {outer}."
                    if is_own
                    else "The {kind} loop {loop} of {stage_name} ({directive}) lies inside the "
                    "vectorized loop {outer}, because of {compute}.",
                    "Put {loop} outside {outer}, or make it serial."
                    if is_own
                    else "Compute {placed} outside {outer}, or make {loop} serial.",
                    stage=index,
                    loop=loop.loop,
                    kind=str(kind),
                    directive=kind_directive(records, func, index, loop.loop),
                    outer=str(outer.level),
                    placed=placed.func,
                    compute=placing_directive(records, StageOf(*_stage(placed))),
                )


def _stage(loop: LoopOf) -> tuple[str, int]:
    return (loop.func, loop.stage)


def _varying(view: NestView, func: str, kind: LoopKind, does: str) -> Iterator[Check]:
    for index, stage in enumerate(view.placement(func).stages):
        for loop in stage.loops:
            if loop.kind is kind and not view.is_constant(loop.extent):
                yield refuse(
                    func,
                    "{directive} {does} loop {loop} of {stage_name}, which has {extent} "
                    "iterations: not a constant.",
                    "Split {loop} by a constant and {do} the inner loop.",
                    stage=index,
                    loop=loop.loop,
                    does=does,
                    extent=str(loop.extent),
                    directive=kind_directive(view.records, func, index, loop.loop),
                    do=does.removesuffix("s"),
                )


@nest_rule(
    "kind.vector-extent",
    "A vectorized loop whose number of iterations is not constant is illegal, because the program "
    "must know the number of lanes.",
    "Halide refuses to vectorize a loop of another extent.",
)
def vector_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each vectorized loop whose extent varies."""
    return _varying(view, func, LoopKind.VECTORIZED, "vectorizes")


@nest_rule(
    "kind.unroll-extent",
    "An unrolled loop whose number of iterations is not constant is illegal, because the program "
    "must know the number of copies.",
    "Halide refuses to unroll a loop of another extent.",
)
def unroll_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each unrolled loop whose extent varies."""
    return _varying(view, func, LoopKind.UNROLLED, "unrolls")


@nest_rule(
    "kind.vector-lanes",
    f"Nested vectorized loops of more than {MAX_VECTOR_LANES} lanes in all are illegal, "
    "because LLVM's compile "
    "time grows with the square of the lanes.",
    "This library's limit, from LLVM's compile times.",
    lanes=Quantity("product of the iterations of the nested vectorized loops", "lanes"),
    limit=Quantity("most lanes that are compiled", "lanes"),
)
def vector_lanes(view: NestView, func: str) -> Iterator[Check]:
    """One check for each stage with vectorized loops of constant extent."""
    return _limited(
        view,
        func,
        LoopKind.VECTORIZED,
        MAX_VECTOR_LANES,
        "lanes",
        "The vectorized loops around {stage_name} ({directives}) make vectors of "
        "{reason}{lanes} lanes; at most {limit} are compiled.",
        "vectorize",
    )


@nest_rule(
    "kind.unroll-copies",
    f"Nested unrolled loops of more than {MAX_UNROLLED_COPIES} copies in all are illegal, "
    "because every copy is "
    "compiled.",
    "This library's limit; Halide has none and does not end.",
    copies=Quantity("product of the iterations of the nested unrolled loops", "copies"),
    limit=Quantity("most copies that are compiled", "copies"),
)
def unroll_copies(view: NestView, func: str) -> Iterator[Check]:
    """One check for each stage with unrolled loops of constant extent."""
    return _limited(
        view,
        func,
        LoopKind.UNROLLED,
        MAX_UNROLLED_COPIES,
        "copies",
        "The unrolled loops around {stage_name} ({directives}) make {reason}{copies} copies of "
        "it; at most {limit} are compiled.",
        "unroll",
    )


def _limited(
    view: NestView, func: str, kind: LoopKind, limit: int, unit: str, message: str, verb: str
) -> Iterator[Check]:
    """One check for each stage inside loops of a kind with a limit on their combined iterations."""
    for index, loops, count in multiplied_loops(view, func, kind):
        yield Check(
            func,
            count <= limit,
            message,
            "{remedy}",
            stage=index,
            loop=longest_loop(loops).loop,
            values={
                "directives": partial(kind_directives, view, loops),
                "reason": partial(written_factors, loops),
                unit: count,
                "limit": limit,
                "remedy": partial(_remedy, loops, limit, verb),
            },
        )


def longest_loop(loops: tuple[LoopVar, ...]) -> LoopVar:
    """The loop with the most iterations, of equal ones the innermost; the innermost if some numbers
    are open.
    """
    if not all(isinstance(loop.extent, Const) for loop in loops):
        return loops[-1]
    return max(reversed(loops), key=_iterations)


def _iterations(loop: LoopVar) -> int:
    return int(loop.extent.value) if isinstance(loop.extent, Const) else 1


def _remedy(loops: tuple[LoopVar, ...], limit: int, verb: str) -> str:
    """How to stay within a limit: by a shorter inner loop of the longest one, if that is enough."""
    longest = longest_loop(loops)
    others = math.prod(map(_iterations, loops)) // max(1, _iterations(longest))
    most = limit // max(1, others)
    if most > 1 and all(isinstance(loop.extent, Const) for loop in loops):
        return f"Split {longest.loop} and {verb} an inner loop of at most {most} iterations."
    return f"Split these loops and {verb} shorter ones, or {verb} fewer of them."


def multiplied_loops(
    view: NestView, func: str, kind: LoopKind
) -> Iterator[tuple[int, tuple[LoopVar, ...], Expr]]:
    """The stages of a Func inside loops of that kind of constant extent, with these loops and the
    product of their extents.
    """
    for index, path in enumerate(view.paths(func)):
        loops = tuple(p for p in path if p.kind is kind and view.is_constant(p.extent))
        if loops:
            yield index, loops, reduce(operator.mul, (loop.extent for loop in loops))


def kind_directives(view: NestView, loops: tuple[LoopVar, ...]) -> str:
    """The directives that give some loops their kinds, as written."""
    return listed(kind_directive(view.records, p.func, p.stage, p.loop) for p in loops)


def written_factors(loops: tuple[LoopVar, ...]) -> str:
    """``32 x 64 = ``, or nothing for one loop."""
    return " x ".join(str(loop.extent) for loop in loops) + " = " if len(loops) > 1 else ""


RULES = (inside_vectorized, vector_extent, unroll_extent, vector_lanes, unroll_copies)
