"""What ranked schedules decide, as a table: a row a schedule, a column a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from attrs import frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.schedules.schedule import Schedule

Decided: TypeAlias = "str | int"

_KINDS = ("parallel", "vectorized", "unrolled", "gpu_block", "gpu_thread")

UNDECIDED = "no"
"""The value of a decision that a schedule leaves at its default."""

_DEFAULTS = {"computed": "not there", "stored": "where computed"}
"""Other names of defaults: Funcs that only some schedules add, and the usual place of storage."""


@frozen(order=True)
class ScheduleDecision:
    """A decision.

    Attributes:
        stage: the Func, or its stage.
        what: what is decided about it, such as ``computed`` or ``split y by``.
    """

    stage: str
    what: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.what}"


def decisions_of(pipeline: Pipeline, schedule: Schedule) -> dict[ScheduleDecision, Decided]:
    """What a schedule decides, without what is default. Loops have the names of the dimensions that
    they are made from: ``y.0`` and ``y.1`` are the outer and the inner part of ``y``.

    >>> decisions_of(pipeline, parse_schedule("f.parallel(y).vectorize(x, 8)", pipeline))
    """
    form = canonical_form(pipeline, schedule)
    inlined = {
        name.removesuffix(" compute")
        for name, value in form.parts.items()
        if name.endswith(" compute") and value == "inline"
    }
    found: dict[ScheduleDecision, Decided] = {}
    for name, value in form.parts.items():
        stage, what = _split_name(name, form)
        if what == "compute":
            found[ScheduleDecision(stage, "computed")] = (
                str(value) if value in ("inline", "root") else f"in {value}"
            )
        elif stage in inlined or what.startswith("kind "):
            continue
        elif what == "store":
            if value != form.parts.get(f"{stage} compute"):
                found[ScheduleDecision(stage, "stored")] = (
                    str(value) if value == "root" else f"in {value}"
                )
        elif what.startswith("factor "):
            found[ScheduleDecision(stage, f"split {what.removeprefix('factor ')} by")] = value
        else:
            found[ScheduleDecision(stage, what)] = value
    for stage, loops in form.loops.items():
        if stage not in inlined:
            found |= _loop_decisions(stage, loops, form)
    for text in form.derivations:
        found[ScheduleDecision("pipeline", text)] = "yes"
    return found


def _split_name(name: str, form: CanonicalForm) -> tuple[str, str]:
    """The stage of a part of a form, and what the part says of it."""
    stages = [stage for stage in form.loops if name.startswith(f"{stage} ")]
    stage = max(stages, key=len) if stages else name.partition(" ")[0]
    return stage, name[len(stage) + 1 :]


def _loop_decisions(
    stage: str, loops: Sequence[str], form: CanonicalForm
) -> dict[ScheduleDecision, Decided]:
    found: dict[ScheduleDecision, Decided] = {}
    kinds = {loop: form.parts.get(f"{stage} kind {loop}") for loop in loops}
    for kind in _KINDS:
        of_kind = [loop for loop in loops if kinds[loop] == kind]
        if of_kind:
            found[ScheduleDecision(stage, kind.replace("_", " "))] = ", ".join(of_kind)
    found[ScheduleDecision(stage, "loops")] = " ".join(loops)
    return found


@frozen
class RankingWords:
    """What ranks some schedules, in the words of tables and charts.

    Attributes:
        quantity: the number of a schedule, such as ``time of a run``; less is better.
        unit: its unit, such as ``ms``; empty without any.
        quantities: several of them, such as ``times``.
        best: what the first schedule is, such as ``fastest``.
        worse: what the others are, such as ``slower``.
        others: what a reader calls those that are not among the best few.
        rows: which schedules are ranked.
    """

    quantity: str
    unit: str
    quantities: str
    best: str
    worse: str
    others: str
    rows: str


@frozen
class RankedSchedule:
    """A schedule of a ranking.

    Attributes:
        name: what a reader calls it, such as ``trial 3``.
        schedule: the schedule.
        value: the number that ranks it.
        source: who proposed it; empty if the name says it.
        is_by_hand: whether a person wrote it.
    """

    name: str
    schedule: Schedule
    value: float
    source: str = ""
    is_by_hand: bool = False


@frozen
class DecisionColumn:
    """A decision in which schedules differ.

    Attributes:
        decision: the decision.
        values: its value in each row of the table; ``no`` or the like
            where a schedule leaves it open.
        share: the part of the differences between the ranked numbers, from 0 to 1, that the values
            explain; corrected for chance, so that many values explain nothing by themselves.
        same: other decisions that divide the schedules in the same way.
    """

    decision: ScheduleDecision
    values: tuple[Decided, ...]
    share: float
    same: tuple[ScheduleDecision, ...] = ()


@frozen
class DecisionTable:
    """The decisions of ranked schedules.

    Attributes:
        ranking: what ranks them.
        rows: the schedules, the best first.
        columns: the decisions in which they differ, those first that explain most.
        common: what all of them decide alike.
        left_out: how many worse schedules the table does not have.
    """

    ranking: RankingWords
    rows: tuple[RankedSchedule, ...]
    columns: tuple[DecisionColumn, ...]
    common: Mapping[ScheduleDecision, Decided]
    left_out: int = 0


def decision_table(
    pipeline: Pipeline, rows: Iterable[RankedSchedule], ranking: RankingWords, left_out: int = 0
) -> DecisionTable:
    """The decisions of some schedules of a pipeline.

    Args:
        pipeline: the pipeline.
        rows: the schedules, the best first.
        ranking: what ranks them.
        left_out: how many worse ones are not given.
    """
    ranked = tuple(rows)
    decided = [decisions_of(pipeline, one.schedule) for one in ranked]
    numbers = tuple(one.value for one in ranked)
    every = dict.fromkeys(decision for row in decided for decision in row)
    common: dict[ScheduleDecision, Decided] = {}
    columns: dict[tuple[int, ...], DecisionColumn] = {}
    for decision in every:
        values = tuple(row.get(decision, _default(decision)) for row in decided)
        parts = _partition(values)
        if max(parts) == 0:
            common[decision] = values[0]
        elif parts in columns:
            first = columns[parts]
            columns[parts] = DecisionColumn(
                first.decision, first.values, first.share, (*first.same, decision)
            )
        else:
            columns[parts] = DecisionColumn(decision, values, explained_share(values, numbers))
    ordered = sorted(columns.values(), key=lambda one: -one.share)
    return DecisionTable(ranking, ranked, tuple(ordered), common, left_out)


def _default(decision: ScheduleDecision) -> str:
    return _DEFAULTS.get(decision.what, UNDECIDED)


def _partition(values: Iterable[Decided]) -> tuple[int, ...]:
    """For each place the number of its value, in the order in which values come."""
    numbers: dict[Decided, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


def explained_share(values: Sequence[Decided], numbers: Sequence[float]) -> float:
    """The part of the variance of the logarithms of numbers, such as times, between the groups of
    equal values: epsilon squared, which is 0 in the mean for groups that say nothing.
    """
    logs = np.log(np.asarray(numbers, float))
    groups = Counter(values)
    free = len(logs) - len(groups)
    whole = float(((logs - logs.mean()) ** 2).sum())
    if free <= 0 or whole <= 0:
        return 0.0
    inside = 0.0
    for value in groups:
        own = logs[[one == value for one in values]]
        inside += float(((own - own.mean()) ** 2).sum())
    per_group = inside / free
    between = whole - inside - (len(groups) - 1) * per_group
    return min(max(between / whole, 0.0), 1.0)


@frozen
class Shared:
    """A decision that the best schedules have in common.

    Attributes:
        decision: the decision.
        value: what they all decide.
        others: how many of the other schedules decide the same.
        of_others: how many others there are.
        same: other decisions that divide the schedules in the same way.
    """

    decision: ScheduleDecision
    value: Decided
    others: int
    of_others: int
    same: tuple[ScheduleDecision, ...] = ()


@frozen
class Differing:
    """A decision in which the best schedules differ: it matters little."""

    decision: ScheduleDecision
    values: tuple[Decided, ...]


@frozen
class SharedByBest:
    """What the best schedules share, and where they differ.

    Attributes:
        best: how many schedules are compared.
        shared: what all of them decide alike, and not all others; the rarest among others first. If
            there are no others, all that they decide alike. What all leave open does not count.
        differing: the decisions in which they differ.
    """

    best: int
    shared: tuple[Shared, ...]
    differing: tuple[Differing, ...]


BEST = 5
"""How many of the best schedules are compared."""


def shared_by_best(table: DecisionTable, best: int = BEST) -> SharedByBest:
    """What the best schedules of a table share."""
    best = min(best, len(table.rows))
    shared: list[Shared] = []
    differing: list[Differing] = []
    for column in table.columns:
        own, others = column.values[:best], column.values[best:]
        if len(set(own)) > 1:
            differing.append(Differing(column.decision, own))
        elif own[0] != _default(column.decision):
            alike = others.count(own[0])
            shared.append(Shared(column.decision, own[0], alike, len(others), column.same))
    if best == len(table.rows):
        shared = [
            Shared(decision, value, 0, 0)
            for decision, value in table.common.items()
            if value != _default(decision)
        ]
    shared.sort(key=lambda one: one.others)
    return SharedByBest(best, tuple(shared), tuple(differing))
