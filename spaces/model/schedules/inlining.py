"""The stages that remain when inlined Funcs are substituted into their consumers."""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.algorithm.required import is_more_than_arithmetic, reading
from spaces.model.algorithm.undefined import inlined
from spaces.model.expressions.expr import Call, Expr
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.schedules.schedule import Schedule


def inlined_functions(pipeline: Pipeline, schedule: Schedule) -> tuple[Function, ...]:
    """The Funcs that are computed, producers first, calling only each other and images.

    A Func that cannot be inlined (it has update stages, or is an output) is kept whatever the
    schedule says; the rule catalogue reports such a schedule.
    """
    wanted = (f.name for f in pipeline.functions if schedule.of(f.name).compute.is_inline)
    return _without(pipeline, frozenset(wanted))


@lru_cache(maxsize=256)
def _without(pipeline: Pipeline, inline: frozenset[str]) -> tuple[Function, ...]:
    """What remains when those of ``inline`` that can be are substituted; searches ask again and
    again with the same few.
    """
    bodies: dict[str, Function] = {}
    kept = []
    for function in pipeline.functions:
        expanded = _expand(function, bodies)
        if function.name in inline and _may_go(pipeline, function):
            bodies[function.name] = expanded
        else:
            kept.append(expanded)
    return tuple(kept)


def _may_go(pipeline: Pipeline, function: Function) -> bool:
    """Whether there is one expression to substitute, or nothing to substitute it in."""
    return function.name not in pipeline.outputs and (
        function.is_pure or not pipeline.consumers(function.name)
    )


def _expand(function: Function, bodies: dict[str, Function]) -> Function:
    def inline(node: Expr) -> Expr:
        if isinstance(node, Call) and node.target in bodies:
            callee = bodies[node.target]
            arguments = dict(zip(callee.args, node.args, strict=True))
            value = inlined(callee.stages[0], node.component or 0)
            return substitute(value, arguments)
        if isinstance(node, Call) and is_more_than_arithmetic(node.args):
            return reading(node)
        return node

    def expanded(expr: Expr) -> Expr:
        return rewrite(expr, inline) if bodies else expr

    return evolve(function, stages=tuple(stage.mapped(expanded) for stage in function.stages))
