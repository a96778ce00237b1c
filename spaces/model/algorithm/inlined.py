"""The Funcs that remain when others are substituted into their consumers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import lru_cache, reduce

from attrs import evolve

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.algorithm.required import reading, required, requiring
from spaces.model.algorithm.undefined import inlined
from spaces.model.expressions.definitions import REQUIRE, arithmetic
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant
from spaces.model.expressions.rewrite import Substitution, rewrite
from spaces.model.expressions.types import Int32


@lru_cache(maxsize=256)
def without_inlined(pipeline: Pipeline, inline: frozenset[str]) -> tuple[Function, ...]:
    """The Funcs that are computed when those in ``inline`` are not, producers first, calling only
    each other and images. A Func that has updates and is read, or that is an output, is computed
    all the same. Cached, because searches ask for the same few sets again and again.

    A substituted value brings only the reads that it has. An inlined Tuple brings those of the
    components that are read; an inlined Func that ignores a coordinate drops what this reads.
    """
    return _without(pipeline, inline, lambda expanded: True)


@lru_cache(maxsize=256)
def live_functions(pipeline: Pipeline, inline: frozenset[str]) -> tuple[Function, ...]:
    """The Funcs that are read when those in ``inline`` are inlined, and the computed ones, with
    their reads; each inlined Func passes on all that it reads. It takes less work than
    :func:`without_inlined`: only those Funcs are substituted that hide reads.
    """
    if may_hide_reads(pipeline):
        return _without(pipeline, inline, _hides_reads)
    return _without_unread(pipeline.functions, inline.difference(pipeline.outputs))


@lru_cache(maxsize=256)
def may_hide_reads(pipeline: Pipeline) -> bool:
    """Whether some Func, once it is inlined, may hide that others are read."""
    return any(
        _hides_reads(function)
        for function in pipeline.functions
        if function.name not in pipeline.outputs
    )


def _without(
    pipeline: Pipeline, inline: frozenset[str], goes: Callable[[Function], bool]
) -> tuple[Function, ...]:
    """The Funcs without those of ``inline`` that are unread, or go and have one expression to
    substitute.
    """
    inline = inline.difference(pipeline.outputs)
    bodies: dict[str, Function] = {}
    kept = []
    for function in pipeline.functions:
        expanded = _expand(function, tuple(bodies[n] for n in function.callees if n in bodies))
        if function.name in inline and function.is_pure and goes(expanded):
            bodies[function.name] = expanded
        else:
            kept.append(expanded)
    return _without_unread(tuple(kept), inline)


def _without_unread(functions: tuple[Function, ...], inline: Set[str]) -> tuple[Function, ...]:
    """The Funcs without those of ``inline`` that no other one reads."""
    kept: list[Function] = []
    read: set[str] = set()
    for function in reversed(functions):
        if function.name in read or function.name not in inline:
            kept.append(function)
            read.update(function.callees)
    return tuple(reversed(kept))


@lru_cache(maxsize=4096)
def _hides_reads(function: Function) -> bool:
    """Whether an inlined Func may not bring all that it and its coordinates read: it is a Tuple, or
    it ignores a coordinate.
    """
    if not function.is_pure:
        return False
    (stage,) = function.stages
    used = frozenset[str]().union(*(e.names for e in (*stage.values, *stage.predicates)))
    return len(stage.values) > 1 or not used.issuperset(function.args)


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
        return inserted(inlined(callee.stages[0], call.component or 0), arguments)

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


def inserted(expr: Expr, arguments: Mapping[str, Expr]) -> Expr:
    """An expression of an inlined Func with coordinates in place of its Vars. Where several numbers
    are added to one, it adds their sum: ``x - 1 + 1`` becomes ``x``, also where it wraps. So a
    stencil of stencils reads each point once, and not once on each way to it.
    """
    if all(isinstance(v, Variable) and v.name == name for name, v in arguments.items()):
        return _in_place(tuple(arguments), expr)
    return Substitution(arguments, _at_offset)(expr)


_MOST_KEPT = 1 << 14
"""The most expressions that are kept for one list of Vars; at this number all are dropped."""


def _in_place(vars: tuple[str, ...], expr: Expr) -> Expr:
    """An expression that is inserted at its own Vars. It keeps the results of parts: in a chain of
    pointwise Funcs each definition contains all before it, and only its own terms are new.
    """
    known = _kept(vars)
    if known.kept > _MOST_KEPT:
        _kept.cache_clear()
        known = _kept(vars)
    return known(expr)


@lru_cache(maxsize=16)
def _kept(vars: tuple[str, ...]) -> Substitution:
    return Substitution({name: Variable(Int32, name) for name in vars}, _at_offset)


def _at_offset(node: Expr) -> Expr:
    match node:
        case Op(name="add" | "sub", type=kind, args=(Op(name="add" | "sub"), Const())) if (
            kind is Int32
        ):
            base, offset = _apart(node)
            if not offset:
                return base
            return base + constant(offset, Int32) if offset > 0 else base - constant(-offset, Int32)
    return node


def _apart(number: Expr) -> tuple[Expr, int]:
    """A whole number without the literals that are added to it, and their sum."""
    offset = 0
    while True:
        match number:
            case Op(name="add", args=(base, Const(value=value))):
                number, offset = base, offset + int(value)
            case Op(name="sub", args=(base, Const(value=value))):
                number, offset = base, offset - int(value)
            case _:
                return number, offset


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
