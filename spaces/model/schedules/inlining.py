"""The stages that remain when inlined Funcs are substituted into their consumers."""

from __future__ import annotations

from functools import lru_cache, reduce

from attrs import evolve

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.algorithm.required import reading, required, requiring
from spaces.model.algorithm.undefined import inlined
from spaces.model.expressions.definitions import REQUIRE, arithmetic
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
    """The stages that remain when the Funcs in ``inline`` are substituted, where possible. Cached,
    because searches ask for the same few sets again and again.
    """
    bodies: dict[str, Function] = {}
    kept = []
    for function in pipeline.functions:
        expanded = _expand(function, tuple(bodies[n] for n in function.callees if n in bodies))
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


@lru_cache(maxsize=4096)
def _expand(function: Function, callees: tuple[Function, ...]) -> Function:
    """A Func with the inlined Funcs that it reads substituted. Cached, because many
    sets of inlined Funcs have those of one consumer in common.
    """
    bodies = {body.name: body for body in callees}

    def value(call: Call) -> Expr:
        if call.target not in bodies:
            return call
        callee = bodies[call.target]
        arguments = dict(zip(callee.args, call.args, strict=True))
        return substitute(inlined(callee.stages[0], call.component or 0), arguments)

    def inline(node: Expr) -> Expr:
        return reading(node, value) if isinstance(node, Call) else node

    def expanded(expr: Expr) -> Expr:
        return rewrite(expr, inline) if expr.loads else expr

    def place(expr: Expr) -> Expr:
        # Values that have become coordinates are arithmetic, as those written there are.
        return arithmetic(expanded(expr), (REQUIRE,))

    if not callees:
        return function
    return evolve(
        function,
        stages=tuple(_with_plain_places(s.mapped(expanded, place)) for s in function.stages),
    )


def _with_plain_places(stage: Stage) -> Stage:
    """A stage whose left side is only arithmetic; its values take over the conditions that the left
    side requires.
    """
    conditions = tuple(required(*stage.args))
    if not conditions:
        return stage
    values = (
        reduce(lambda e, r: requiring(r.condition, e, r.parts), conditions, value)
        for value in stage.values
    )
    return evolve(stage, args=tuple(map(arithmetic, stage.args)), values=tuple(values))
