"""Where Funcs are computed and stored: loop levels resolved to paths of loops.

Only names are needed, no regions: rules and spaces ask which levels a Func may have before a loop
nest exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.fused_groups import FusedGroups, groups, in_turn
from spaces.model.schedules.inlining import inlined_functions
from spaces.model.schedules.schedule import LoopLevel, Schedule, StageOf


@frozen
class LoopOf:
    """One loop of the nest: loop ``loop`` of stage ``stage`` of Func ``func``."""

    func: str
    stage: int
    loop: str

    @property
    def level(self) -> LoopLevel:
        """The loop level that a directive names for it."""
        return LoopLevel(self.func, self.loop)


Path: TypeAlias = tuple[LoopOf, ...]
"""The loops around a point of the nest, outermost first."""


def _in_turn(
    functions: tuple[Function, ...], groups: Iterable[tuple[str, ...]]
) -> tuple[Function, ...]:
    """Producers first, Funcs that are computed with each other one right after the other."""
    known = {f.name: f for f in functions}
    return tuple(known[name] for name in in_turn(functions, groups) or known)


class LevelError(ValueError):
    """A loop level names no loop around the uses of a Func."""


@define
class Levels:
    """The loops around the computation and the storage of each Func of (pipeline, schedule)."""

    pipeline: Pipeline
    schedule: Schedule
    functions: tuple[Function, ...] = field(init=False)
    _compute_paths: dict[str, Path] = field(init=False, factory=dict)
    _enclosing: dict[str, Path] = field(init=False, factory=dict)
    _readers: dict[str, list[tuple[str, int]]] = field(init=False, factory=dict)
    _fused_groups: FusedGroups | None = field(init=False, default=None)
    _fused: dict[StageOf, Path] | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self.functions = inlined_functions(self.pipeline, self.schedule)
        if self.groups:
            self.functions = _in_turn(self.functions, self.groups)
        for function in self.functions:
            for index, stage in enumerate(function.stages):
                for callee in stage.callees:
                    if callee != function.name:
                        self._readers.setdefault(callee, []).append((function.name, index))

    def compute_path(self, func: str) -> Path:
        """The loops that enclose the computation of ``func``.

        Raises:
            LevelError: its compute level is no loop around all its uses.
        """
        # Paths follow from the paths of readers. A list avoids recursion, because pipelines may
        # have more Funcs than calls may nest.
        open_ = [] if func in self._compute_paths else [func]
        while open_:
            one = open_[-1]
            reader = next((r for r in self._placed_by(one) if r not in self._compute_paths), None)
            if reader is None:
                level = self.schedule.of(one).compute
                self._compute_paths[open_.pop()] = self._resolve(one, level, "computed")
            else:
                open_.append(reader)
        return self._compute_paths[func]

    def _placed_by(self, func: str) -> tuple[str, ...]:
        """The Funcs whose compute paths must be known for that of ``func``."""
        level = self.schedule.of(func).compute
        if level.is_root or level.is_inline or func in self.pipeline.outputs:
            return ()
        return tuple(reader for reader, _ in self.uses(func))

    def store_path(self, func: str) -> Path:
        """The loops that enclose the storage of ``func``.

        Raises:
            LevelError: its store level is no loop around all its uses.
        """
        return self._resolve(func, self.schedule.of(func).store, "stored")

    def hoist_path(self, func: str) -> Path:
        """The loops that enclose the memory of ``func``.

        Raises:
            LevelError: its hoist level is no loop around all its uses.
        """
        level = self.schedule.of(func).hoist
        return self.store_path(func) if level.is_inline else self._resolve(func, level, "hoisted")

    def _resolve(self, func: str, level: LoopLevel, verb: str) -> Path:
        if level.is_root or level.is_inline:
            return ()
        legal = self.enclosing(func)
        for i, loop in enumerate(legal):
            if self.is_at(func, level, loop):
                return legal[: i + 1]
        choices = ", ".join(["root", *(str(p.level) for p in legal)])
        raise LevelError(
            f"{func} is {verb} at {level}, which does not enclose every use of {func}; "
            f"levels that do: {choices}."
        )

    def is_at(self, func: str, level: LoopLevel, loop: LoopOf) -> bool:
        """Whether ``level``, a level of ``func``, is the loop ``loop``. A fused loop belongs to its
        own stage. It also counts as the loop of another fused stage if only that stage, and Funcs
        computed with it, need ``func``.
        """
        if loop.level == level:
            return True
        return loop.loop == level.loop and all(
            self._is_inside(StageOf(*use), level.func, loop) for use in self.uses(func)
        )

    def _is_inside(self, stage: StageOf, func: str, loop: LoopOf) -> bool:
        """Whether a stage runs inside a fused loop as part of a stage of ``func``, which is fused
        there.
        """
        open_, seen = [stage], set[str]()
        while open_:
            one = open_.pop()
            path = self.fused.get(one, ())
            if loop in path:
                if any(o.func == func for o in self.fused_groups.others(one, path.index(loop))):
                    return True
            elif one.func not in seen:
                seen.add(one.func)
                level = self.schedule.of(one.func).compute
                orders = (
                    () if level.is_inline or level.is_root else self.schedule.of(level.func).stages
                )
                open_ += (StageOf(level.func, index) for index in range(len(orders)))
        return False

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The Funcs that are computed with each other, each before those it is computed with."""
        known = {function.name for function in self.functions}
        return tuple(group for group in groups(self.schedule) if set(group) <= known)

    @property
    def fused_groups(self) -> FusedGroups:
        """Which loops stages have in common."""
        if self._fused_groups is None:
            self._fused_groups = FusedGroups.of(self.schedule)
        return self._fused_groups

    @property
    def fused(self) -> dict[StageOf, Path]:
        """For each stage that is computed with another one the loops that it has in common."""
        if self._fused is None:
            self._fused = {
                stage: tuple(self._own(stage, index) for index in range(depth))
                for stage, depth in self.fused_groups.depths.items()
            }
        return self._fused

    def _own(self, stage: StageOf, index: int) -> LoopOf:
        """Loop ``index`` of a stage, or the loop that it is fused with."""
        owner = self.fused_groups.owner(stage, index)
        return LoopOf(
            owner.func, owner.stage, self.schedule.of(stage.func).stages[stage.stage].names[index]
        )

    def sharing(self, loop: LoopOf) -> tuple[StageOf, ...]:
        """The stages that run in a loop: one, or all that are fused there."""
        children = (stage for stage, path in self.fused.items() if loop in path)
        return (StageOf(loop.func, loop.stage), *children)

    def uses(self, name: str) -> tuple[tuple[str, int], ...]:
        """The (Func, stage) pairs that read a Func or an image, other than its own updates."""
        return tuple(self._readers.get(name, ()))

    def stage_path(self, func: str, stage: int) -> Path:
        """All loops around one stage of ``func``, its own included."""
        names = self.schedule.of(func).stages[stage].names
        fused = self.fused.get(StageOf(func, stage), ())
        own = tuple(LoopOf(func, stage, name) for name in names[len(fused) :])
        return (*self.compute_path(func), *fused, *own)

    def enclosing(self, func: str) -> Path:
        """The loops that enclose every use of ``func``: where it may be computed or stored.

        Empty for outputs, which are computed at root, and for Funcs nobody reads.
        """
        if func not in self._enclosing:
            self._enclosing[func] = self._shared_path(func)
        return self._enclosing[func]

    def _shared_path(self, func: str) -> Path:
        if func in self.pipeline.outputs:
            return ()
        paths = [self.stage_path(*use) for use in self.uses(func)]
        if not paths:
            return ()
        shared: list[LoopOf] = []
        for loops in zip(*paths, strict=False):
            if any(p != loops[0] for p in loops):
                break
            shared.append(loops[0])
        return tuple(shared)

    def kind(self, loop: LoopOf) -> LoopKind:
        """The kind of a loop."""
        return self.schedule.of(loop.func).stages[loop.stage].kind(loop.loop)
