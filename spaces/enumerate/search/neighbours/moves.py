"""From schedules of a space to others near them: one changed decision, or parts of two schedules.

A changed decision may change which decisions follow. The rest is then decided as in the schedule
before, as far as its options are still there.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule


def neighbours(space: ScheduleSpace, schedule: Schedule) -> Iterator[Schedule]:
    """All schedules of a space that differ from one by a single decision and by what that decision
    makes necessary, legal or not; lazily, in the order of decisions.

    Raises:
        ValueError: the space has no such schedule.
    """
    form = form_of(space.start().state, schedule)
    for partial, taken in _way(space, schedule):
        for option in partial.options:
            if option.label != taken:
                yield _changed(partial, option, form)


def mutated(space: ScheduleSpace, schedule: Schedule, chosen: random.Random) -> Schedule:
    """A schedule with one random decision changed: all decisions of ``schedule`` have the same
    chance, and so have all other options of the decision. It may be illegal.

    Raises:
        ValueError: the space has no such schedule, or no other one.
    """
    way = list(_way(space, schedule))
    if not way:
        raise ValueError(f"The space of {space.pipeline.name} has one schedule only.")
    partial, taken = chosen.choice(way)
    option = chosen.choice([one for one in partial.options if one.label != taken])
    return _changed(partial, option, form_of(space.start().state, schedule))


def crossed(
    space: ScheduleSpace, first: Schedule, second: Schedule, chosen: random.Random
) -> Schedule:
    """A schedule whose Funcs are each decided as in ``first`` or as in ``second``, at random. What
    does not fit together is decided as near to them as the space allows. It may be illegal.

    Raises:
        ValueError: a schedule lacks entries of Funcs.
    """
    start = space.start()
    forms = [form_of(start.state, parent) for parent in (first, second)]
    own = {function.name: chosen.choice(forms) for function in space.pipeline.functions}
    *_, last = start.along(chosen.choice(forms), own)
    return last.schedule


def _changed(partial: PartialSchedule, option: DecisionOption, form: FormParts) -> Schedule:
    """The schedule of this form, but with another option of one of its decisions."""
    *_, last = partial.take(option).along(form)
    return last.schedule


def _way(space: ScheduleSpace, schedule: Schedule) -> Iterator[tuple[PartialSchedule, str]]:
    """The partial schedules on the way to a schedule, each with the label of the option taken."""
    way = space.way_to(schedule)
    for partial, after in itertools.pairwise(way):
        yield partial, after.taken[-1]
