"""Turns the vectors of the Funcs of a nest across lines, those of all Funcs off rows together.

A search decides a Func before its producers. Vectors across lines need a storage in which the lines
lie side by side: a Func alone gains nothing where its reader or its producers go along rows. So a
search takes such vectors for a chain of Funcs, as the stages of a transform, only by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from attrs import evolve, frozen

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.rewrites.for_device import for_cpus
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers, Rewrite
from spaces.enumerate.search.stagewise.long_tiles import fitting_menus
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS
from spaces.enumerate.space.patterns.lanes import storage_along_lanes
from spaces.enumerate.space.patterns.menus import stage_patterns
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel

_PATTERN = "vectors_across"


@frozen
class TurnVectors:
    """Turns the vectors of all Funcs off rows that are computed inside one nest.

    Attributes:
        reader: the Func at root whose nest this is.
    """

    keeps_structure: ClassVar[bool] = False

    reader: str

    def open(self, found: FoundSchedule) -> Iterator[OpenNumbers]:
        """The schedule with these Funcs computed at one of the outer loops of the nest. Leaves out
        what the space lacks.
        """
        chains = dict(_chains(found))
        if self.reader not in chains:
            return
        entry = found.schedule.of(self.reader)
        loops = [one.name for one in entry.stages[0].loops if one.kind.is_scalar_loop]
        for loop in loops[:2]:
            opening = _turn_vectors(found, entry, chains[self.reader], LoopLevel(self.reader, loop))
            structure = opening.structure(found)
            # The largest numbers: tiles of fewer lines than a vector has lanes may be illegal.
            if structure.at(structure.size - 1) in found.space:
                yield opening


@for_cpus  # threads are the lanes of a GPU
def find_chains(found: FoundSchedule, cpu: CpuDevice) -> Iterator[Rewrite]:
    """The nests with several Funcs off rows inside; none if Funcs share loops."""
    if not any(entry.companions for entry in found.schedule.funcs):
        for reader, _ in _chains(found):
            yield TurnVectors(reader)


def _chains(found: FoundSchedule) -> Iterator[tuple[str, Sequence[str]]]:
    """Each nest with the Funcs off rows that are computed inside it, if they are several and some
    have vectors along rows.
    """
    entries = {entry.name: entry for entry in found.schedule.funcs}
    kept = found.space.kept_names
    nests = nests_of_funcs(found.pipeline, entries)
    for reader, entry in entries.items():
        if not entry.compute.is_root or reader in kept:
            continue
        inside = [
            name
            for name, around in nests.items()
            if around == {reader} and name not in kept and _may_turn(found, entries[name])
        ]
        if len(inside) > 1 and not all(entries[name].storage_orders for name in inside):
            yield reader, inside


def _may_turn(found: FoundSchedule, entry: FuncSchedule) -> bool:
    """Whether a Func is computed at a loop, and may have vectors across lines."""
    is_at_loop = not (entry.compute.is_root or entry.compute.is_inline)
    return is_at_loop and bool(_orders_across(found, entry.name)[0])


def _orders_across(
    found: FoundSchedule, name: str
) -> tuple[tuple[DomainOrder, ...], dict[str, tuple[int, ...]]]:
    """The domain orders of a Func with vectors across lines, and the menus of their parameters;
    none if it is not off rows.
    """
    device = found.space.device
    shapes = stage_shapes(found.pipeline, device, Options.medium(device))
    made, fits = stage_patterns(_PATTERN, INNER_PATTERNS[_PATTERN], shapes[name])
    if not fits:
        return (), {}
    return tuple(one.order for one in made), {k: menu for one in made for k, menu in one.menus}


def _turn_vectors(
    found: FoundSchedule, reader: FuncSchedule, names: Sequence[str], level: LoopLevel
) -> OpenNumbers:
    """The schedule with some Funcs across lines, and their numbers and those of the nest open."""
    menus = fitting_menus(found.pipeline, reader, found.menus)
    changed: dict[str, FuncSchedule] = {}
    for name in names:
        orders, numbers = _orders_across(found, name)
        menus |= numbers
        changed[name] = evolve(
            found.schedule.of(name),
            stages=orders,
            compute=level,
            store=level,
            storage_orders=storage_along_lanes(found.pipeline.function(name).args, orders),
            bounds=(),
        )
    funcs = tuple(changed.get(one.name, one) for one in found.schedule.funcs)
    return OpenNumbers(found.schedule.with_funcs(funcs), menus)


REWRITES = (find_chains,)
