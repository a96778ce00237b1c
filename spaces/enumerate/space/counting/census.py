"""Counts candidates without listing them.

A candidate places each Func inside loops around its *guide*, the reader that is decided first, or
inside loops of the guide, as if no other reader limited it. So the choices for a Func depend on its
guide alone, and counts of a tree multiply. All schedules of the space are candidates; those that
another reader forbids are illegal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import define, field

from spaces.enumerate.space.counting.candidate_menus import CandidateBlock, CandidateMenu, NestWays
from spaces.enumerate.space.counting.path_form import PathForm, levels_of, totals
from spaces.model.deadline import ask_clock


@define
class Census:
    """Counts of candidates.

    Attributes:
        funcs: the choices for each Func, consumers first.
        root: the form of the empty path.
        guided: for each Func, those that it guides, with its stage that reads them; None if several
            do.
        unguided: the Funcs that no other one guides.
    """

    funcs: Mapping[str, CandidateMenu]
    root: PathForm = field(init=False, factory=PathForm)
    guided: Mapping[str, Mapping[str, int | None]] = field(init=False)
    unguided: tuple[str, ...] = field(init=False)
    _known: dict[str, dict[PathForm, int]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.guided = _guided(self.funcs)
        guided = {kid for kids in self.guided.values() for kid in kids}
        self.unguided = tuple(name for name in self.funcs if name not in guided)
        forms = self._forms()
        for name in reversed(list(self.funcs)):
            self._known[name] = self._count_paths(name, forms[name])

    @property
    def total(self) -> int:
        """The number of candidates."""
        return math.prod(self.count(name, self.root) for name in self.unguided)

    def count(self, name: str, path: PathForm) -> int:
        """The number of choices for a Func with uses inside a path, and for all that it guides."""
        return self._known[name][path]

    def block(self, name: str, path: PathForm, index: int) -> CandidateBlock:
        """The block of a candidate: its level and nest.

        Raises:
            IndexError: the index is not below :meth:`count`.
        """
        func = self.funcs[name]
        for at in (*func.levels(path), *(path.levels if func.menu.places.at else ())):
            for ways in (None,) if at is None else func.ways(at):
                size = self._size(name, path, at, ways)
                if index < size:
                    return CandidateBlock(at, ways, index)
                index -= size
        raise IndexError("there are not as many candidates")

    def _size(self, name: str, path: PathForm, at: PathForm | None, ways: NestWays | None) -> int:
        """The number of candidates of a block."""
        if at is None or ways is None:
            return math.prod(self.count(kid, path) for kid in self.guided[name])
        return self.funcs[name].stores(at) * self._nested(name, at, ways)

    def _nested(self, name: str, at: PathForm, ways: NestWays) -> int:
        """The number of candidates with a Func computed and stored at a level, nested in some
        ways.
        """
        kids = self.guided[name]
        total = math.prod(self.count(kid, at) for kid, stage in kids.items() if stage is None)
        for index, stage in enumerate(ways.stages):
            reads = [kid for kid, reader in kids.items() if reader == index]
            total *= sum(
                times * math.prod(self.count(kid, at.inside(loops)) for kid in reads)
                for loops, times in stage.items()
            )
        return total

    def _count_paths(self, name: str, paths: set[PathForm]) -> dict[PathForm, int]:
        """The count of a Func for each path of its uses."""
        func = self.funcs[name]
        computed: dict[PathForm, int] = {}

        def total(path: PathForm, at: PathForm | None) -> int:
            if at is None:
                return self._size(name, path, None, None)
            if at not in computed:
                ask_clock()
                computed[at] = sum(self._size(name, path, at, ways) for ways in func.ways(at))
            return computed[at]

        moved = dict.fromkeys(paths, 0)
        if func.menu.places.at:
            moved = totals(paths, {at: total(at, at) for at in levels_of(paths)})
        return {p: moved[p] + sum(total(p, at) for at in func.levels(p)) for p in paths}

    def _forms(self) -> dict[str, set[PathForm]]:
        """The paths of each Func."""
        found: dict[str, set[PathForm]] = {name: set() for name in self.funcs}
        for name in self.unguided:
            found[name].add(self.root)
        for name, func in self.funcs.items():
            levels = {at for path in found[name] for at in func.levels(path)}
            if func.menu.places.at:
                levels |= levels_of(found[name])
            for at in levels:
                ask_clock()
                for kid, stage in self.guided[name].items():
                    if at is None:
                        found[kid] |= found[name]
                    elif stage is None:
                        found[kid].add(at)
                    else:
                        nests = (ways.stages[stage] for ways in func.ways(at))
                        found[kid].update(at.inside(loops) for nest in nests for loops in nest)
        return found


def _guided(funcs: Mapping[str, CandidateMenu]) -> dict[str, dict[str, int | None]]:
    """The Funcs that each Func guides, with the stage that reads them; None if several do."""
    seen: set[str] = set()
    found: dict[str, dict[str, int | None]] = {}
    for name, func in funcs.items():
        kids: dict[str, int | None] = {}
        for index, stage in enumerate(func.menu.function.stages):
            for callee in dict.fromkeys(call.target for call in stage.calls):
                if callee in funcs and callee not in seen and callee != name:
                    kids[callee] = None if callee in kids else index
        seen |= kids.keys()
        found[name] = kids
    return found
