"""Runs the rules, and evaluates their formulas to numbers."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.verdict import SizeCondition
from spaces.constraints.rules import specializations
from spaces.constraints.rules.bounds import unbounded, unbounded_check
from spaces.constraints.rules.catalogue import (
    CALL_RULES,
    EXACT_RULES,
    MATCH_RULES,
    NEST_RULES,
    OWN_RULES,
    PIPELINE_RULES,
    PROOF_RULES,
)
from spaces.constraints.rules.findings import Asked, Violation, fails, violation
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, Undecided
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.bounds import Bounds, KnownBounds
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.cases import Case, holds, is_specialized
from spaces.model.schedules.schedule import Schedule


def ask_pipeline(pipeline: Pipeline, device: Device) -> Iterator[Asked]:
    """The checks of the rules that read no schedule."""
    for rule in PIPELINE_RULES:
        for check in rule.check((pipeline, device), pipeline.name):
            yield Asked(rule, check)


@lru_cache(maxsize=256)
def pipeline_faults(pipeline: Pipeline, device: Device) -> tuple[Violation, ...]:
    """The violations that every schedule of a pipeline has on a device; computed once."""
    return judge(ask_pipeline(pipeline, device), pipeline.usual_values()).violations


def ask_matching(pipeline: Pipeline, schedule: Schedule) -> Iterator[Asked]:
    """The checks of the rules about which entries a schedule has."""
    for rule in MATCH_RULES:
        for check in rule.check((pipeline, schedule), pipeline.name):
            yield Asked(rule, check)


def ask_records(records: Records, *, exact: bool = False) -> Iterator[Asked]:
    """The checks of all rules about records, Func by Func; with ``exact`` those for exact results
    follow.
    """
    for function in records.pipeline.functions:
        yield from ask_own(records, function.name)
        yield from ask_calls(records, function.name)
    if exact:
        yield from ask_exact(records)


def ask_specializations(records: Records) -> Iterator[Asked]:
    """The checks about specializations, which concern the whole schedule."""
    for function in records.pipeline.functions:
        for rule in specializations.RULES:
            for check in rule.check(records, function.name):
                yield Asked(rule, check)


def ask_own(records: Records, func: str) -> Iterator[Asked]:
    """The checks that depend on the entry of one Func only."""
    for rule in OWN_RULES:
        for check in rule.check(records, func):
            yield Asked(rule, check)


def ask_calls(records: Records, func: str) -> Iterator[Asked]:
    """The checks that depend on the entries of a Func and its consumers."""
    for rule in CALL_RULES:
        for check in rule.check(records, func):
            yield Asked(rule, check)


def ask_exact(records: Records) -> Iterator[Asked]:
    """The checks of the rules for exact results, Func by Func."""
    for function in records.pipeline.functions:
        for rule in EXACT_RULES:
            for check in rule.check(records, function.name):
                yield Asked(rule, check)


def judged_in(pipeline: Pipeline, case: Case) -> Pipeline:
    """The pipeline; without estimates and defaults if these select another case."""
    values = pipeline.usual_values()
    known = [c for c in case.assumptions if all(name in values for name in c.names)]
    if all(holds(condition, values) for condition in known):
        return pipeline
    scalars = tuple(evolve(scalar, default=None) for scalar in pipeline.scalars)
    return evolve(pipeline, estimates=(), scalars=scalars)


class _Local(threading.local):
    """What each thread keeps from verdict to verdict: normal forms. The nests of similar schedules
    simplify mostly the same expressions.
    """

    def __init__(self) -> None:
        self.forms = KnownForms(most=1 << 14)


_local = _Local()


def bounds_of(
    pipeline: Pipeline,
    schedule: Schedule,
    assumptions: tuple[Expr, ...] = (),
    memo: NestMemo | None = None,
) -> Bounds | Asked:
    """The bounds of a schedule that satisfies the rules about records, or the failed check if it
    has no bounds. Placements that the ``memo`` knows are not made again.
    """
    try:
        memo = NestMemo(KnownBounds(forms=_local.forms)) if memo is None else memo
        bounds = memo.bounds(pipeline, schedule, assumptions)
        bounds.inputs  # noqa: B018  image reads need limits, too
        return bounds
    except UnboundedError as error:
        return Asked(unbounded, unbounded_check(error))


def ask_nest(bounds: Bounds | Asked, device: Device) -> Iterator[Asked]:
    """The checks of all rules about the loop nest, Func by Func."""
    if isinstance(bounds, Asked):
        yield bounds
    else:
        yield from ask_bounds(bounds, device, bounds.placements)


def ask_bounds(bounds: Bounds, device: Device, funcs: Iterable[str]) -> Iterator[Asked]:
    """The checks about the loop nest of some computed Funcs."""
    view = NestView.of(bounds, device)
    for name in funcs:
        for rule in NEST_RULES:
            for check in rule.check(view, name):
                yield Asked(rule, _decided(check, view.loop_variables))


def ask_proofs(undecided: Undecided) -> Iterator[Asked]:
    """The checks about what proofs leave undecided, Func by Func."""
    for func in undecided.left:
        for rule in PROOF_RULES:
            for check in rule.check(undecided, func):
                yield Asked(rule, check)


def _decided(check: Check, loops: frozenset[str]) -> Check:
    """The check; violated if it still depends on loop variables, because it must hold in all
    iterations and no limit over them was found.
    """
    if loops.isdisjoint(check.holds.names):
        return check
    return evolve(
        check,
        holds=VIOLATED,
        advice="No limit of it is found; leave this out, or read through clamp(..., low, high).",
        values={
            name: "an unknown number"
            if isinstance(value, Expr) and not loops.isdisjoint(value.names)
            else value
            for name, value in check.values.items()
        },
    )


@frozen
class Judgement:
    """The result of some checks: violations, and the remaining conditions on sizes."""

    violations: tuple[Violation, ...]
    size_conditions: tuple[SizeCondition, ...]


def judge(asked: Iterable[Asked], sizes: Mapping[str, float]) -> Judgement:
    """Decides each check, at the usual ``sizes`` if it depends on sizes or on parameters.

    A check that depends on a size without an estimate, or on a parameter without a default, becomes
    a size condition. So does one that depends on sizes and holds at the estimates: other sizes may
    break it.
    """
    violations: list[Violation] = []
    size_conditions: list[SizeCondition] = []
    done: dict[Expr, int] = {}
    for item in asked:
        if fails(item.check, sizes, done):
            violations.append(violation(item, sizes))
        elif item.check.holds.names:
            size_conditions.append(SizeCondition(item.rule.id, item.check))
    return Judgement(tuple(violations), tuple(size_conditions))


def record_violations(
    pipeline: Pipeline, schedule: Schedule, device: Device, *, exact: bool = False
) -> tuple[Violation, ...]:
    """The violations of a schedule that are found without its loop nest: at the estimates those of
    the rules about records, or about which entries it has. A specialized schedule has none here:
    its cases are judged one by one.
    """
    if is_specialized(schedule):
        return ()
    found = judge(ask_matching(pipeline, schedule), {}).violations
    if found:
        return found
    records = Records(pipeline, schedule, device)
    return judge(ask_records(records, exact=exact), pipeline.usual_values()).violations
