"""Checks of a Pipeline record that the definition language did not build."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import TypeAlias

from spaces.model.algorithm.estimates import estimate_problems
from spaces.model.algorithm.foreign import different_calls
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.definitions import FOREIGN
from spaces.model.expressions.expr import Call, Const, Expr, Op, Text, Variable, constant, walk
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Float64, Int32, Type

_Signatures: TypeAlias = dict[str, tuple[tuple[Type, ...], int]]
"""For each Func and image: the types of its values, and its number of dimensions."""


def pipeline_problems(pipeline: Pipeline) -> list[str]:
    """The contradictions in ``pipeline``, one sentence each; empty for a sound one."""
    return list(_problems(pipeline))


def _problems(pipeline: Pipeline) -> Iterator[str]:
    signatures: _Signatures = {}
    for image in pipeline.images:
        signatures[image.name] = ((image.type,), image.dimensions)
    names = [
        *(f.name for f in pipeline.functions),
        *(i.name for i in pipeline.images),
        *(s.name for s in pipeline.scalars),
    ]
    scalars = {s.name for s in pipeline.scalars}
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"The name {name!r} is used {names.count(name)} times."
    for function in pipeline.functions:
        # A Func may read itself in its updates.
        signatures[function.name] = (function.types, len(function.args))
        yield from _function_problems(function, signatures)
        for index in range(len(function.stages)):
            yield from _name_problems(function, index, scalars)
    foreign = [one for function in pipeline.functions for one in _foreign_problems(function)]
    yield from foreign or different_calls(pipeline.functions)
    computed = {f.name for f in pipeline.functions}
    if not pipeline.outputs:
        yield "There is no output."
    for output in pipeline.outputs:
        if output not in computed:
            yield f"The output {output!r} is not a Func of the pipeline."
    for estimate in pipeline.estimates:
        known = signatures.get(estimate.buffer)
        if known is None or known[1] != len(estimate.ranges):
            yield f"The estimate of {estimate.buffer!r} does not fit a buffer of the pipeline."
            return
    yield from estimate_problems(pipeline)


def _function_problems(function: Function, signatures: _Signatures) -> Iterator[str]:
    name = function.name
    if not function.types:
        yield f"Func {name} has no element type."
    if not function.stages:
        yield f"Func {name} has no definition."
    for index, stage in enumerate(function.stages):
        if len(stage.args) != len(function.args):
            yield f"Stage {index} of Func {name} has {len(stage.args)} coordinates."
        given = tuple(value.type for value in stage.values)
        if given != function.types:
            wanted = _shown(function.types)
            yield f"Stage {index} of Func {name} gives {_shown(given)}, not {wanted}."
        for predicate in stage.predicates:
            if not predicate.type.is_bool:
                yield f"Stage {index} of Func {name} has a predicate of type {predicate.type}."
        if index == 0 and stage.dimensions != function.args:
            yield f"The first definition of Func {name} is not at its Vars."
        for call in stage.calls:
            known = signatures.get(call.target)
            if known is None:
                yield (
                    f"Func {name} calls {call.target!r}, which is neither an image nor a Func "
                    "before it."
                )
            elif not _fits(call, *known):
                yield f"Func {name} calls {call.target!r} with other dimensions or another type."
            elif call.target == name and index == 0:
                yield f"The pure definition of Func {name} calls {name} itself."


def _foreign_problems(function: Function) -> Iterator[str]:
    """Problems of the values that foreign code computes: they are whole definitions."""
    first = function.stages[0].values if function.stages else ()
    are_foreign = [isinstance(value, Op) and value.name == FOREIGN for value in first]
    roots = set(first) if all(are_foreign) else set()
    for node in walk(*(expr for stage in function.stages for expr in stage.expressions)):
        if isinstance(node, Op) and node.name == FOREIGN and node not in roots:
            yield f"Func {function.name} uses foreign code inside of an expression."
    if not first or not all(are_foreign):
        return
    if len(function.stages) > 1 or function.stages[0].predicates:
        yield f"Func {function.name} has updates or conditions, and foreign code computes it."
    codes = [value.args for value in first if isinstance(value, Op)]
    for number, (symbol, component, cost, *given) in enumerate(codes):
        is_sound = isinstance(symbol, Text) and _is_cost(cost) and _are_arguments(given, function)
        is_same = component is constant(number, Int32) and [cost, *given] == [*codes[0][2:]]
        if not is_sound or not is_same:
            yield f"Func {function.name} does not say which foreign code computes it from what."


def _is_cost(cost: Expr) -> bool:
    return isinstance(cost, Const) and cost.type == Float64 and 0 <= cost.value < math.inf


def _are_arguments(given: Sequence[Expr], function: Function) -> bool:
    """Whether they are reads of inputs, and scalars that know no coordinate and read nothing."""
    scalars = [one for one in given if not isinstance(one, Call)]
    return not any(
        isinstance(node, Call) or (isinstance(node, Variable) and node.name in function.args)
        for node in walk(*scalars)
    )


def _name_problems(function: Function, index: int, scalars: Set[str]) -> Iterator[str]:
    """Problems of names: used twice, in the place of another dimension, or unknown."""
    where, stage = f"Stage {index} of Func {function.name}", function.stages[index]
    for name, count in Counter(stage.dimensions).items():
        if count > 1:
            yield f"{where} runs over {name!r} {count} times."
    reduced = {rvar.name for rvar in stage.rvars}
    for arg, var in zip(stage.args, function.args, strict=False):
        if isinstance(arg, Variable) and arg.name != var and arg.name not in reduced:
            yield f"{where} has {arg.name!r} in the place of {var!r}."
    bounds = [bound for rvar in stage.rvars for bound in (rvar.min, rvar.extent)]
    used = variables(*stage.values, *stage.args, *stage.predicates, *bounds)
    known = {*stage.dimensions, *scalars}
    for name in used:
        if name not in known and not _SIZE.fullmatch(name):
            yield f"{where} uses {name!r}, which is not a Var, RVar, parameter or size."


_SIZE = re.compile(r".+\.(min|extent|stride)\.[0-9]+")


def _fits(call: Call, types: tuple[Type, ...], dimensions: int) -> bool:
    """Whether a call reads an existing component of its type, with one coordinate a dimension."""
    is_tuple = len(types) > 1
    if is_tuple == (call.component is None) or (call.component or 0) >= len(types):
        return False
    return types[call.component or 0] == call.type and dimensions == len(call.args)


def _shown(types: tuple[Type, ...]) -> str:
    return ", ".join(map(str, types)) or "nothing"
