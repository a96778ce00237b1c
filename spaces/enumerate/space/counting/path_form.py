"""The form of a residual path: what the options of a Func depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from attrs import define, field

from spaces.enumerate.space.frontier import in_one_grid
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import LoopLevel

NestLoop: TypeAlias = tuple[LoopKind, LoopLevel | None]
"""The kind of a loop, and its level if somebody asks for it by name."""


@define(eq=False)
class PathForm:
    """The kinds of the loops around a Func, outermost first; root has none.

    Equal forms are one object. A Func has the same options on all paths of a form, unless a given
    entry names a loop: forms tell these loops apart.

    Attributes:
        outer: the form without the innermost loop; None at root.
        kind: the kind of the innermost loop.
        level: its level, if a given entry names it.
        depth: the number of loops.
        stores: at how many levels a Func computed here may be stored: those with no concurrent loop
            between.
        is_open: whether no loop is vectorized or unrolled, so that Funcs are computed here.
        kinds: the kinds of all loops.
        root: the form of the empty path.
    """

    outer: PathForm | None = None
    kind: LoopKind = LoopKind.SERIAL
    level: LoopLevel | None = None
    depth: int = field(init=False, default=0)
    stores: int = field(init=False, default=1)
    is_open: bool = field(init=False, default=True)
    kinds: frozenset[LoopKind] = field(init=False, default=frozenset())
    root: PathForm = field(init=False)
    _inside: dict[NestLoop, PathForm] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        outer = self.outer
        self.root = self if outer is None else outer.root
        if outer is not None:
            self.depth = outer.depth + 1
            self.stores = 1 if self.kind.is_concurrent else outer.stores + 1
            self.is_open = outer.is_open and not self.kind.has_constant_extent
            self.kinds = outer.kinds | {self.kind}

    def inside(self, loops: tuple[NestLoop, ...]) -> PathForm:
        """The form inside some more loops."""
        form = self
        for loop in loops:
            found = form._inside.get(loop)
            if found is None:
                found = form._inside[loop] = PathForm(form, *loop)
            form = found
        return form

    @property
    def parts_grid(self) -> bool:
        """Whether the innermost two loops are of one grid of blocks or threads."""
        outer = self.outer
        return outer is not None and outer.depth > 0 and in_one_grid(outer.kind, self.kind)

    @property
    def levels(self) -> Iterator[PathForm]:
        """The levels of the path where a Func may be computed, innermost first, without root."""
        form, parted = self, False
        while form.outer is not None:
            if form.is_open and not parted:
                yield form
            form, parted = form.outer, form.parts_grid


def levels_of(paths: Iterable[PathForm]) -> set[PathForm]:
    """The levels of all these paths. Each loop is visited once."""
    found: set[PathForm] = set()
    seen: set[PathForm] = set()
    for form in paths:
        parted = False
        while form.outer is not None:
            if form.is_open and not parted:
                found.add(form)
            if form in seen:
                break
            seen.add(form)
            form, parted = form.outer, form.parts_grid
    return found


def totals(paths: Iterable[PathForm], amount: Mapping[PathForm, int]) -> dict[PathForm, int]:
    """For each path the sum of an amount over its levels. Each loop is visited once.

    Args:
        paths: some paths.
        amount: the amount of each of :func:`levels_of`.
    """
    outside: dict[PathForm, int] = {}
    found: dict[PathForm, int] = {}
    for path in paths:
        inner, form = [], path
        while form.outer is not None and form not in outside:
            inner.append(form)
            form = form.outer
        for one in reversed(inner):
            outer = one.outer
            assert outer is not None
            is_level = outer.outer is not None and outer.is_open and not one.parts_grid
            outside[one] = outside.get(outer, 0) + (amount[outer] if is_level else 0)
        own = amount[path] if path.outer is not None and path.is_open else 0
        found[path] = outside.get(path, 0) + own
    return found
