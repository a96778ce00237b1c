"""Candidates of a space by index."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.enumerate.space.counting.census import Census
from spaces.enumerate.space.frontier import ResidualLoop, ResidualPath, depth_of
from spaces.enumerate.space.path_form import PathForm
from spaces.enumerate.space.patterns.menus import FuncMenu
from spaces.model.schedules.schedule import FuncSchedule


def candidate(
    census: Census, menus: Mapping[str, FuncMenu], index: int
) -> tuple[dict[str, FuncSchedule], dict[str, int]]:
    """The candidate with this index: the entries of its structure by Func, and its numbers.

    Raises:
        IndexError: the index is not below the number of candidates.
    """
    entries: dict[str, FuncSchedule] = {}
    numbers: dict[str, int] = {}
    open_: list[tuple[str, PathForm, ResidualPath, int]] = []

    def place(funcs: Mapping[str, tuple[PathForm, ResidualPath]], index: int) -> None:
        """Takes apart the index of a candidate of independent Funcs."""
        for name, (form, path) in funcs.items():
            index, own = divmod(index, census.count(name, form))
            open_.append((name, form, path, own))
        if index:
            raise IndexError("there are not as many candidates")

    place(dict.fromkeys(census.heads, (census.root, ())), index)
    while open_:
        name, form, path, index = open_.pop()
        menu = menus[name]
        block = census.block(name, form, index)
        entry, chosen, rest = menu.chosen(path, block)
        entries[name] = entry
        numbers |= chosen
        place(_uses(census, menu, entry, (block.at or form, path)), rest)
    return entries, numbers


def _uses(
    census: Census, menu: FuncMenu, entry: FuncSchedule, around: tuple[PathForm, ResidualPath]
) -> dict[str, tuple[PathForm, ResidualPath]]:
    """The loops around the uses of the Funcs that a Func guides."""
    form, path = around
    if not entry.compute.is_inline:
        path = path[: depth_of(path, entry.compute)]
    found: dict[str, tuple[PathForm, ResidualPath]] = {}
    for kid, stage in census.guided[menu.function.name].items():
        found[kid] = around
        if entry.compute.is_inline:
            continue
        found[kid] = form, path
        if stage is not None:
            steps = (
                ResidualLoop(menu.function.name, stage, loop.name, loop.kind)
                for loop in entry.stages[stage].loops
            )
            found[kid] = form.inside(menu.loops(entry.stages[stage])), (*path, *steps)
    return found
