"""The boxes that stages read, and those that updates touch of their own Func [RK13 4.2]."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.algorithm.predicates import joint_claims, limited, narrowed
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.boxes import clipped, united, united_boxes
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.regions import Ranges, UnboundedError
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.placement import Placement
from spaces.model.nest.reads import Window, reads
from spaces.model.nest.splits import loop_dimensions
from spaces.model.nest.stage_visits import StageVisits
from spaces.model.nest.traversal import loop_ranges
from spaces.model.nest.values import ValueBounds
from spaces.model.schedules.schedule import Schedule


@frozen(eq=False)
class ReadBoxes:
    """Finds boxes under a schedule.

    Attributes:
        schedule: the schedule.
        simplify: the simplifier, which knows the limits of loop variables.
        values: the limits of the values that are read.
        visits: the coordinates that stages visit.
        placements: the Funcs that are placed so far; all readers are.
    """

    schedule: Schedule
    simplify: Simplifier
    values: ValueBounds
    visits: StageVisits
    placements: Mapping[str, Placement]
    _analyses: dict[tuple[str, int, int], tuple[Ranges, Ranges]] = field(init=False, factory=dict)

    def touched_by_updates(self, function: Function, box: Box) -> Box:
        for stage in function.stages[1:]:
            box = self._touched(function, stage, box)
        return box

    def _touched(self, function: Function, stage: Stage, box: Box) -> Box:
        """A box that holds ``box``, and each place of a Func that an update of it touches."""
        ranges = {
            name: Interval(self.simplify(i.min), self.simplify(i.max))
            for name, i in self.visits.stage_box(function, stage, box).items()
            if i.min is not None and i.max is not None
        }
        # Of the Vars more may be visited than is required, where tails reach further.
        own = frozenset(ranges) - {r.name for r in stage.rvars}
        predicates = [p for p in stage.predicates if own.isdisjoint(p.names)]
        known = {**self.values.parameters, **narrowed(ranges, predicates, self.simplify)}
        analysis = Ranges(self.simplify, known, self.values)
        claims = joint_claims(predicates, ranges)
        claimed = Ranges(self.simplify, known, self.values, claims)
        accesses = [stage.args] + [c.args for c in stage.calls if c.target == function.name]
        for access in accesses:
            widened = tuple(
                limited(analysis.of(arg), claimed.of(arg), self.simplify) for arg in access
            )
            for d, (written, interval) in enumerate(zip(access, widened, strict=True)):
                self._check(function.name, function.name, d, written, interval)
            box = united_boxes(box, widened, self.simplify)
        return box

    def read(self, name: str, dimensions: int, readers: list[tuple[str, int]], depth: int) -> Box:
        found: list[dict[Interval, None]] = [{} for _ in range(dimensions)]
        for reader, index in readers:
            analysis, claimed = self._analysis(reader, index, depth)
            read = reads(self.placements[reader].function.stages[index])
            self.simplify.adopt(read.forms)
            for d, windows in enumerate(read.windows[name]):
                for window in windows:
                    interval = self._reached(window, analysis)
                    if claimed.claims:
                        closer = self._reached(window, claimed)
                        interval = limited(interval, closer, self.simplify)
                    self._check(name, reader, d, window.written, interval)
                    found[d][interval] = None
        # Many reads share a few intervals a dimension; only distinct ones are united.
        box = tuple(united(intervals, self.simplify) for intervals in found)
        outside = [len(self.placements[r].path) for r, i in readers if self._may_rest(r, i, depth)]
        if not outside:
            return box
        # What is beyond the last or before the first iteration of a stage is not read.
        whole = self.read(name, dimensions, readers, min(outside))
        return tuple(clipped(i, w, self.simplify) for i, w in zip(box, whole, strict=True))

    def _may_rest(self, reader: str, index: int, depth: int) -> bool:
        """Whether some of the ``depth`` outermost loops around a stage have iterations that are
        those of other stages only.
        """
        placement = self.placements[reader]
        return depth > len(placement.path) and bool(placement.stages[index].running)

    def _reached(self, window: Window, analysis: Ranges) -> Interval:
        """From the least of the first to the largest of the last coordinate of a window."""
        low, high = analysis.least(window.first), analysis.most(window.last)
        return Interval(
            low if low is None else self._moved(low, window.low),
            high if high is None else self._moved(high, window.high),
        )

    def _moved(self, end: Expr, by: int) -> Expr:
        """An end and a number, which need be no int32."""
        form = self.simplify.polynomial(end) + Polynomial.of(by) if by else None
        return end if form is None else self.simplify.normal(form)

    @staticmethod
    def _check(name: str, reader: str, d: int, written: Expr, interval: Interval) -> None:
        if not interval.is_bounded:
            raise UnboundedError(
                f"{reader} reads {name} at `{written}` in dimension {d}, which has no limits; "
                f"put it into clamp(..., low, high).",
                reader,
            )

    def _analysis(self, reader: str, index: int, depth: int) -> tuple[Ranges, Ranges]:
        """What a stage's coordinates range over while its loops beyond ``depth`` run in full; alone
        and where all its predicates hold.
        """
        key = (reader, index, depth)
        if key not in self._analyses:
            coordinates = self._coordinate_ranges(reader, index, depth)
            predicates = self.placements[reader].function.stages[index].predicates
            known = {**self.values.parameters, **coordinates}
            moving = {name for name, i in coordinates.items() if not i.is_point}
            self._analyses[key] = (
                Ranges(self.simplify, known, self.values),
                Ranges(self.simplify, known, self.values, joint_claims(predicates, moving)),
            )
        return self._analyses[key]

    def _coordinate_ranges(self, reader: str, index: int, depth: int) -> dict[str, Interval]:
        """Ranges of a stage's Vars and RVars while its loops beyond ``depth`` run in full."""
        placement = self.placements[reader]
        traversal, order = placement.stages[index], self.schedule.of(reader).stages[index]
        stage = placement.function.stages[index]
        walked = loop_dimensions(stage, order)
        fixed = traversal.loops[: max(depth - len(placement.path), 0)]
        partly = {name for loop in fixed for name in walked[loop.loop]}
        loops = [
            *placement.path[depth:],
            *(i for i in traversal.loops[len(fixed) :] if partly.intersection(walked[i.loop])),
        ]
        analysis = Ranges(self.simplify, loop_ranges(tuple(loops), self.simplify))
        limits = self.visits.stage_box(placement.function, stage, placement.storage.target)
        result = {
            name: Interval(_low(i, analysis), _high(i, analysis))
            for name, i in self.visits.read_from(
                placement.function, placement.storage, index, limits
            ).items()
            if name not in partly
        }
        guarded = traversal.read_limits if partly else frozenset()
        for name in partly:
            interval = analysis.of(traversal.guarded[name])
            if name in guarded:
                interval = _clipped(interval, limits[name], analysis)
            result[name] = interval
        return narrowed(result, stage.predicates, self.simplify)


def _clipped(interval: Interval, limits: Interval, analysis: Ranges) -> Interval:
    """A guarded coordinate never leaves the box of its stage."""
    if limits.max is None or interval.max is None:
        return interval
    high = analysis.most(limits.max)
    if high is None:
        return interval
    return Interval(interval.min, analysis.simplify(fn.min(interval.max, high)))


def _low(interval: Interval, analysis: Ranges) -> Expr | None:
    return None if interval.min is None else analysis.least(interval.min)


def _high(interval: Interval, analysis: Ranges) -> Expr | None:
    return None if interval.max is None else analysis.most(interval.max)
