"""A space as independent decisions, for the solver."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from spaces.constraints.solver.universe import Assignment, Decision, Universe
from spaces.enumerate.space.options import OF_PATTERNS
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.menus import FixedMenu, FuncMenu
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.sizes_of_space import shown_size
from spaces.model.deadline import ask_clock
from spaces.model.schedules.schedule import INLINE, ROOT, FuncSchedule, LoopLevel, Schedule


def universe(space: ScheduleSpace) -> Universe:
    """The space without its knowledge of the choices that go together: each Func chooses from all
    possible levels and patterns, and only the rules say which choices are legal.

    The universe has the same legal schedules as the space. The decisions of a Func are called
    ``F.compute``, ``F.store``, ``F.root`` and ``F.inner``; a decision about a factor has the name
    of the parameter. A choice with a single option is not a decision.

    Raises:
        ValueError: the space decides more than placements, store levels and whole patterns.
    """
    if beyond := sorted(OF_PATTERNS.intersection(space.options.directives)):
        raise ValueError(
            f"The options of {space.pipeline.name} have the directives {', '.join(beyond)}; a "
            "universe has placements, store levels and whole patterns only: give Options with "
            "directives=()."
        )
    options = {name: _FuncOptions.of(space, name) for name in space.menus}
    decisions = tuple(d for found in options.values() for d in found.decisions)

    def structure(choice: Assignment) -> Schedule:
        names = [function.name for function in space.pipeline.functions]
        return space.schedule(tuple(options[name].entry(choice) for name in names))

    further = {
        shown_size(size): evolve(space.pipeline, estimates=size).sizes() for size in space.sizes
    }
    return Universe(space.pipeline, decisions, structure, space.restricted.rules, further)


@frozen
class _FuncOptions:
    """The options of one Func, by name."""

    menu: FuncMenu
    compute: Mapping[str, LoopLevel]
    store: Mapping[str, LoopLevel]

    @staticmethod
    def of(space: ScheduleSpace, name: str) -> _FuncOptions:
        menu = space.menus[name]
        levels = {str(level): level for level in _levels(space, name)} if menu.may_move else {}
        compute: dict[str, LoopLevel] = {}
        if menu.may_inline:
            compute["inline"] = INLINE
        if menu.may_root:
            compute["root"] = ROOT
        compute |= levels
        store = {"root": ROOT, **levels} if levels and menu.stores_outside else {}
        return _FuncOptions(menu, compute, store)

    @property
    def name(self) -> str:
        return self.menu.function.name

    @property
    def decisions(self) -> tuple[Decision, ...]:
        structural = {
            "compute": tuple(self.compute),
            "store": tuple(self.store),
            "root": tuple(self.menu.root),
            "inner": tuple(self.menu.inner),
        }
        named = tuple(
            Decision(f"{self.name}.{what}", self.name, options)
            for what, options in structural.items()
            if len(options) > 1
        )
        numeric = tuple(
            Decision(parameter, self.name, menu) for parameter, menu in self.menu.factors.items()
        )
        return named + numeric

    def entry(self, choice: Assignment) -> FuncSchedule:
        """The entry that a choice gives; ignores decisions that do not apply to it."""
        if isinstance(self.menu, FixedMenu):
            return self.menu.entry
        compute = self._chosen(choice, "compute", self.compute)
        if compute.is_inline:
            return self.menu.inlined
        if compute.is_root:
            return self.menu.scheduled(self._orders(choice, "root", self.menu.root), ROOT, ROOT)
        store = self._chosen(choice, "store", self.store) if self.store else compute
        orders = self._orders(choice, "inner", self.menu.inner)
        return self.menu.scheduled(orders, compute, store)

    def _chosen(self, choice: Assignment, what: str, options: Mapping[str, LoopLevel]) -> LoopLevel:
        return options[str(choice.get(f"{self.name}.{what}", next(iter(options))))]

    def _orders(self, choice: Assignment, what: str, options: Mapping[str, Orders]) -> Orders:
        return options[str(choice.get(f"{self.name}.{what}", next(iter(options))))]


def _levels(space: ScheduleSpace, name: str) -> list[LoopLevel]:
    """Every loop that may be around a use of a Func: the loops of all Funcs that read it, directly
    or not, except vectorized and unrolled loops.
    """
    readers = _readers(space, name)
    levels: dict[LoopLevel, None] = {}
    for reader in space.menus:
        ask_clock()
        if reader in readers:
            menu = space.menus[reader]
            for orders in (*menu.root.values(), *menu.inner.values()):
                for order in orders:
                    open_loops = (loop for loop in order.loops if not loop.kind.has_constant_extent)
                    levels |= {LoopLevel(reader, loop.name): None for loop in open_loops}
    return list(levels)


def _readers(space: ScheduleSpace, name: str) -> set[str]:
    found: set[str] = set()
    queue = [name]
    while queue:
        for reader in space.pipeline.consumers(queue.pop()):
            if reader not in found:
                found.add(reader)
                queue.append(reader)
    return found
