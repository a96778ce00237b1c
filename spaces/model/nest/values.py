"""What the values of Funcs lie between, from their definitions, as Halide bounds them: an offset
that is clamped where it is defined need not be clamped again where it is read.
"""

from __future__ import annotations

from functools import cached_property

from attrs import define, field

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.definitions import UNDEFINED
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.regions import UNBOUNDED, Interval, Ranges
from spaces.model.formulas.simplify import Simplifier


@define(slots=False)
class ValueBounds:
    """Intervals of the values of Funcs without updates, at whatever coordinates; their ends mention
    sizes and parameters only. Each is found when it is asked for.
    """

    pipeline: Pipeline
    simplify: Simplifier
    _found: dict[str, tuple[Interval, ...]] = field(init=False, factory=dict)

    def __call__(self, call: Call) -> Interval:
        """What a read of a Func or an image may give: unbounded where only its type is known."""
        if call.target not in self._found:
            self._find(call.target)
        return self._found[call.target][call.component or 0]

    def _find(self, target: str) -> None:
        """Producers first: so many may stand in a row that none calls for those before it."""
        functions = {f.name: f for f in self.pipeline.functions}
        needed, waiting = {target}, [target]
        while waiting:
            function = functions.get(waiting.pop())
            new = set(function.callees if function and function.is_pure else ()) - needed
            needed |= new
            waiting += new
        for name in needed - functions.keys():
            self._found[name] = (UNBOUNDED,)
        for name, function in functions.items():
            if name in needed and name not in self._found:
                self._found[name] = self._of(function)

    def _of(self, function: Function) -> tuple[Interval, ...]:
        values, conditions = function.stages[0].values, function.stages[0].predicates
        is_undefined = any(isinstance(n, Op) and n.name == UNDEFINED for n in walk(*values))
        if not function.is_pure or conditions or is_undefined:
            return (UNBOUNDED,) * len(values)
        everywhere = dict.fromkeys(function.args, UNBOUNDED)
        ranges = Ranges(self.simplify, {**self.parameters, **everywhere}, self)
        return tuple(ranges.of(value) for value in values)

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
