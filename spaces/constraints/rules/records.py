"""The input of rules about records: pipeline, schedule and device, with cached facts."""

from __future__ import annotations

from functools import cached_property

from attrs import define, field, frozen

from spaces.constraints.dependences.hazards import ordering
from spaces.constraints.dependences.orders import Trace, trace
from spaces.constraints.devices.device import Device, GpuDevice
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, LoopKind
from spaces.model.schedules.fused_groups import groups
from spaces.model.schedules.levels import LevelError, Levels, Path
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel, Schedule


@frozen
class Placed:
    """A stage of a computed Func at a legal place.

    Attributes:
        index: 0 for the pure stage, n for update n - 1.
        path: all loops around the stage, including its own, outermost first.
        kinds: the kind of each of these loops.
        in_kernel: whether one of them runs on a GPU.
    """

    index: int
    path: Path
    kinds: tuple[LoopKind, ...]
    in_kernel: bool


@define
class Records:
    """A schedule that covers its pipeline: one entry for each Func, one domain order for each
    stage.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    _entries: dict[str, FuncSchedule] = field(init=False)
    _functions: dict[str, Function] = field(init=False)
    _compute_paths: dict[str, Path | None] = field(init=False, factory=dict)
    _traced: dict[str, tuple[tuple[Stage, DomainOrder, Trace], ...]] = field(
        init=False, factory=dict
    )
    _placed: dict[str, tuple[Placed, ...]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self._entries = {f.name: f for f in self.schedule.funcs}
        self._functions = {f.name: f for f in self.pipeline.functions}

    @cached_property
    def levels(self) -> Levels:
        """The places where Funcs are computed and stored."""
        return Levels(self.pipeline, self.schedule)

    @cached_property
    def computed(self) -> frozenset[str]:
        """The names of the Funcs that are not inlined, or cannot be."""
        return frozenset(f.name for f in self.levels.functions)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The Funcs that are computed with each other."""
        return groups(self.schedule)

    @property
    def gpu(self) -> GpuDevice | None:
        """The device if it is a GPU, else None."""
        return self.device if isinstance(self.device, GpuDevice) else None

    def entry(self, func: str) -> FuncSchedule:
        """The schedule entry of a Func."""
        return self._entries[func]

    def has(self, func: str) -> bool:
        """Whether the pipeline has a Func of this name."""
        return func in self._functions

    def function(self, func: str) -> Function:
        """A Func as written, its producers not substituted."""
        return self._functions[func]

    def stages(self, func: str) -> tuple[tuple[Stage, DomainOrder, Trace], ...]:
        """Each stage of a Func with its domain order and the result of that order."""
        if func not in self._traced:
            function = self.function(func)
            self._traced[func] = tuple(
                (stage, order, trace(stage, order, ordering(function, index)))
                for index, (stage, order) in enumerate(
                    zip(function.stages, self.entry(func).stages, strict=True)
                )
            )
        return self._traced[func]

    def compute_path(self, func: str) -> Path | None:
        """The loops around the computation of a Func; None if its level, or the level of a
        consumer, is illegal.
        """
        if func not in self._compute_paths:
            try:
                self._compute_paths[func] = self.levels.compute_path(func)
            except LevelError:
                self._compute_paths[func] = None
        return self._compute_paths[func]

    def store_depth(self, func: str) -> int | None:
        """The number of loops around both the computation and the storage of a Func; None if its
        store level is not one of the loops around the computation.
        """
        return self.depth(func, self.entry(func).store)

    def depth(self, func: str, level: LoopLevel) -> int | None:
        """The number of loops around both the computation of a Func and a level; None if that is
        not one of the loops around the computation.
        """
        path = self.compute_path(func)
        if path is None:
            return None
        if level.is_root or level.is_inline:
            return 0
        return next(
            (i + 1 for i, loop in enumerate(path) if self.levels.is_at(func, level, loop)), None
        )

    def path(self, func: str, stage: int) -> Path | None:
        """All loops around a stage, including its own; None if its compute level is illegal."""
        return None if self.compute_path(func) is None else self.levels.stage_path(func, stage)

    def placed(self, func: str) -> tuple[Placed, ...]:
        """The stages of a computed Func whose place is legal; none of an inlined Func. Many rules
        ask, so results are kept.
        """
        if func not in self._placed:
            count = len(self.entry(func).stages) if func in self.computed else 0
            paths = ((index, self.path(func, index)) for index in range(count))
            self._placed[func] = tuple(
                self._with_kinds(index, path) for index, path in paths if path is not None
            )
        return self._placed[func]

    def _with_kinds(self, index: int, path: Path) -> Placed:
        kinds = self.kinds(path)
        return Placed(index, path, kinds, any(kind.is_gpu for kind in kinds))

    def kinds(self, path: Path) -> tuple[LoopKind, ...]:
        """The kind of each loop of a path."""
        return tuple(self.levels.kind(loop) for loop in path)

    def is_inlined(self, func: str) -> bool:
        """Whether a Func is inlined into its consumers."""
        return func not in self.computed
