"""Prices a change of a schedule by the loop nests that it changes.

If a model adds up the costs of nests, the cost of a schedule changes by as much as theirs does. So
a change costs as much time in a long pipeline as in a short one. The sum is an estimate: a nest
alone reads all others as images, and these may be a little smaller than in the whole schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers
from spaces.enumerate.search.stagewise.changed_nests import Nests
from spaces.enumerate.search.stagewise.long_tiles import may_reach_far
from spaces.enumerate.search.stagewise.root_nests import funcs_in, roots_of
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import FuncSchedule


def price_by_nests(found: FoundSchedule, opening: OpenNumbers) -> FoundSchedule | None:
    """The schedule with the cheapest numbers of an opening, legal or not, with an estimate of its
    cost; None if it costs as much as before. Prices all nests if it is not known which ones the
    opening changes.
    """
    structure = opening.structure(found)
    nests = _changed_nests(found, structure) if found.pricer.adds_nests else None
    if nests is None:
        costs = found.pricer.price_structure(structure, found.pipeline)
        return _take_cheapest(found, opening, structure, costs, lambda: found.cost)
    before, after = nests
    part = Structure(after.of(structure.schedule), structure.menus)
    costs = found.pricer.price_structure(part, after.pipeline)

    def price_before() -> float:
        return found.pricer.price_schedule(before.of(found.with_numbers), part=before.pipeline)

    return _take_cheapest(found, opening, part, costs, price_before)


def price_whole(found: FoundSchedule, opening: OpenNumbers) -> FoundSchedule | None:
    """The schedule with the cheapest legal numbers of an opening; None if it costs as much as
    before.
    """
    structure = opening.structure(found)
    costs = found.pricer.price_structure(structure, found.pipeline)
    if _take_cheapest(found, opening, structure, costs, lambda: found.cost) is None:
        return None
    costs = found.pricer.keep_legal(structure, costs, found.pipeline)
    return _take_cheapest(found, opening, structure, costs, lambda: found.cost)


def price_exactly(found: FoundSchedule) -> FoundSchedule:
    """The schedule with the cost of its whole pipeline; infinite if it is illegal."""
    structure = Structure(found.with_numbers, {})
    costs = found.pricer.price_structure(structure, found.pipeline)
    costs = found.pricer.keep_legal(structure, costs, found.pipeline)
    return evolve(found, cost=float(costs))


def _take_cheapest(
    found: FoundSchedule,
    opening: OpenNumbers,
    structure: Structure,
    costs: NDArray[np.float64],
    price_before: Callable[[], float],
) -> FoundSchedule | None:
    """The schedule of an opening with the cheapest numbers; None if it costs as much as before.

    Args:
        found: the schedule before.
        opening: the opening.
        structure: the Funcs that are priced.
        costs: the costs of its choices.
        price_before: gives what these Funcs cost in ``found``. It is called if its numbers are not
            among the choices or have no cost there: what is open may exceed a limit that the
            numbers keep.
    """
    is_choice = opening.schedule == found.schedule
    present = structure.index(found.numbers) if is_choice else None
    own = np.inf if present is None else float(costs.flat[present])
    before = own if np.isfinite(own) else price_before()
    place = int(np.argmin(costs))
    gain = before - float(costs.flat[place])
    if not (gain > 0 and np.isfinite(gain)):
        return None
    return _with_numbers(found, opening, structure.numbers(place), found.cost - gain)


def _with_numbers(
    found: FoundSchedule, opening: OpenNumbers, chosen: Mapping[str, int], cost: float
) -> FoundSchedule:
    """The schedule of an opening with numbers chosen."""
    every, menus = {**found.numbers, **chosen}, {**opening.menus, **found.menus}
    names = parameters(opening.schedule)
    numbers = {name: every[name] for name in names}
    states: tuple[HalfDecided, ...] = ()
    if opening.schedule == found.schedule and found.states:
        states = (evolve(found.states[0], numbers=numbers), *found.states[1:])
    return evolve(
        found,
        schedule=opening.schedule,
        numbers=numbers,
        menus={name: menus[name] for name in names},
        cost=cost,
        states=states,
    )


def _changed_nests(found: FoundSchedule, structure: Structure) -> tuple[Nests, Nests] | None:
    """The nests of a schedule that a structure changes, and what becomes of them; None if these are
    all nests, or if the sizes of one are not known.

    They are the nests of the Funcs that change and of all that is read there: tiles that reach
    beyond a Func make these larger, too. Tiles that may reach far beyond it may change all nests.
    """
    pipeline = found.pipeline
    old = {entry.name: entry for entry in found.with_numbers.funcs}
    new = {entry.name: entry for entry in structure.schedule.funcs}
    if any(entry.companions for entry in (*old.values(), *new.values())):
        return None
    changed = {name for name, entry in new.items() if entry != old[name]}
    if any(may_reach_far(pipeline, new[name], structure.menus) for name in changed):
        return None
    funcs = frozenset[str]().union(*(_funcs_around(pipeline, one, changed) for one in (old, new)))
    read = {callee for name in funcs for callee in pipeline.function(name).callees}
    names = changed | {name for name in read if name in old}
    size = 0
    while size < len(names):  # a nest of one schedule may run in several of the other
        size = len(names)
        for entries in (old, new):
            names |= _funcs_around(pipeline, entries, names)
    if len(names) == len(old):
        return None
    outputs = frozenset(name for name in names if _is_needed_beside(pipeline, name, names))
    roots = [frozenset(one for one in outputs if by[one].compute.is_root) for by in (old, new)]
    if not all(sizes_of(pipeline).knows(pipeline.function(one)) for one in outputs):
        return None
    before, after = (Nests(pipeline, one, frozenset(names)) for one in roots)
    return before, after


def _is_needed_beside(pipeline: Pipeline, name: str, names: Set[str]) -> bool:
    """Whether a Func is an output, or other Funcs than some read it."""
    return name in pipeline.outputs or not names >= set(pipeline.consumers(name))


def _funcs_around(
    pipeline: Pipeline, entries: Mapping[str, FuncSchedule], names: Iterable[str]
) -> frozenset[str]:
    """The Funcs of the nests in which some Funcs run."""
    return funcs_in(pipeline, entries, roots_of(pipeline, entries, names))
