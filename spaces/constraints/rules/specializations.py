"""Rules about the specializations of stages: their conditions and their places."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, Quantity, check, own_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.definitions import FOREIGN, LIKELY_AT, RANDOM, REQUIRE, UNDEFINED
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Bool
from spaces.model.schedules.cases import MOST_CASES, cases
from spaces.model.schedules.conditions import negation
from spaces.model.schedules.schedule import Specialization
from spaces.model.writing.calls import DirectiveCall
from spaces.model.writing.text import format_call

_PARTS = ("min", "extent", "stride")

ONLY_IN_DEFINITIONS = (*RANDOM, UNDEFINED, REQUIRE, FOREIGN, LIKELY_AT)
"""Operators that have a meaning only in a definition."""


def _directive(func: str, one: Specialization) -> str:
    call = DirectiveCall("specialize", (one.condition,))
    if one.failure:
        call = DirectiveCall("specialize_fail", (one.failure,))
    return f"{stage_name(func, one.stage)}.{format_call(call)}"


def _known(pipeline: Pipeline) -> set[str]:
    """The names that conditions may mention."""
    dimensions = {i.name: i.dimensions for i in pipeline.images}
    dimensions |= {n: len(pipeline.function(n).args) for n in pipeline.outputs}
    sizes = {
        f"{b}.{p}.{d}" for b, count in dimensions.items() for d in range(count) for p in _PARTS
    }
    return sizes | {s.name for s in pipeline.scalars}


@own_rule(
    "specialize.condition",
    "A specialization on anything but scalar parameters, and sizes and strides of images and "
    "outputs, is illegal, because the call chooses the case before it computes anything.",
    "Halide refuses conditions that read Funcs or Vars.",
)
def condition(records: Records, func: str) -> Iterator[Check]:
    """One check for each condition that is not about parameters and sizes."""
    written = records.entry(func).specializations
    known = _known(records.pipeline) if written else set()
    for one in written:
        nodes = list(walk(one.condition))
        other = [str(n) for n in nodes if n.loads and not n.children]
        other += [str(n) for n in nodes if n.loads and n.children]
        other += [n.name for n in nodes if isinstance(n, Variable) and n.name not in known]
        strange = {n.name for n in nodes if isinstance(n, Op) and n.name in ONLY_IN_DEFINITIONS}
        other += [f"the operator {name}" for name in sorted(strange)]
        if not 0 <= one.stage < len(records.entry(func).stages):
            other = [f"stage {one.stage}, which {func} has not"]
        if not one.condition.type.is_bool:
            other = [f"a value of type {one.condition.type}"]
        if other:
            yield refuse(
                func,
                "{directive} tests {other}, which is not a size or a parameter of a call.",
                "Test parameters ({scalars}), or sizes and strides of images and outputs.",
                stage=one.stage,
                directive=_directive(func, one),
                other=listed(dict.fromkeys(other)),
                scalars=listed(s.name for s in records.pipeline.scalars),
            )


@own_rule(
    "specialize.inlined",
    "A specialization of an inlined Func is illegal, because an inlined Func has no loops of its "
    "own.",
    "Halide refuses to specialize it.",
)
def inlined(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    if entry.specializations and records.is_inlined(func):
        yield refuse(
            func,
            "{directive} specializes {func}, which is inlined and has no loops of its own.",
            "Specialize the Funcs that read it, or compute it somewhere.",
            stage=entry.specializations[0].stage,
            directive=_directive(func, entry.specializations[0]),
        )


@own_rule(
    "specialize.after-failure",
    "A specialization after `specialize_fail` is illegal, because `specialize_fail` already takes "
    "all remaining calls.",
    "Halide refuses further specializations.",
)
def after_failure(records: Records, func: str) -> Iterator[Check]:
    """One check for each specialization after ``specialize_fail``."""
    failed: set[int] = set()
    for one in records.entry(func).specializations:
        if one.stage in failed:
            yield refuse(
                func,
                "{directive} stands after a specialize_fail, which leaves no case for it.",
                "Put specialize_fail last.",
                stage=one.stage,
                directive=_directive(func, one),
            )
        if isinstance(one.condition, Const) and one.condition.value:
            failed.add(one.stage)


@own_rule(
    "specialize.cases",
    f"Specializations that make more than {MOST_CASES} cases are illegal, because each "
    "case is compiled as a "
    "program of its own.",
    "This library's limit.",
    most=Quantity("most cases of a pipeline", "cases"),
)
def few_cases(records: Records, func: str) -> Iterator[Check]:
    """At most one check, about the last specialized Func."""
    if not records.entry(func).specializations:
        return
    last = [f.name for f in records.schedule.funcs if f.specializations][-1]
    if last == func:
        count = len(list(itertools.islice(cases(records.schedule), MOST_CASES + 1)))
        if count > MOST_CASES:
            yield refuse(
                func,
                "The specializations of the pipeline make more than {most} cases.",
                "Specialize fewer stages, or several for the same conditions.",
                most=MOST_CASES,
            )


@own_rule(
    "specialize.failure",
    "A schedule is illegal at estimated sizes that select `specialize_fail`, because every such "
    "call fails.",
    "Halide's pipelines stop there.",
)
def failure(records: Records, func: str) -> Iterator[Check]:
    """One check for each specialize_fail: one of the conditions before it must hold. It always
    fails if there is no such condition.
    """
    asked: dict[int, Expr] = {}
    written = records.entry(func).specializations
    fails = any(one.failure for one in written)
    never = fails and all(case.failure for case in cases(records.schedule))
    for one in written:
        before = asked.get(one.stage, constant(False, Bool))
        always = isinstance(one.condition, Const) and bool(one.condition.value)
        reached = one.condition if not always else constant(True, Bool)
        if one.failure:
            spared = before if always else Op(Bool, "or", (before, negation(reached)))
            yield check(
                func,
                VIOLATED if never else spared,
                f"{{directive}} refuses {'every' if never else 'the'} call: {{failure}}.",
                "Choose sizes and parameters for which an earlier specialization holds.",
                stage=one.stage,
                failure=one.failure.rstrip("."),
                directive=_directive(func, one),
            )
        asked[one.stage] = reached if one.stage not in asked else Op(Bool, "or", (before, reached))


RULES = (condition, inlined, after_failure, few_cases, failure)
