"""The normal form of a schedule: the same nest at the estimates, without directives that change
nothing there.

People who read a result look for the reason of each directive. What a search hands over has none
that does nothing (:mod:`.idle_edits`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any

from attrs import field, frozen

from spaces.enumerate.search.idle_edits import leave_out_directives, leave_out_loops
from spaces.features.extraction import FeatureMemo, extract_features
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.directives.edit import Edit
from spaces.model.formulas.algebra import FormulaError
from spaces.model.formulas.regions import UnboundedError
from spaces.model.formulas.symbolic import SymbolicNumber, as_array
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule

FUNCS = 512
"""How many Funcs are placed anew for one normal form, at most: forms of large pipelines may keep
directives that do nothing.
"""


@frozen
class NestSizes:
    """A loop nest at some sizes, as far as schedules may be equal.

    Attributes:
        loops: for each stage its loops of more than one iteration, outermost first, with their
            kinds and iterations.
        points: for each stage how many values it computes.
        required: for each computed Func the extents of what it computes.
        trips: the iterations of each loop of a stage, by Func, stage and name.
    """

    loops: Mapping[tuple[str, int], tuple[tuple[LoopKind, int], ...]]
    points: Mapping[tuple[str, int], int]
    required: Mapping[str, tuple[int, ...]]
    trips: Mapping[tuple[str, int, str], int] = field(eq=False)

    @staticmethod
    def of(pipeline: Pipeline, schedule: Schedule, memo: FeatureMemo | None = None) -> NestSizes:
        """The nest of a schedule at the estimates of a pipeline.

        Raises:
            LevelError, UnboundedError, FormulaError: the schedule has no loop nest, or no sizes.
        """
        values: dict[str, Any] = {**pipeline.scalar_defaults(), **pipeline.sizes()}
        found = extract_features(pipeline, schedule, memo).read_ints(values)
        places = [((stage.func, stage.index), stage) for stage in found.stages]
        return NestSizes(
            loops={
                place: tuple((one.kind, _count(one.trips)) for one in stage.loops if one.trips != 1)
                for place, stage in places
            },
            points={place: _count(stage.points) for place, stage in places},
            required={func.name: tuple(map(_count, func.required)) for func in found.funcs},
            trips={loop.key: _count(loop.trips) for _, stage in places for loop in stage.own},
        )

    def runs_once(self, function: Function, stage: int, name: str) -> bool:
        """Whether a loop of a stage, or a dimension of a Func, has a single iteration."""
        extents = dict(zip(function.args, self.required.get(function.name, ()), strict=False))
        return 1 in (self.trips.get((function.name, stage, name)), extents.get(name))

    def has_no_more_than(self, other: NestSizes) -> bool:
        """Whether the nest has the loops of another one, some of them shorter: those that ran
        beyond the end.
        """
        if self.loops.keys() != other.loops.keys():
            return False
        for place, loops in self.loops.items():
            pairs = list(zip_longest(loops, other.loops[place], fillvalue=(None, 0)))
            if any(kind is not known or trips > most for (kind, trips), (known, most) in pairs):
                return False
        return all(points <= other.points[place] for place, points in self.points.items())


def tidy_schedule(
    pipeline: Pipeline,
    schedule: Schedule,
    is_legal: Callable[[Schedule], bool],
    kept: Collection[str] = (),
    memo: FeatureMemo | None = None,
) -> Schedule:
    """The normal form of a schedule. It leaves out each directive without which the nest at the
    estimates is the same; loops of one iteration, and iterations beyond the end of a loop, may
    differ.

    Args:
        pipeline: the pipeline as written, with estimates.
        schedule: a legal schedule with numbers for all factors.
        is_legal: whether another schedule is.
        kept: the Funcs whose entries stay as they are.
        memo: what the nests of other schedules have in common with this one.
    """
    # A verdict takes longer than a nest, and hardly any form is illegal: one verdict is enough.
    form = _leave_out_idle(pipeline, schedule, lambda one: True, kept, memo)
    if form == schedule or is_legal(form):
        return form
    return _leave_out_idle(pipeline, schedule, is_legal, kept, memo)


def _leave_out_idle(
    pipeline: Pipeline,
    schedule: Schedule,
    is_wanted: Callable[[Schedule], bool],
    kept: Collection[str],
    memo: FeatureMemo | None,
) -> Schedule:
    """Leaves out one directive after another. Each time the nest stays the same or only loses
    iterations, and the schedule is wanted.
    """
    own = NestSizes.of(pipeline, schedule, memo)
    tries = iter(range(max(4, FUNCS // len(schedule.funcs))))

    def place(edits: Iterator[Edit]) -> Iterator[tuple[Schedule, NestSizes]]:
        for edit, _ in zip(edits, tries, strict=False):
            sizes = _sizes(pipeline, edit.after, memo)
            if sizes is not None:
                yield edit.after, sizes

    while True:
        directives = leave_out_directives(pipeline, schedule, kept)
        loops = leave_out_loops(pipeline, schedule, own.runs_once, kept)
        same = (both for both in place(directives) if both[1] == own)
        shorter = (both for both in place(loops) if both[1].has_no_more_than(own))
        found = next((both for both in chain(same, shorter) if is_wanted(both[0])), None)
        if found is None:
            return schedule
        schedule, own = found


def _sizes(pipeline: Pipeline, schedule: Schedule, memo: FeatureMemo | None) -> NestSizes | None:
    """The nest of a schedule at the estimates; None if it has none."""
    try:
        return NestSizes.of(pipeline, schedule, memo)
    except (LevelError, UnboundedError, FormulaError, KeyError):
        return None


def _count(number: SymbolicNumber) -> int:
    """A feature that was read as an int."""
    return int(as_array(number))
