"""Finds directives that combine floats in another order than the algorithm, so that last bits, or
more, may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import asdict, frozen

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.dependences.iterations import dependences
from spaces.constraints.dependences.orders import trace
from spaces.constraints.rules.directive_text import kind_directive, split_directive
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, advice_rule, exact_rule, refuse
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.derivations import RFactor
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.reductions.accumulation import accumulation
from spaces.model.schedules.reductions.associative import KEPT, ROUNDED

_BY_THREADS = {
    LoopKind.PARALLEL: "threads",
    LoopKind.GPU_BLOCK: "GPU blocks",
    LoopKind.GPU_THREAD: "GPU threads",
}


@frozen
class Rounding:
    """A directive that lets a stage combine floats in another order than the algorithm.

    Attributes:
        func: the updated Func.
        stage: 0 for its pure stage, n for its update n - 1.
        loop: the loop that runs in another order; empty if the directive adds a Func.
        directive: the directive as written.
        why: how the results may differ and why, in words.
        varies: whether two runs of the same program may give different results.
    """

    func: str
    stage: int
    loop: str
    directive: str
    why: str
    varies: bool = False

    def __str__(self) -> str:
        return (
            f"{self.directive} combines values of {stage_name(self.func, self.stage)} in another "
            f"order than the algorithm; {self.why}."
        )

    def json(self) -> dict[str, Any]:
        """As a dictionary of JSON's types."""
        return asdict(self)


def roundings(records: Records) -> tuple[Rounding, ...]:
    """All roundings of a schedule that has an entry for each Func, Func by Func."""
    return tuple(one for f in records.pipeline.functions for one in roundings_of(records, f.name))


def roundings_of(records: Records, func: str) -> Iterator[Rounding]:
    """The roundings of the updates of one Func: factored Funcs first, then the loops of each
    update.
    """
    yield from _factored(records, func)
    function = records.function(func)
    for index, (_, order, _) in enumerate(records.stages(func)):
        why = why_order_matters(function, index) if index else ""
        if not why:
            continue
        yield from _reordered(records, func, index, why)
        if index not in records.entry(func).atomic:
            continue
        racing = racing_dimensions(function, index)
        traced = records.stages(func)[index][2]
        for loop in order.loops:
            if not racing.isdisjoint(traced.origins.get(loop.name, frozenset())):
                yield from _at_once(records, func, index, loop.name, why)


def why_order_matters(function: Function, index: int) -> str:
    """The reason why a stage gives other bits in another order of iterations, in words; empty if
    its values are not floats, or its operations are exact.
    """
    if not any(type.is_float for type in function.types):
        return ""
    found = accumulation(function, index)
    return f"{ROUNDED}, and {KEPT}" if found is None else found.inexact


def _factored(records: Records, func: str) -> Iterator[Rounding]:
    """Factored updates: partial results combine after all their values."""
    for step in records.pipeline.derivations:
        # A part of the pipeline may read the partial results as an image.
        if isinstance(step, RFactor) and step.func == func and records.has(step.name):
            # Their update is the one as written. Factored again, it combines by the same operators.
            why = why_order_matters(records.function(step.name), 1)
            if why:
                yield Rounding(func, step.update + 1, "", str(step), why)


def _reordered(records: Records, func: str, index: int, why: str) -> Iterator[Rounding]:
    """Loops that run in another order than written."""
    function = records.function(func)
    stage, order, _ = records.stages(func)[index]
    traced = trace(stage, order, dependences(function, index))
    fused = next((f for f in traced.faults if f.kind == "fuse-order"), None)
    if fused is not None and fused.record is not None:
        directive = split_directive(records, func, index, fused.record)
        yield Rounding(func, index, fused.loop, directive, why)
        return
    given = tuple(name for name in order.names if name in traced.sequence)
    wrong = traced.misplaced(given)
    if wrong is not None:
        directive = f"{stage_name(func, index)}.reorder({', '.join(reversed(given))})"
        yield Rounding(func, index, wrong[0], directive, why)


def _at_once(records: Records, func: str, index: int, loop: str, why: str) -> Iterator[Rounding]:
    """Concurrent iterations that change the same element in turn."""
    kind = records.entry(func).stages[index].kind(loop)
    directive = kind_directive(records, func, index, loop)
    if kind in _BY_THREADS:
        who = _BY_THREADS[kind]
        why = f"{why}, and {who} come in another order in each run"
        yield Rounding(func, index, loop, directive, why, varies=True)
    elif kind is LoopKind.VECTORIZED:
        yield Rounding(func, index, loop, directive, why)


def _checks(records: Records, func: str, advice: str) -> Iterator[Check]:
    for one in roundings_of(records, func):
        yield refuse(
            func,
            "{directive} combines values of {stage_name} in another order than the algorithm; "
            "{why}.",
            advice,
            stage=one.stage,
            loop=one.loop,
            directive=one.directive,
            why=one.why,
        )


@exact_rule(
    "exact.order",
    "A directive that combines floats in another order than the algorithm is illegal if the "
    "caller asks for exact results, because float sums and products then round differently.",
    "Float sums and products are not associative (IEEE 754); Halide allows all of these "
    "directives.",
)
def exact_order(records: Records, func: str) -> Iterator[Check]:
    """One check for each directive that lets updates of a Func combine floats in another order."""
    yield from _checks(
        records,
        func,
        "Leave it out, calculate with integers, or do without results that are exact.",
    )


@advice_rule(
    "advice.rounding",
    "A directive that combines floats in another order than the algorithm may change results, "
    "because float sums and products then round differently.",
    "Float sums and products are not associative (IEEE 754); with atomic() results may differ "
    "from run to run.",
)
def advised(view: NestView, func: str) -> Iterator[Check]:
    """One check for each directive that lets updates of a Func combine floats in another order."""
    advice = "verify(..., exact=True) refuses it."
    yield from _checks(view.records, func, advice)
