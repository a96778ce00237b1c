"""Edits of split and fold factors. Arrays of candidate numbers are judged in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.lattice import legal_mask
from spaces.constraints.legality.verdict import Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import Factor, Fuse, Split
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Fold, Schedule

NUMBERS = {1: 4096, 2: 128, 3: 16}
"""For each number of factors that change together, a limit. The search tries all numbers up to it,
as many on both sides of the present factor, and all powers of two and three times these. For more
factors it is :data:`FEW`.
"""

FEW = 2

UNNAMED = 16
"""The factor from which distances are counted if the present one is a name, or not a factor."""

_GREATEST = 2**31 - 1
_UNCERTAIN = 4
"""The most choices of a family that are verified one by one. Where proofs about kept values refuse
the nearest few, they refuse the next, too, and each may take a second.
"""


@frozen
class Slot:
    """A factor of a schedule: of a split of a stage, or of one of its specializations by number; or
    of a fold (``stage`` is None).
    """

    func: str
    stage: int | None
    index: int
    factor: Factor
    special: int | None = None

    @property
    def base(self) -> int:
        """The number from which the distance is counted."""
        return abs(self.factor) or UNNAMED if isinstance(self.factor, int) else UNNAMED


@frozen
class NearestSchedule:
    """The nearest legal schedule among those that differ in some factors.

    Attributes:
        distance: the sum of the absolute binary logarithms of the ratios of new to old factors.
    """

    distance: float
    after: Schedule = field(repr=False)
    edits: tuple[RankedEdit, ...] = ()


def slots(schedule: Schedule) -> tuple[Slot, ...]:
    """Every factor of a schedule."""
    found = []
    for func in schedule.funcs:
        for stage, order in enumerate(func.stages):
            for i, record in enumerate(order.splits):
                if isinstance(record, Split):
                    found.append(Slot(func.name, stage, i, record.factor))
        for n, special in enumerate(func.specializations):
            for i, record in enumerate(special.order.splits):
                if isinstance(record, Split):
                    found.append(Slot(func.name, special.stage, i, record.factor, n))
        for i, fold in enumerate(func.folds):
            found.append(Slot(func.name, None, i, fold.factor))
    return tuple(found)


def nearest_factors(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    count: int,
    below: float,
    tick: Callable[[], None],
) -> NearestSchedule | None:
    """The nearest legal schedule in which ``count`` factors differ, if it is nearer than ``below``.

    Calls ``tick`` between steps; it stops the search by raising.
    """
    best: NearestSchedule | None = None
    every = slots(schedule)
    unnamed = {s for s in every if isinstance(s.factor, str)}
    # Among equally near choices the first one stays: inner dimensions, split first, change last.
    for chosen in reversed(tuple(itertools.combinations(every, count))):
        if unnamed.issubset(chosen):
            tick()
            found = _nearest(pipeline, schedule, device, chosen, below)
            if found is not None:
                best, below = found, found.distance
    return best


def _nearest(
    pipeline: Pipeline, schedule: Schedule, device: Device, chosen: tuple[Slot, ...], below: float
) -> NearestSchedule | None:
    taken = set(parameters(schedule))
    names = [f"factor_{i}" for i in range(len(chosen))]
    names = [name if name not in taken else f"{name}_" for name in names]
    family = schedule
    for slot, name in zip(chosen, names, strict=True):
        family = with_factor(family, slot, name)
    menus = [_menu(slot, len(chosen)) for slot in chosen]
    mesh = np.ix_(*menus)
    mask = legal_mask(pipeline, family, device, dict(zip(names, mesh, strict=True)))
    distance = _distance(chosen, menus)
    candidates = np.where(mask, distance, np.inf)
    for _ in range(_UNCERTAIN):
        # Among equally near choices, the one with the larger first factor.
        flat = (
            candidates.size - 1 - int(np.argmin(candidates[(slice(None, None, -1),) * mask.ndim]))
        )
        place = np.unravel_index(flat, candidates.shape)
        if not candidates[place] < below:
            return None
        numbers = [int(menu[i]) for menu, i in zip(menus, place, strict=True)]
        after = bind(family, dict(zip(names, numbers, strict=True)))
        verdict = verify(pipeline, after, device)
        if verdict and not _is_in_vain(verdict, chosen):
            return NearestSchedule(
                float(candidates[place]), after, _edits(schedule, chosen, numbers)
            )
        candidates[place] = np.inf
    return None


def _is_in_vain(verdict: Verdict, chosen: tuple[Slot, ...]) -> bool:
    """Whether a chosen fold is as large as the storage without a fold."""
    folded = {slot.func for slot in chosen if slot.stage is None}
    return any(a.rule == "advice.fold-too-large" and a.func in folded for a in verdict.advice)


def _distance(chosen: tuple[Slot, ...], menus: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    axes = [np.abs(np.log2(menu / slot.base)) for slot, menu in zip(chosen, menus, strict=True)]
    total = np.zeros((1,) * len(axes))
    for axis in np.ix_(*axes):
        total = total + axis
    return np.round(total, 9)


def _edits(
    schedule: Schedule, chosen: tuple[Slot, ...], numbers: list[int]
) -> tuple[RankedEdit, ...]:
    edits: list[RankedEdit] = []
    for slot, number in zip(chosen, numbers, strict=True):
        schedule = with_factor(schedule, slot, number)
        edits.append(RankedEdit(slot.func, schedule, Rank.FACTOR, 0.0))
    return tuple(edits)


def with_factor(schedule: Schedule, slot: Slot, factor: Factor) -> Schedule:
    """The schedule with another factor in a slot."""
    func = schedule.of(slot.func)

    def replaced(index: int, record: Split | Fuse) -> Split | Fuse:
        is_slot = index == slot.index and isinstance(record, Split)
        return evolve(record, factor=factor) if is_slot and isinstance(record, Split) else record

    if slot.stage is None:
        folds = tuple(
            Fold(fold.dimension, factor) if i == slot.index else fold
            for i, fold in enumerate(func.folds)
        )
        return schedule.replace(evolve(func, folds=folds))
    if slot.special is None:
        order = func.stages[slot.stage]
        splits = tuple(replaced(i, record) for i, record in enumerate(order.splits))
        return schedule.with_stage(slot.func, slot.stage, evolve(order, splits=splits))
    specials = list(func.specializations)
    order = specials[slot.special].order
    splits = tuple(replaced(i, record) for i, record in enumerate(order.splits))
    specials[slot.special] = evolve(specials[slot.special], order=evolve(order, splits=splits))
    return schedule.replace(evolve(func, specializations=tuple(specials)))


def _menu(slot: Slot, count: int) -> NDArray[np.int64]:
    """The numbers to try for a factor if ``count`` factors change together; without the present
    one.
    """
    reach = NUMBERS.get(count, FEW)
    near = range(max(1, slot.base - reach), min(_GREATEST, slot.base + reach) + 1)
    powers = (n for k in range(31) for n in (2**k, 3 * 2**k) if n <= _GREATEST)
    numbers = {*range(1, reach + 1), *near, *powers} - {slot.factor}
    if slot.stage is not None:
        numbers -= {1}  # a split by 1 makes a loop of one iteration
    return np.array(sorted(numbers), dtype=np.int64)


def open_factors(schedule: Schedule) -> Schedule:
    """The schedule with a name for each of its factors: a family over all factors."""
    for i, slot in enumerate(slots(schedule)):
        schedule = with_factor(schedule, slot, f"factor_{i}")
    return schedule
