"""Whether a half-decided schedule may become legal.

The decided Funcs are a whole schedule of a smaller pipeline, which reads the open Funcs as images.
If they are specialized, each case is such a schedule. A completion has at least one case like it,
since conditions do not depend on each other. A rule about records reads the entry of a Func and
those of its consumers, which are decided before it: what it finds stays. A rule about the loop nest
reads the boxes around a Func, which its consumers need, or sums what a kernel needs: what it finds
stays, with three exceptions.

- A Func that is decided later may be computed with one that is decided now. Fused loops have the
  same kinds as before and are at least as long, so they can only cure that a loop is too short.
- A coordinate that reads an open Func may have other limits once that Func is decided, as it may be
  inlined.
- A Func that is decided later may be specialized for a condition that limits sizes or parameters.
  In each case, all Funcs may then need fewer values. No check of the loop nest counts then, and if
  a decided Func is specialized for such a condition, no check counts at all: a case that nothing
  satisfies may vanish.

The checks of Funcs that the first two exceptions concern do not count, nor do those of the Funcs
inside their loops and of all their producers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from spaces.constraints.legality.judge import (
    ask_nest,
    ask_records,
    ask_specializations,
    bounds_of,
    judged_in,
)
from spaces.constraints.legality.lattice import is_violated
from spaces.constraints.rules.bounds import image_overrun, smaller_than_tile, unbounded
from spaces.constraints.rules.findings import Asked, failing
from spaces.constraints.rules.records import Records
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.process.final_funcs import funcs_around, joinable, unknown_reads
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.specializing import most_cases, offered_conditions
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.cases import MOST_CASES, cases, is_specialized
from spaces.model.schedules.conditions import tells_limits
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Schedule

_CURED_BY_LONGER_LOOPS = (smaller_than_tile, unbounded)
"""The rules that a fused loop may satisfy though one of its stages alone does not: it runs over the
domains of all its stages.
"""


def may_become_legal(state: ProcessState) -> bool:
    """Whether any completion of a state may be legal at the estimates and the further sizes. False
    only if none is.
    """
    return next(lasting_faults(state), None) is None


def lasting_faults(state: ProcessState) -> Iterator[LastingFault]:
    """What makes every completion of a state illegal, whatever the open Funcs are.

    Rules about the loop nest count if all factors of the decided Funcs have numbers: some limits
    are found only with numbers.
    """
    decided = frozenset(entry.name for entry in state.entries)
    together = {c.other.func for entry in state.entries for c in entry.companions}
    if not decided or together - decided:
        return
    part = decided_part(state.pipeline, decided)
    schedule = bind(Schedule(state.entries, part.derivations), state.numbers)
    has_limits = any(map(tells_limits, _conditions(state)))
    if has_limits and is_specialized(schedule):
        return
    found = tuple(itertools.islice(cases(schedule), MOST_CASES + 1))
    if len(found) > MOST_CASES:
        records = Records(part, schedule, state.device)
        asked = filter(is_violated, ask_specializations(records))
        yield from (LastingFault(item) for item in asked)
        return
    sized = [part, *(evolve(part, estimates=size) for size in state.further)]
    for case in found:
        if not case.failure:
            sizes = [judged_in(one, case).usual_values() for one in sized]
            yield from _faults_of_case(state, part, case.schedule, sizes, has_limits)


@frozen
class LastingFault:
    """A failed check.

    Attributes:
        asked: the check, with its rule.
        size: the place of the further size at which it fails; None for the estimates.
    """

    asked: Asked
    size: int | None = None


def _faults_of_case(
    state: ProcessState,
    part: Pipeline,
    schedule: Schedule,
    all_sizes: Sequence[Mapping[str, float]],
    has_limits: bool,
) -> Iterator[LastingFault]:
    """The checks that a case of the decided Funcs fails, and goes on to fail; those of the loop
    nest if it fails no other.
    """
    records = Records(part, schedule, state.device)
    found = _failing(tuple(ask_records(records, exact=state.choices.exact)), all_sizes)
    first = next(found, None)
    if first is not None:
        yield first
        yield from found
        return
    decided = frozenset(entry.name for entry in schedule.funcs)
    is_open = len(decided) < len(state.pipeline.functions)
    if parameters(schedule) or (has_limits and is_open):
        return
    bounds = bounds_of(part, schedule, memo=state.nests)
    for fault in _failing(tuple(ask_nest(bounds, state.device)), all_sizes):
        if _stays(state, decided, fault.asked):
            yield fault


def _failing(
    asked: Sequence[Asked], all_sizes: Sequence[Mapping[str, float]]
) -> Iterator[LastingFault]:
    """The checks that fail at any of some sizes, the estimates first."""
    for number, sizes in enumerate(all_sizes):
        for item in failing(asked, sizes):
            yield LastingFault(item, number - 1 if number else None)


def _conditions(state: ProcessState) -> Iterator[Expr]:
    """The conditions for which Funcs are specialized, or may be."""
    for entry in (*state.entries, *state.given):
        yield from (one.condition for one in entry.specializations)
    offered = offered_conditions(state.pipeline, state.device)
    if most_cases(state, len(offered)):
        yield from offered


def _stays(state: ProcessState, decided: frozenset[str], failed: Asked) -> bool:
    """Whether a failed check of the loop nest fails whatever the open Funcs are."""
    about = failed.check.loop if failed.rule is image_overrun else failed.check.func
    if about not in decided and not state.pipeline.is_image.get(about, False):
        return False
    changing = unknown_reads(state.pipeline, state.entries)
    if "compute_with" in state.choices.directives and failed.rule in _CURED_BY_LONGER_LOOPS:
        changing |= joinable(state.pipeline, decided)
    return about not in funcs_around(state.pipeline, state.entries, changing)
