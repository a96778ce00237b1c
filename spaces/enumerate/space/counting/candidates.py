"""The candidates of a space of patterns alone: their number, and each by its index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attrs import field, frozen

from spaces.enumerate.space.counting.candidate_menus import CandidateMenu, candidate_menus
from spaces.enumerate.space.counting.census import Census
from spaces.enumerate.space.counting.path_form import PathForm
from spaces.enumerate.space.frontier import ResidualLoop, ResidualPath, depth_of
from spaces.enumerate.space.space import Space
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import FuncSchedule, Schedule


@frozen
class Candidates:
    """The schedules of the options, legal or not, in which a Func with several readers is placed as
    the reader that is decided first allows.

    Raises:
        ValueError: the space has more than patterns (``only_patterns``).
    """

    space: Space = field()

    @space.validator
    def _only_patterns(self, attribute: object, space: Space) -> None:
        if not space.only_patterns:
            raise ValueError(
                f"The candidates of this space of {space.pipeline.name} are not counted: its "
                "options decide more than whole patterns of loops. estimate() says about how many "
                "legal schedules it has."
            )

    @property
    def total(self) -> int:
        """Their number. It is exact, and immediate also for an astronomic space."""
        return self._census.total

    def at(self, index: int) -> Schedule:
        """The candidate of an index.

        Raises:
            IndexError: the index is not below :attr:`total`.
        """
        entries: dict[str, FuncSchedule] = {}
        numbers: dict[str, int] = {}
        open_: list[tuple[str, PathForm, ResidualPath, int]] = []
        census = self._census

        def place(funcs: Mapping[str, tuple[PathForm, ResidualPath]], index: int) -> None:
            """Takes apart the index of a candidate of independent Funcs."""
            for name, (form, path) in funcs.items():
                index, own = divmod(index, census.count(name, form))
                open_.append((name, form, path, own))
            if index:
                raise IndexError("there are not as many candidates")

        place(dict.fromkeys(census.unguided, (census.root, ())), index)
        while open_:
            name, form, path, index = open_.pop()
            block = census.block(name, form, index)
            menu = self._menus[name]
            entry, chosen, rest = menu.chosen(path, block)
            entries[name] = entry
            numbers |= chosen
            place(_uses(census, menu, entry, (block.at or form, path)), rest)
        ordered = tuple(entries[function.name] for function in self.space.pipeline.functions)
        return bind(self.space.schedule(ordered), numbers)

    @cached_property
    def _menus(self) -> dict[str, CandidateMenu]:
        return candidate_menus(self.space.menus)

    @cached_property
    def _census(self) -> Census:
        return Census(self._menus)


def _uses(
    census: Census, menu: CandidateMenu, entry: FuncSchedule, around: tuple[PathForm, ResidualPath]
) -> dict[str, tuple[PathForm, ResidualPath]]:
    """The loops around the uses of the Funcs that a Func guides."""
    form, path = around
    if not entry.compute.is_inline:
        path = path[: depth_of(path, entry.compute)]
    found: dict[str, tuple[PathForm, ResidualPath]] = {}
    for kid, stage in census.guided[entry.name].items():
        found[kid] = around
        if entry.compute.is_inline:
            continue
        found[kid] = form, path
        if stage is not None:
            steps = (
                ResidualLoop(entry.name, stage, loop.name, loop.kind)
                for loop in entry.stages[stage].loops
            )
            found[kid] = form.inside(menu.loops(entry.stages[stage])), (*path, *steps)
    return found
