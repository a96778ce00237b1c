"""What the values of Funcs lie between, from their definitions, as Halide bounds them: an offset
that is clamped where it is defined need not be clamped again where it is read. What is found here
depends on the algorithm and on what is known of the sizes of a call, and is kept.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TypeAlias

from attrs import define

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.definitions import UNDEFINED
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import UNBOUNDED, Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume


@define(slots=False)
class ValueBounds:
    """Intervals of the values of Funcs without updates, at whatever coordinates; their ends mention
    sizes and parameters only. Each is found when it is asked for. ``assumptions`` hold of the sizes
    of all calls that it is asked for.
    """

    pipeline: Pipeline
    assumptions: tuple[Expr, ...] = ()

    def __call__(self, call: Call) -> Interval:
        """What a read of a Func or an image may give: unbounded where only its type is known."""
        return _limits(self.pipeline, self.assumptions, call.target)[call.component or 0]

    @cached_property
    def parameters(self) -> dict[str, Interval]:
        """The limits that are promised of parameters which are no coordinates, where both are
        numbers.
        """
        lows: dict[str, Expr] = {}
        highs: dict[str, Expr] = {}
        for promise in self.pipeline.promises:
            match promise.condition:
                case Op(name="ge", args=(Variable(name=name), Const() as end)):
                    lows[name] = end
                case Op(name="le", args=(Variable(name=name), Const() as end)):
                    highs[name] = end
        return {
            name: Interval(low, highs[name])
            for name, low in lows.items()
            if name in highs and low.type != Int32
        }


_Found: TypeAlias = dict[str, tuple[Interval, ...]]


@lru_cache(maxsize=64)
def _kept(pipeline: Pipeline, assumptions: tuple[Expr, ...]) -> _Found:
    """The intervals of a pipeline's Funcs that are known so far; callers add to it."""
    return {}


def _limits(pipeline: Pipeline, assumptions: tuple[Expr, ...], target: str) -> tuple[Interval, ...]:
    """The interval of each component of a Func; for an image, no limits."""
    found = _kept(pipeline, assumptions)
    if target not in found:
        _find(pipeline, assumptions, target, found)
    return found.setdefault(target, (UNBOUNDED,))


def _find(pipeline: Pipeline, assumptions: tuple[Expr, ...], target: str, found: _Found) -> None:
    simplify = Simplifier()
    for condition in (*(p.condition for p in pipeline.promises), *assumptions):
        assume(simplify, condition)
    parameters = ValueBounds(pipeline).parameters

    def value(call: Call) -> Interval:
        return found.get(call.target, (UNBOUNDED,))[call.component or 0]

    for function in _needed(pipeline, target, found):
        ranges = {**parameters, **dict.fromkeys(function.args, UNBOUNDED)}
        found[function.name] = _values(function, Ranges(simplify, ranges, value))


def _needed(pipeline: Pipeline, target: str, found: _Found) -> list[Function]:
    """The Func ``target`` after the Funcs that it reads and that are not in ``found``. Empty for an
    image. The list avoids recursion, because chains of Funcs can be long.
    """
    functions = {f.name: f for f in pipeline.functions}
    needed, waiting = {target}, [target]
    while waiting:
        function = functions.get(waiting.pop())
        new = set(function.callees if function and function.is_pure else ()) - needed
        new -= found.keys()
        needed |= new
        waiting += new
    return [function for name, function in functions.items() if name in needed]


def _values(function: Function, ranges: Ranges) -> tuple[Interval, ...]:
    values, conditions = function.stages[0].values, function.stages[0].predicates
    is_undefined = any(isinstance(n, Op) and n.name == UNDEFINED for n in walk(*values))
    if not function.is_pure or conditions or is_undefined:
        return (UNBOUNDED,) * len(values)
    return tuple(ranges.of(value) for value in values)
