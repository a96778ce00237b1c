"""Two schedules of a pipeline side by side: what differs, in sentences and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from spaces.backend.profiling.profile import Profile
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.explain import PriceDifference, explain
from spaces.features import facts as sentences
from spaces.features.facts import Fact
from spaces.markup.element import Child, Markup, joined, table, tag
from spaces.markup.quantities import shown_bytes, shown_count, shown_seconds
from spaces.model.schedules.schedule import StageOf
from spaces.pages.facts import FuncFact, ScheduleFacts

Compared: TypeAlias = tuple[CheckedSchedule, ScheduleFacts, Profile | None]
"""A legal schedule, its numbers, and where the time of a run goes if that is known."""

_TOLD: tuple[Fact, ...] = (
    sentences.LEVEL,
    sentences.EVALUATIONS,
    sentences.REDUNDANT,
    sentences.STORAGE,
)
"""What differs between two schedules of any devices, and matters."""

_ON_ONE_DEVICE = (sentences.LANES, sentences.TASKS)
"""What says something only between two schedules for one device."""

_ON_GPUS = (sentences.KERNEL,)
"""What says something only between two schedules for GPUs."""

_MOST = 24
"""The page has a sentence for this many Funcs; the table has all."""


def difference_view(first: Compared, second: Compared, names: tuple[str, str]) -> Markup:
    """What differs between two legal schedules: their costs or times as a whole, a paragraph for
    each Func, and a table of both.
    """
    opening = [tag("p", "The first schedule is ", tag("b", names[0]), ", the second ",
                 tag("b", names[1]), ".")]  # fmt: skip
    opening += [tag("p", text) for text in _whole(first, second)]
    explained = _explained(first[0], second[0])
    reasons = () if explained is None else explained.reasons[:_MOST]
    told = []
    for name, lines in _of_funcs(first[1], second[1], reasons):
        told.append(tag("li", tag("b", name), ": ", " ".join(lines), data_func=name))
    left = len(told) - _MOST
    more = tag("p", f"... and {left} more Funcs differ.") if left > 0 else None
    listed = tag("ul", told[:_MOST], class_="differences") if told else None
    same = None if told or reasons else tag("p", "No number of a Func differs.")
    whole = None if explained is None else tag("p", str(explained).splitlines()[0])
    why = tag("ol", [tag("li", reason) for reason in reasons]) if reasons else None
    numbers = tag("div", _table(first[1], second[1], names), class_="scroll")
    return joined(opening, whole, why, listed, more, same, numbers)


def _whole(first: Compared, second: Compared) -> Iterator[str]:
    one, other = first[2], second[2]
    if one is not None and other is not None:
        slow, fast = (
            max(one.plain_seconds, other.plain_seconds),
            min(one.plain_seconds, other.plain_seconds),
        )
        which = "first" if one.plain_seconds < other.plain_seconds else "second"
        unsure = one.is_disturbed or other.is_disturbed
        yield (
            f"A run takes {shown_seconds(one.plain_seconds)} under the first schedule and "
            f"{shown_seconds(other.plain_seconds)} under the second"
            + (_UNSURE if unsure else f": the {which} is {slow / fast:.2f} times as fast.")
        )
    if first[0].device != second[0].device:
        yield (
            f"The first is for {first[0].device.name}, the second for {second[0].device.name}: "
            "their prices are in different units, and are not compared."
        )
    totals = [sum(f.points for f in side[1].funcs) for side in (first, second)]
    if totals[0] != totals[1]:
        yield (
            f"The first evaluates {shown_count(totals[0])} values in all, the second "
            f"{shown_count(totals[1])}."
        )
    kept = [_bytes_kept(side[1]) for side in (first, second)]
    if kept[0] != kept[1]:
        yield (
            f"One allocation of each Func, all together, takes {shown_bytes(kept[0])} in the "
            f"first and {shown_bytes(kept[1])} in the second."
        )


_UNSURE = ", but other programs ran meanwhile, so this does not say which one is faster."


def _bytes_kept(facts: ScheduleFacts) -> float:
    return sum(f.storage.bytes for f in facts.funcs if f.storage is not None)


def _explained(first: CheckedSchedule, second: CheckedSchedule) -> PriceDifference | None:
    """Why one costs more, by the model of their device."""
    try:
        return explain(first, second)
    except ValueError:  # of two devices, or not to be priced
        return None


def _of_funcs(
    first: ScheduleFacts, second: ScheduleFacts, reasons: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """For each Func sentences about what differs, without those that a reason has."""
    one, other = first.features, second.features
    if one is None or other is None:
        return
    told = _TOLD if first.device != second.device else (*_TOLD, *_ON_ONE_DEVICE)
    if first.kernels and second.kernels:
        told = (*told, *_ON_GPUS)
    for name in _funcs(first, second):
        left, right = one.computed(name), other.computed(name)
        if left is None and right is None:
            continue
        if left is None or right is None:
            which, features = ("first", one) if left is None else ("second", other)
            yield name, [sentences.absence(which, features, name)]
            continue
        lines = []
        for stage, (a, b) in enumerate(zip(left.stages, right.stages, strict=False)):
            found = [fact.difference((one, a), (other, b)) for fact in told]
            said = [one for one in reasons if one.startswith(f"{StageOf(name, stage)}:")]
            differing = [line for line in found if line and not any(line in one for one in said)]
            lines += [f"{StageOf(name, stage)}:"] * bool(stage and differing) + differing
        if lines:
            yield name, lines


def _funcs(first: ScheduleFacts, second: ScheduleFacts) -> Iterable[str]:
    return dict.fromkeys([f.name for f in (*first.funcs, *second.funcs)])


def _table(first: ScheduleFacts, second: ScheduleFacts, names: tuple[str, str]) -> Markup:
    columns = ["Func"]
    shown = [("computed", _level), ("evaluations", _evaluations), ("one allocation", _allocation)]
    shown += [] if first.kernels or second.kernels else [("lanes", _lanes)]
    for what, _ in shown:
        columns += [f"{what}: {names[0]}", names[1]]
    rows: list[list[Child]] = []
    for name in _funcs(first, second):
        pair = [facts.by_name.get(name) for facts in (first, second)]
        if all(one is None or one.role == "inlined" for one in pair):
            continue
        row: list[Child] = [tag("span", name, data_func=name)]
        for _, text in shown:
            one, other = (text(fact) for fact in pair)
            differs = "differs" if one != other else None
            row += [tag("span", one, class_=differs), tag("span", other, class_=differs)]
        rows.append(row)
    return table(columns, rows, "both")


def _level(fact: FuncFact | None) -> str:
    return "-" if fact is None else fact.compute


def _evaluations(fact: FuncFact | None) -> str:
    return shown_count(fact.points) if fact is not None and fact.stages else "-"


def _allocation(fact: FuncFact | None) -> str:
    if fact is None or fact.storage is None or fact.role == "output":
        return "-"
    return shown_bytes(fact.storage.bytes)


def _lanes(fact: FuncFact | None) -> str:
    if fact is None or not fact.stages:
        return "-"
    return shown_count(max(stage.lanes for stage in fact.stages))
