"""Why one schedule costs more than another: the parts of their prices that differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.cost.batch import Batch
from spaces.cost.model import CostFunction, CostModel, UncertainModel
from spaces.cost.price import SchedulePrice, price
from spaces.cost.registry import cost_model, default_model
from spaces.features import facts
from spaces.features.facts import Fact
from spaces.features.features import Features
from spaces.features.records import StageFeatures
from spaces.markup.card import Card, Cell, Table, WrittenNumber, card, few, more, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.articles import shown_kind
from spaces.model.schedules.schedule import StageOf
from spaces.model.showing import few_lines, outline

_EXPLAINED = 0.9
"""The largest differences get a sentence, until they make this share of all differences."""

_ROUNDING = 1e-12
"""Costs that differ by a smaller share are sums of equal numbers in another order."""

_ROWS = 12
"""The most rows of the table, and the most sentences, that an explanation prints."""


@frozen
class _Cause:
    """A kind of cost.

    Attributes:
        says: the kind in words, as the subject of a sentence.
        facts: what may differ between two schedules, and matters for this kind.
    """

    says: str
    facts: tuple[Fact, ...]


_EVALUATED = (facts.LEVEL, facts.EVALUATIONS, facts.REDUNDANT)
_WORK = (*_EVALUATED, facts.CALLS, facts.OPERATIONS, facts.READS)
_COMPUTED = (facts.KERNEL, *_WORK, facts.LANES, facts.TASKS)
_MOVED = (*_EVALUATED, facts.READS, facts.STORAGE, facts.TASKS)

_CAUSES: Mapping[str, _Cause] = {
    "compute": _Cause("computing", _COMPUTED),
    "from_l2": _Cause("moving lines from the second-level cache", _MOVED),
    "from_l3": _Cause("moving lines from the third-level cache", _MOVED),
    "from_memory": _Cause("moving lines from memory", _MOVED),
    "allocation": _Cause("allocating", (facts.LEVEL, facts.ALLOCATIONS, facts.STORAGE)),
    "overhead": _Cause("running parallel loops", (facts.STARTS, facts.ITERATIONS)),
    "kernel": _Cause("its kernel", (facts.KERNEL,)),
    "host": _Cause("computing on the host", (facts.KERNEL, *_WORK)),
    "loads": _Cause("loading values", (*_EVALUATED, facts.LOADS)),
    "arith": _Cause("arithmetic", (*_EVALUATED, facts.OPERATIONS)),
    "math": _Cause("calls of functions", (*_EVALUATED, facts.OPERATIONS)),
    "mem": _Cause("the size of its storage", (facts.LEVEL, facts.STORAGE)),
    "seconds": _Cause("its time", (*_COMPUTED, facts.STORAGE)),
    "stage": _Cause("the whole stage", (*_COMPUTED, facts.STORAGE)),
    "stores": _Cause("storing values", (facts.LEVEL, facts.STORES)),
}
"""The kinds of cost of the library's models; other kinds have their own name."""

_MOVES = ("from_l2", "from_l3", "from_memory")
"""The kinds of cost that depend on the storage of what a stage reads."""


@frozen
class PartDifference:
    """A part of two prices that differs.

    Attributes:
        func: the Func that costs it.
        stage: 0 for its pure stage, n for its update n - 1.
        what: the kind of cost, such as ``compute`` or ``from_memory``.
        first: its cost in the first schedule, in the unit of the model; 0 if it has no such part.
        second: its cost in the second schedule.
        share: its share of the difference of the two whole costs; negative if it makes this
            difference smaller. None if the whole costs are equal, or infinite.
    """

    func: str
    stage: int
    what: str
    first: float
    second: float
    share: float | None

    @property
    def difference(self) -> float:
        """The first cost less the second."""
        return _difference(self.first, self.second)


@frozen(repr=False)
class PriceDifference(ShowsCard):
    """Why one schedule costs more than another by a cost model, at the estimates.

    Attributes:
        model: the name of the model.
        first: the whole cost of the first schedule; lower is better.
        second: the whole cost of the second schedule.
        has_parts: whether the model says what costs how much. If not, there are no parts.
        parts: the parts that differ, the largest difference first. Their differences add up to the
            difference of the whole costs.
        reasons: a line for each of the largest parts, until these make nine tenths of all
            differences: both costs, and the numbers of the loop nests that differ there.
        chance_of_second: the chance that the second schedule is the faster one, as far as the
            errors of the prices are known. None if the model does not know them
            (:class:`~spaces.cost.model.UncertainModel` does), or if no part differs.
    """

    model: str
    first: float
    second: float
    has_parts: bool
    parts: tuple[PartDifference, ...] = ()
    reasons: tuple[str, ...] = ()
    chance_of_second: float | None = None

    @property
    def difference(self) -> float:
        """The cost of the first schedule less that of the second."""
        return _difference(self.first, self.second)

    @property
    def ratio(self) -> float:
        """The cost of the first schedule over that of the second; 1 if they are equal."""
        if self.first == self.second:
            return 1.0
        return self.first / self.second if self.second else math.copysign(math.inf, self.first)

    def __str__(self) -> str:
        lines = list(self._sentences())
        if self.parts:
            head, *rows = _align_columns(self.parts)
            lines += [head, few_lines(rows, _ROWS, "differences")]
            lines.append(few_lines(self.reasons, _ROWS, "reasons"))
        return "\n".join(lines)

    def _sentences(self) -> Iterator[str]:
        yield self._head()
        if self.chance_of_second is not None:
            yield f"The second is the faster one with a chance of {self.chance_of_second:.0%}."
        if not self.has_parts:
            yield f"{self.model} does not say what costs how much."
        elif not self.parts:
            yield f"Nothing differs that {self.model} prices."

    def _head(self) -> str:
        """``The first costs 3e+06 by reuse, the second 1e+06: the first costs 3.00 times ...``."""
        if self.first == self.second:
            return f"Both cost {self.first:,.6g} by {self.model}."
        costs = f"The first costs {self.first:,.6g} by {self.model}, the second {self.second:,.6g}"
        least, most = sorted((self.first, self.second))
        if not (0 < least and most < math.inf):
            return f"{costs}."
        dearer = "first" if self.first > self.second else "second"
        ratio = most / least
        if ratio < facts.LEAST_RATIO:
            return f"{costs}: the {dearer} costs {ratio - 1:.2%} more."
        return f"{costs}: the {dearer} costs {facts.as_ratio(ratio)} times as much."

    def _card(self) -> Card:
        told = (paragraph(sentence) for sentence in self._sentences())
        rows: list[tuple[Cell, ...]] = []
        for stage, what, *numbers in map(_row, self.parts[:_ROWS]):
            rows.append((stage, what, *map(WrittenNumber, numbers)))
        parts = Table(_COLUMNS, tuple(rows)) if rows else None
        left = more(len(self.parts), _ROWS, "differences")
        reasons = few(((reason,) for reason in self.reasons), _ROWS, "reasons")
        return card("Price difference", f"by {self.model}", told, parts, left, reasons)

    def __repr__(self) -> str:
        return outline(self)


def explain(
    first: CheckedSchedule,
    second: CheckedSchedule,
    model: str | CostModel | CostFunction | None = None,
) -> PriceDifference:
    """Why the first of two legal schedules costs more than the second, or less.

    Compares their prices (:func:`price`) by Func, stage and kind of cost. For the largest
    differences it adds the numbers that differ in the loop nests: evaluations, redundant ones
    among them, vector lanes, parallel tasks, bytes of storage, the compute level. These are facts
    of both schedules; a model may weigh them in either direction. A model without parts
    (:class:`~spaces.cost.model.PartedModel`) gives the two costs alone.

    Args:
        first: what :func:`verify` returns for a legal schedule.
        second: the same for another schedule of the pipeline, for the same device.
        model: a cost model, its name, or a function of a batch; by default :func:`default_model`.

    Raises:
        UnknownModelError: no model has this name.
        ValueError: a schedule is illegal (the message has its violations), the two are of
            different pipelines or devices, or the model does not model the device.
        BatchError: the model gives no number, or an output has no estimate.
        TypeError: something else is given than verdicts.

    >>> print(explain(verify(blur, mine, cpu), verify(blur, other, cpu)))
    """
    _check_verdicts(first, second)
    chosen = default_model(first.device) if model is None else model
    one, other = price(first, chosen), price(second, chosen)
    differing = _differing_parts(one, other)
    reasons: tuple[str, ...] = ()
    if differing:
        both = tuple(Batch.of(v.pipeline, v.schedule).features for v in (first, second))
        reasons = tuple(_reason(part, *both) for part in _keep_largest(differing))
    has_parts = bool(one.parts or other.parts)
    chance = _chance_of_second(one, other, cost_model(chosen, first.device)) if differing else None
    return PriceDifference(one.model, one.cost, other.cost, has_parts, differing, reasons, chance)


def _chance_of_second(
    first: SchedulePrice, second: SchedulePrice, model: CostModel
) -> float | None:
    if not isinstance(model, UncertainModel):
        return None
    if not (0 < min(first.cost, second.cost) and max(first.cost, second.cost) < math.inf):
        return None
    return model.errors.chance_of_second(first.by_part, second.by_part)


def _check_verdicts(first: CheckedSchedule, second: CheckedSchedule) -> None:
    """Raises unless both are legal, of one pipeline and for one device."""
    given: dict[str, object] = {"first": first, "second": second}
    illegal = []
    for which, verdict in given.items():
        if isinstance(verdict, Illegal):
            illegal.append(
                f"explain does not price the {which} schedule: it is not legal.\n{verdict}"
            )
        elif not isinstance(verdict, CheckedSchedule):
            raise TypeError(
                "explain takes what verify returns for two legal schedules, not "
                f"{shown_kind(verdict)}."
            )
    if illegal:
        raise ValueError("\n".join(illegal))
    if first.device != second.device:
        raise ValueError(
            f"explain compares schedules for one device; the first is verified for "
            f"{first.device.name}, the second for {second.device.name}."
        )
    if not _are_one(first.pipeline, second.pipeline):
        raise ValueError(
            f"explain compares schedules of one pipeline; the first is of {first.pipeline.name}, "
            f"the second of another pipeline {second.pipeline.name}."
        )


def _are_one(first: Pipeline, second: Pipeline) -> bool:
    """Whether two pipelines are one, except for the Funcs that schedules derive."""
    if first.derivations == second.derivations:
        return first == second
    names = ("name", "images", "scalars", "outputs", "estimates")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def _differing_parts(first: SchedulePrice, second: SchedulePrice) -> tuple[PartDifference, ...]:
    """The parts of two prices that differ, the largest difference first."""
    one, other = first.by_part, second.by_part
    whole = _difference(first.cost, second.cost)
    found = []
    for key in dict.fromkeys((*one, *other)):
        cost, other_cost = one.get(key, 0.0), other.get(key, 0.0)
        if not math.isclose(cost, other_cost, rel_tol=_ROUNDING):
            share = _difference(cost, other_cost) / whole if whole else math.nan
            known = share if math.isfinite(whole) and math.isfinite(share) else None
            found.append(PartDifference(*key, cost, other_cost, known))
    return tuple(sorted(found, key=lambda d: (-abs(d.difference), d.func, d.stage, d.what)))


def _difference(first: float, second: float) -> float:
    """``first - second``; 0 for two infinities."""
    return 0.0 if first == second else first - second


def _keep_largest(parts: Iterable[PartDifference]) -> Iterator[PartDifference]:
    """The first parts, until they make most of the sizes of all."""
    every = tuple(parts)
    most = _EXPLAINED * math.fsum(abs(part.difference) for part in every)
    explained = 0.0
    for part in every:
        yield part
        explained += abs(part.difference)
        if explained >= most:
            return


def _reason(part: PartDifference, first: Features, second: Features) -> str:
    """Both costs of a part, and the facts that differ, as a line of sentences."""
    cause = _CAUSES.get(part.what, _Cause(part.what, _COMPUTED))
    costs = f"{part.first:,.4g} in the first, {part.second:,.4g} in the second"
    head = f"{StageOf(part.func, part.stage)}: {cause.says} {_weight(part.share)} ({costs})."
    return " ".join([head, *filter(None, _differing_facts(part, cause, first, second))])


def _weight(share: float | None) -> str:
    """``makes 61.2% of the difference``."""
    if share is None:
        return "differs"
    if share < 0:
        return f"takes {-share:.1%} off the difference"
    return f"makes {share:.1%} of the difference"


def _differing_facts(
    part: PartDifference, cause: _Cause, first: Features, second: Features
) -> Iterator[str]:
    """Sentences about what differs where a part of a price does."""
    one, other = _stage(first, part), _stage(second, part)
    if one is None or other is None:
        which, features = ("first", first) if one is None else ("second", second)
        yield facts.absence(which, features, part.func)
        return
    pairs = (first, one), (second, other)
    told = [fact.difference(*pairs) for fact in cause.facts]
    if part.what in _MOVES:
        told += facts.read_storage(*pairs)
    if part.what == "kernel":
        told += facts.kernel_facts(first, second, (part.func, part.stage))
    if any(told):
        yield from told
    else:
        yield facts.LOOPS.difference(*pairs) or "Its loops are the same in both."


def _stage(features: Features, part: PartDifference) -> StageFeatures | None:
    """The stage of a part; None if the schedule does not compute its Func."""
    func = features.computed(part.func)
    return None if func is None or part.stage >= len(func.stages) else func.stages[part.stage]


_COLUMNS = ("stage", "what", "first", "second", "difference", "share")


def _row(part: PartDifference) -> tuple[str, ...]:
    costs = (f"{cost:,.4g}" for cost in (part.first, part.second))
    share = "-" if part.share is None else f"{part.share:z.1%}"
    stage = str(StageOf(part.func, part.stage))
    return stage, part.what, *costs, f"{part.difference:+,.4g}", share


def _align_columns(parts: Iterable[PartDifference]) -> list[str]:
    """The lines of a table of parts, with their head."""
    rows = [_COLUMNS, *map(_row, parts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
