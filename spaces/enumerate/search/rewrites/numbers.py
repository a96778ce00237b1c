"""Chooses the numbers of Funcs again, where later decisions may have made others better.

A search chooses the numbers of a Func before its producers are decided. The numbers of a Func in
whose nest no producer runs are good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import frozen

from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers, Rewrite
from spaces.enumerate.search.stagewise.long_tiles import fitting_menus, may_reach_far
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs
from spaces.model.schedules.parameters import entry_parameters


@frozen
class ChooseNumbers:
    """Chooses the numbers of one Func again.

    Attributes:
        func: the Func.
    """

    keeps_structure: ClassVar[bool] = True

    func: str

    def open(self, found: FoundSchedule) -> Iterator[OpenNumbers]:
        """The schedule with the numbers of the Func open."""
        menus = _menus(found, self.func)
        if menus:
            yield OpenNumbers(found.schedule, menus)


def find_stale_numbers(found: FoundSchedule) -> Iterator[Rewrite]:
    """The Funcs whose best numbers later decisions may have changed, in the order of the entries:
    those in whose nest a producer runs, and those with tiles that enlarge what is read. All Funcs
    with numbers if the model does not add up the costs of nests, or if Funcs share loops.
    """
    schedule, pipeline = found.schedule, found.pipeline
    entries = schedule.funcs
    is_one = not found.pricer.adds_nests or any(entry.companions for entry in entries)
    nests = nests_of_funcs(pipeline, {entry.name: entry for entry in entries})
    later: frozenset[str] = frozenset()
    for entry in entries:
        menus = _menus(found, entry.name)
        is_stale = nests[entry.name] & later or may_reach_far(pipeline, entry, menus)
        if menus and (is_stale or is_one):
            yield ChooseNumbers(entry.name)
        later |= nests[entry.name]


def _menus(found: FoundSchedule, func: str) -> dict[str, tuple[int, ...]]:
    """The numbers to choose from for a Func: those that fit it, or all in a restricted space."""
    entry = found.schedule.of(func)
    names = [name for name in entry_parameters(entry) if name in found.menus]
    if found.space.where:
        return {name: found.menus[name] for name in names}
    return fitting_menus(found.pipeline, entry, found.menus)


REWRITES = (find_stale_numbers,)
