"""Finds a schedule in a space, up to the names of its loops."""

from __future__ import annotations

from spaces.enumerate.space.listing import structure_of
from spaces.enumerate.space.process.decision import FormParts, parts_of
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.nest.canonical import canonical_form
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule


def way_to(space: Space, schedule: Schedule) -> list[PartialSchedule]:
    """The partial schedules on the way to a schedule, legal or not: ``space.start()`` first, the
    complete one last.

    Raises:
        ValueError: no option leads to the schedule, up to the names of its loops; or it has not one
            entry for each Func.
    """
    way = list(space.start().towards(schedule))
    last = way[-1]
    if last.decision is not None:
        missing = f"decision {last.decision.name!r} offers nothing like it"
    else:
        # A decision with a single option is taken whatever the schedule says.
        forms = (canonical_form(space.pipeline, one) for one in (schedule, last.schedule))
        missing = _difference(*map(parts_of, forms))
    if missing:
        raise ValueError(f"The space of {space.pipeline.name} has no such schedule: {missing}.")
    return way


def _difference(wanted: FormParts, reached: FormParts) -> str:
    """Up to three parts in which a schedule differs from the one that a space has."""
    names = [name for name in {**wanted, **reached} if wanted.get(name) != reached.get(name)]
    return ", ".join(
        f"{name!r} is {reached.get(name, 'absent')} and not {wanted.get(name, 'absent')}"
        for name in names[:3]
    )


def contains(space: Space, schedule: object) -> bool:
    """Whether a schedule is legal and, up to the names of its loops, in the space."""
    return isinstance(schedule, Schedule) and find(space, schedule) is not None


def find(space: Space, schedule: Schedule) -> tuple[Structure, int] | None:
    """The structure of a schedule, up to the names of loops, and its index in the lattice; None if
    the space does not contain it, or it is illegal. Restrictions judge it with the names that the
    space gives to loops.
    """
    try:
        state = way_to(space, schedule)[-1].state
    except ValueError:
        return None
    structure = structure_of(state)
    index = structure.index(state.numbers)
    own = bind(structure.schedule, state.numbers)
    if index is None or not space.judged.verdict(schedule) or not space.verdict(own):
        return None
    return structure, index
