"""The call that judges whether a schedule is legal for a device, and says why not."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.judge import (
    ask_exact,
    ask_matching,
    ask_nest,
    ask_proofs,
    ask_records,
    ask_specializations,
    bounds_of,
    judge,
    judged_in,
    pipeline_faults,
)
from spaces.constraints.legality.kept_values import undecided
from spaces.constraints.legality.partial import ask_other_nest, ask_other_records, mended
from spaces.constraints.legality.verdict import (
    CheckedSchedule,
    Illegal,
    JudgedSchedule,
    SizeCondition,
    Verdict,
)
from spaces.constraints.rules.estimates import is_repeated, shortages
from spaces.constraints.rules.findings import Violation, stated_under
from spaces.constraints.rules.inlining import inline_size, is_soon_inlined
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.recursion import in_one_chunk
from spaces.model.schedules.cases import Case, cases, is_specialized
from spaces.model.schedules.conditions import assume, implied
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


@in_one_chunk
def verify(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    *,
    exact: bool = False,
    memo: NestMemo | None = None,
) -> Verdict:
    """Judges whether ``schedule`` is legal for ``pipeline`` on ``device``.

    Finds all violations: if an entry is wrong, the rules still judge the Funcs whose place does not
    depend on it. Violations that every schedule of the pipeline has, such as contradictory
    estimates, come first.

    Sizes of outputs and images are the pipeline's estimates. Conditions on sizes without an
    estimate become ``size_conditions`` of the :class:`CheckedSchedule`.

    Args:
        pipeline: the algorithm.
        schedule: the schedule to judge.
        device: the device to run on.
        exact: refuse schedules whose results may differ in any bit from those of the algorithm
            because they combine floats in another order. By default these are legal, and
            ``rounding`` of the :class:`CheckedSchedule` lists the places.
        memo: what verdicts on similar schedules have found; the verdict is the same without. The
            bounds of a :class:`CheckedSchedule` keep it alive.

    Raises:
        TypeError: something else is given than a Pipeline, a Schedule and a Device.
    """
    check_given("verify", pipeline=pipeline, schedule=schedule, device=device)
    faults = pipeline_faults(pipeline, device)
    verdict = _verify_schedule(pipeline, schedule, device, exact, memo)
    judged = JudgedSchedule(pipeline, schedule, device)
    if not faults:
        return Illegal(verdict.violations, judged) if isinstance(verdict, Illegal) else verdict
    short = shortages(pipeline)
    own = (v for v in verdict.violations if not is_repeated(v, short))
    return Illegal((*faults, *own), judged)


def _verify_schedule(
    pipeline: Pipeline, schedule: Schedule, device: Device, exact: bool, memo: NestMemo | None
) -> Verdict:
    """The verdict on a schedule of a pipeline without faults of its own."""
    if not is_specialized(schedule):
        return _verify(pipeline, schedule, device, (), exact, memo)
    found = judge(ask_matching(pipeline, schedule), {})
    pipeline = derived(pipeline, schedule)
    if not found.violations:
        records = Records(pipeline, schedule, device)
        found = judge(ask_specializations(records), pipeline.usual_values())
    if found.violations:
        return Illegal(found.violations)
    verdicts = [_case(pipeline, c, device, exact, memo) for c in cases(schedule) if not c.failure]
    return _of_cases(schedule, found.size_conditions, verdicts)


@in_one_chunk
def verify_rest(
    pipeline: Pipeline, schedule: Schedule, device: Device, unread: Collection[str]
) -> tuple[Violation, ...]:
    """The violations of a schedule with unknown entries for some Funcs, for instance Funcs with
    mistakes in their text. The rules judge the Funcs whose place does not depend on those.

    Raises:
        TypeError: something else is given than a Pipeline, a Schedule and a Device.
    """
    check_given("verify_rest", pipeline=pipeline, schedule=schedule, device=device)
    broken = frozenset(unread) & {entry.name for entry in schedule.funcs}
    entries = (
        attrs.evolve(entry, specializations=()) if entry.name in broken else entry
        for entry in schedule.funcs
    )
    schedule = schedule.with_funcs(entries)
    found: list[Violation] = []
    for case in cases(schedule):
        if not case.failure:
            judged = judged_in(pipeline, case)
            found += _where(case, _violations(judged, case.schedule, device, broken))
    return (*pipeline_faults(pipeline, device), *_once_each(found))


def _case(
    pipeline: Pipeline, case: Case, device: Device, exact: bool, memo: NestMemo | None
) -> Verdict:
    """One case of a specialized schedule."""
    judged = judged_in(pipeline, case)
    verdict = _verify(judged, case.schedule, device, case.assumptions, exact, memo)
    if isinstance(verdict, CheckedSchedule):
        return attrs.evolve(verdict, pipeline=pipeline)
    return Illegal(_where(case, verdict.violations))


def _where(case: Case, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """The violations of a case, with the condition of the case."""
    return tuple(stated_under(v, case.assumptions) for v in violations)


def _of_cases(
    schedule: Schedule, size_conditions: tuple[SizeCondition, ...], verdicts: list[Verdict]
) -> Verdict:
    """The verdict on a schedule from the verdicts on its cases: the last one, with the requirements
    of the others under their conditions.
    """
    checked = tuple(v for v in verdicts if isinstance(v, CheckedSchedule))
    if len(checked) < len(verdicts):
        return Illegal(_once_each([v for verdict in verdicts for v in verdict.violations]))
    required = list(size_conditions)
    for case in checked:
        knowing = Simplifier()
        for assumption in case.bounds.assumptions:
            assume(knowing, assumption)
        for one in case.size_conditions:
            if all(one in other.size_conditions for other in checked):
                required.append(one)
                continue
            known = knowing(one.condition)
            if not (isinstance(known, Const) and known.value):
                holds = implied(case.bounds.assumptions, one.condition)
                required.append(SizeCondition(one.rule, attrs.evolve(one.check, holds=holds)))
    once = tuple(r for i, r in enumerate(required) if r not in required[:i])
    return attrs.evolve(checked[-1], schedule=schedule, size_conditions=once, cases=checked)


def _once_each(violations: list[Violation]) -> tuple[Violation, ...]:
    """Violations of several cases, each reported for its first case."""
    first: dict[tuple[str, str, int, str], Violation] = {}
    for one in violations:
        first.setdefault((one.rule, one.func, one.stage, one.loop), one)
    return tuple(first.values())


def _verify(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    assumptions: tuple[Expr, ...],
    exact: bool,
    memo: NestMemo | None,
) -> Verdict:
    found = _violations(pipeline, schedule, device, frozenset())
    if exact:
        found += _inexact(pipeline, schedule, device)
    if found:
        return Illegal(found)
    sizes = pipeline.usual_values()
    pipeline = derived(pipeline, schedule)
    bounds = bounds_of(pipeline, schedule, assumptions, memo)
    judgement = judge(ask_nest(bounds, device), sizes)
    if judgement.violations or not isinstance(bounds, Bounds):
        return Illegal(judgement.violations)
    checked = CheckedSchedule(pipeline, schedule, device, bounds, judgement.size_conditions)
    left = undecided(checked)
    refused = () if left is None else judge(ask_proofs(left), sizes).violations
    return Illegal(refused) if refused else checked


def _inexact(pipeline: Pipeline, schedule: Schedule, device: Device) -> tuple[Violation, ...]:
    """The places of a complete schedule where results may differ from those of the algorithm."""
    if judge(ask_matching(pipeline, schedule), {}).violations:
        return ()
    return judge(ask_exact(Records(pipeline, schedule, device)), {}).violations


def _violations(
    pipeline: Pipeline, schedule: Schedule, device: Device, unread: frozenset[str]
) -> tuple[Violation, ...]:
    """The violations of the known entries; rules about the loop nest are not included if all
    entries are well formed.
    """
    sizes = pipeline.usual_values()
    found = judge(ask_matching(pipeline, schedule), {}).violations
    if any(violation.rule == inline_size.id for violation in found):
        return found  # the Funcs that all other rules read would be too large
    broken = unread | {violation.func for violation in found}
    pipeline = derived(pipeline, schedule)
    if unread and not is_soon_inlined(pipeline, mended(pipeline, schedule, broken)):
        return found  # the rest of a text with mistakes is judged only if that is quick
    if broken:
        records = ask_other_records(pipeline, schedule, device, broken)
    else:
        records = ask_records(Records(pipeline, schedule, device))
    found += judge(records, sizes).violations
    broken |= {violation.func for violation in found}
    if not broken:
        return ()
    rest = ask_other_nest(pipeline, schedule, device, broken)
    return found + judge(rest, sizes).violations
