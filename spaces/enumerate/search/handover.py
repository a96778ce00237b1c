"""What a search hands over at its end: its schedules in their normal forms."""

from __future__ import annotations

import math
from collections.abc import Iterator

from attrs import evolve

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Done, Event, Found, Improved
from spaces.enumerate.search.first_schedules import PRICING
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.structure_distance import is_nearer, strip_factors
from spaces.enumerate.search.tidying import tidy_schedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.domain_order import Split, Tail
from spaces.model.schedules.schedule import Schedule

_ROUNDING = 1e-9
"""The share of a cost by which equal schedules may differ."""


def with_tidy_results(
    space: ScheduleSpace, model: CostModel, limits: Limits, events: Iterator[Event]
) -> Iterator[Event]:
    """The events of a search. The last event has schedules in their normal forms where the space
    has these forms and they do not cost more. The first schedule stays the first: the event leaves
    out each other schedule whose normal form costs less.
    """
    deadline = Deadline.after(limits.seconds).later(PRICING)
    for event in events:
        if not isinstance(event, Done):
            yield event
            continue
        first, *others = (_tidy(space, model, one, deadline) for one in event.best)
        # A search for one schedule does not look at the others, so none of them becomes the first.
        dearer = (form for form in others if form.cost >= first.cost)
        found: list[Found] = []
        for one in (first, *sorted(dearer, key=lambda form: form.cost)):
            structure = strip_factors(one.schedule)
            if all(
                not is_nearer(structure, strip_factors(o.schedule), limits.apart)
                and not _are_alike(one, o)
                for o in found
            ):
                found.append(one)  # two results may have the same form
        if found[0].cost < event.best[0].cost:
            yield Improved(found[0])
        yield evolve(event, best=tuple(found))


def _are_alike(one: Found, other: Found) -> bool:
    """Whether two results of one cost differ only in tails and numbers: in loops without a tail at
    the estimates.
    """
    is_as_dear = math.isclose(one.cost, other.cost, rel_tol=_ROUNDING)
    return is_as_dear and _without_tails(one.schedule) == _without_tails(other.schedule)


def _without_tails(schedule: Schedule) -> Schedule:
    """The structure of a schedule with all tails alike."""
    return strip_factors(schedule).with_funcs(
        evolve(
            entry,
            stages=tuple(
                evolve(
                    order,
                    splits=tuple(
                        evolve(one, tail=Tail.AUTO) if isinstance(one, Split) else one
                        for one in order.splits
                    ),
                )
                for order in entry.stages
            ),
        )
        for entry in strip_factors(schedule).funcs
    )


def _tidy(space: ScheduleSpace, model: CostModel, found: Found, deadline: Deadline) -> Found:
    """A schedule in its normal form. It stays unchanged if there is no time, or if the normal form
    costs more or is not in the space.
    """
    if not math.isfinite(found.cost):
        return found
    schedule, pricer = found.schedule, Pricer.of(space, model, Limits())
    try:
        with deadline.kept():
            form = tidy_schedule(
                space.pipeline,
                schedule,
                pricer.is_legal,
                space.kept_names,
                pricer.memo,
            )
            if form == schedule or (form not in space and schedule in space):
                return found
            cost = pricer.price_schedule(form)
    except OutOfTime:
        return found
    if cost > found.cost + _ROUNDING * abs(found.cost):
        return found
    is_cheaper = cost < found.cost - _ROUNDING * abs(found.cost)
    return Found(cost if is_cheaper else found.cost, form)
