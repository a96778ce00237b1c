"""[TOY]'s six transformers of schedules as moves: small records that can be stored and replayed.

Split a loop, change its type, reorder two loops, hoist or lower the computation of a Func, hoist
or lower its storage, inline or de-inline it. Applied to a well-formed schedule (see
:func:`~spaces.model.nest.well_formed.well_formed`) a move gives a well-formed one or refuses;
whether a device permits the result is for ``verify`` to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import combinations

import attrs
from attrs import define, field, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.directives.directives import Directives
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Factor, LoopKind
from spaces.model.schedules.extents import constant_extents, reduction_loops
from spaces.model.schedules.levels import LevelError, Path
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.schedule import ROOT, FuncSchedule, LoopLevel, Schedule


class MoveError(ValueError):
    """A move cannot be applied to a schedule."""


@define
class State:
    """A schedule under consideration, with what moves ask about it."""

    pipeline: Pipeline
    schedule: Schedule
    levels: NamedLevels = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self.levels = NamedLevels(self.pipeline, self.schedule)

    def computed(self) -> Iterator[FuncSchedule]:
        """The Funcs that are not inlined."""
        return (f for f in self.schedule.funcs if not f.compute.is_inline)

    def order(self, func: str, stage: int) -> DomainOrder:
        """The domain order of one stage.

        Raises:
            MoveError: there is no such stage, or its Func is inlined.
        """
        found = self.func(func)
        if found.compute.is_inline:
            raise MoveError(f"{func} is inlined, so it has no loops; de-inline it first.")
        if not 0 <= stage < len(found.stages):
            raise MoveError(
                f"{func} has {amount(len(found.stages), 'stage')}; there is no stage {stage}."
            )
        return found.stages[stage]

    def func(self, name: str) -> FuncSchedule:
        """The schedule of one Func.

        Raises:
            MoveError: no Func has that name.
        """
        try:
            return self.schedule.of(name)
        except KeyError as error:
            raise MoveError(error.args[0]) from None

    def movable(self, func: str) -> FuncSchedule:
        """The schedule of a Func that is computed and no output.

        Raises:
            MoveError: it is one or the other.
        """
        found = self.func(func)
        if func in self.pipeline.outputs:
            raise MoveError(f"{func} is an output, which is computed and stored at root.")
        if found.compute.is_inline:
            raise MoveError(f"{func} is inlined; de-inline it first.")
        return found

    def hosts(self, func: str) -> bool:
        """Whether something is computed or stored at a loop of ``func``."""
        levels = (level for f in self.schedule.funcs for level in (f.compute, f.store))
        return any(level.func == func for level in levels)

    def is_well_formed(self) -> bool:
        """Whether each Func is computed and stored around all its uses, storage outermost."""
        try:
            for func in self.computed():
                path, store = self.levels.compute_path(func.name), self.levels.store_path(func.name)
                if path[: len(store)] != store:
                    return False
        except LevelError:
            return False
        return True


class Move(ABC):
    """One step from a schedule to a neighbour."""

    def apply(self, pipeline: Pipeline, schedule: Schedule) -> Schedule:
        """The schedule after the move.

        Raises:
            MoveError: it names nothing in the schedule, changes nothing, or would leave a Func
                without a place around all its uses.
        """
        return self.on(State(pipeline, schedule))

    @abstractmethod
    def on(self, state: State) -> Schedule:
        """:meth:`apply` for a schedule about which more is asked."""


@frozen
class SplitLoop(Move):
    """Loop ``loop`` becomes the outer loop; ``inner`` takes ``factor`` of it at a time."""

    func: str
    stage: int
    loop: str
    inner: str
    factor: Factor

    def on(self, state: State) -> Schedule:
        order = state.order(self.func, self.stage)
        _require_loop(order, self.func, self.loop)
        if self.inner in order.all_names:
            raise MoveError(f"{self.func} has a loop {self.inner} already; choose another name.")
        directives = Directives(state.pipeline, state.schedule, self.func, self.stage)
        return directives.split(self.loop, self.loop, self.inner, self.factor).schedule


@frozen
class ChangeLoopType(Move):
    """Loop ``loop`` is executed as ``kind`` says."""

    func: str
    stage: int
    loop: str
    kind: LoopKind

    def on(self, state: State) -> Schedule:
        order = state.order(self.func, self.stage)
        _require_loop(order, self.func, self.loop)
        if order.kind(self.loop) is self.kind:
            raise MoveError(f"Loop {self.loop} of {self.func} is {self.kind} already.")
        loops = tuple(
            attrs.evolve(loop, kind=self.kind) if loop.name == self.loop else loop
            for loop in order.loops
        )
        return state.schedule.with_stage(self.func, self.stage, attrs.evolve(order, loops=loops))


@frozen
class ReorderLoops(Move):
    """Loops ``first`` and ``second`` of one stage change places."""

    func: str
    stage: int
    first: str
    second: str

    def on(self, state: State) -> Schedule:
        order = state.order(self.func, self.stage)
        for loop in (self.first, self.second):
            _require_loop(order, self.func, loop)
        if self.first == self.second:
            raise MoveError(f"{self.first} is one loop; name two to reorder.")
        swap = {self.first: self.second, self.second: self.first}
        kinds = {loop.name: loop for loop in order.loops}
        loops = tuple(kinds[swap.get(loop.name, loop.name)] for loop in order.loops)
        changed = state.schedule.with_stage(self.func, self.stage, attrs.evolve(order, loops=loops))
        if state.hosts(self.func):
            _require_well_formed(self, state.pipeline, changed)
        return changed


@frozen
class MoveCompute(Move):
    """``func`` is computed at ``level``: lowered into loops of its consumers, or hoisted out.

    Storage stays where it is, unless it would then be inside the computation, or outside a loop
    whose iterations run at once.
    """

    func: str
    level: LoopLevel

    def on(self, state: State) -> Schedule:
        found = state.movable(self.func)
        if found.compute == self.level:
            raise MoveError(f"{self.func} is computed at {self.level} already.")
        path = _path_to(state, self.func, self.level)
        concurrent = [i for i, p in enumerate(path) if state.levels.kind(p).is_concurrent]
        least = concurrent[-1] + 1 if concurrent else 0
        depth = max(least, min(len(path), len(state.levels.store_path(self.func))))
        store = path[depth - 1].level if depth else ROOT
        changed = state.schedule.replace(attrs.evolve(found, compute=self.level, store=store))
        _require_well_formed(self, state.pipeline, changed)
        return changed


@frozen
class MoveStorage(Move):
    """``func`` is stored at ``level``: lowered toward its computation, or hoisted out."""

    func: str
    level: LoopLevel

    def on(self, state: State) -> Schedule:
        found = state.movable(self.func)
        if found.store == self.level:
            raise MoveError(f"{self.func} is stored at {self.level} already.")
        if len(_path_to(state, self.func, self.level)) > len(state.levels.compute_path(self.func)):
            raise MoveError(
                f"{self.func} is computed at {found.compute}, outside {self.level}; storage is "
                "at the computation or further out."
            )
        return state.schedule.replace(attrs.evolve(found, store=self.level))


@frozen
class Inline(Move):
    """``func`` is substituted into its consumers; what was scheduled about its loops is dropped."""

    func: str

    def on(self, state: State) -> Schedule:
        state.movable(self.func)
        if not state.pipeline.function(self.func).is_pure:
            raise MoveError(f"{self.func} has update stages, so it cannot be inlined.")
        if state.hosts(self.func):
            raise MoveError(
                f"Something is computed or stored at a loop of {self.func}; hoist it first."
            )
        return state.schedule.replace(Schedule.default(state.pipeline).of(self.func))


@frozen
class Deinline(Move):
    """``func`` is computed and stored as far out as what it reads permits."""

    func: str

    def on(self, state: State) -> Schedule:
        found = state.func(self.func)
        if not found.compute.is_inline:
            raise MoveError(f"{self.func} is not inlined.")
        # What it reads must still be computed and stored around it.
        read = state.levels.reads[self.func]
        paths = [state.levels.compute_path(f.name) for f in state.computed() if f.name in read]
        path = max(paths, key=len, default=())
        level = path[-1].level if path else ROOT
        changed = state.schedule.replace(attrs.evolve(found, compute=level, store=level))
        _require_well_formed(self, state.pipeline, changed)
        return changed


def _require_loop(order: DomainOrder, func: str, loop: str) -> None:
    if loop not in order.names:
        raise MoveError(f"{func} has no loop {loop}; it has {', '.join(order.names)}.")


def _require_well_formed(move: Move, pipeline: Pipeline, schedule: Schedule) -> None:
    if not State(pipeline, schedule).is_well_formed():
        raise MoveError(f"{move} would leave a Func without a place around all its uses.")


def _path_to(state: State, func: str, level: LoopLevel) -> Path:
    """The loops down to ``level``, one of those around all uses of ``func``."""
    if level.is_root:
        return ()
    path = state.levels.enclosing(func)
    for depth, loop in enumerate(path, start=1):
        if loop.level == level:
            return path[:depth]
    choices = ", ".join(["root", *(str(p.level) for p in path)])
    raise MoveError(f"{level} is not a loop around all uses of {func}; those are {choices}.")


def apply_moves(pipeline: Pipeline, schedule: Schedule, moves: Iterable[Move]) -> Schedule:
    """``schedule`` after ``moves``, one after another."""
    for move in moves:
        schedule = move.apply(pipeline, schedule)
    return schedule


CPU_KINDS = tuple(kind for kind in LoopKind if not kind.is_gpu)


def moves(
    pipeline: Pipeline,
    schedule: Schedule,
    factors: tuple[int, ...] = (4, 8, 16, 32),
    kinds: tuple[LoopKind, ...] = CPU_KINDS,
) -> Iterator[Move]:
    """All moves from a well-formed schedule to its neighbours, always in the same order.

    Moves that could only be illegal are left out: splits by no less than a known extent, vectors
    and unrolled loops of unknown extent, concurrent loops over RVars or between the storage and
    the computation of a Func.
    """
    state = State(pipeline, schedule)
    for func in schedule.funcs:
        for move in _candidates(state, func, factors, kinds):
            try:
                move.on(state)
            except MoveError:
                continue
            yield move


def _candidates(
    state: State, func: FuncSchedule, factors: tuple[int, ...], kinds: tuple[LoopKind, ...]
) -> Iterator[Move]:
    if func.compute.is_inline:
        yield Deinline(func.name)
        return
    if func.name not in state.pipeline.outputs:
        yield Inline(func.name)
        yield from _placements(state, func.name)
    stages = state.pipeline.function(func.name).stages
    for index, (stage, order) in enumerate(zip(stages, func.stages, strict=True)):
        extents = constant_extents(stage, order)
        for loop in order.loops:
            known = extents.get(loop.name)
            if loop.kind is LoopKind.SERIAL and not isinstance(known, str):
                inner = _fresh(order, loop.name)
                for factor in factors:
                    if known is None or factor < known:
                        yield SplitLoop(func.name, index, loop.name, inner, factor)
        for first, second in combinations(order.names, 2):
            yield ReorderLoops(func.name, index, first, second)
        reduced = reduction_loops(stage, order)
        for loop in order.loops:
            for kind in kinds:
                is_known = not kind.has_constant_extent or loop.name in extents
                is_pure = not kind.is_concurrent or loop.name not in reduced
                if is_known and is_pure and not _separates(state, func.name, loop.name, kind):
                    yield ChangeLoopType(func.name, index, loop.name, kind)


def _placements(state: State, func: str) -> Iterator[Move]:
    """Every compute level of a Func, and every store level without concurrent loops between."""
    for loop in state.levels.enclosing(func)[::-1]:
        yield MoveCompute(func, loop.level)
    yield MoveCompute(func, ROOT)
    path = state.levels.compute_path(func)
    for depth in range(len(path), -1, -1):
        if depth < len(path) and state.levels.kind(path[depth]).is_concurrent:
            break
        yield MoveStorage(func, path[depth - 1].level if depth else ROOT)


def _separates(state: State, func: str, loop: str, kind: LoopKind) -> bool:
    """Whether a concurrent loop there would part the computation of a Func from its storage."""
    if not kind.is_concurrent:
        return False
    return any(
        (one.func, one.loop) == (func, loop)
        for other in state.computed()
        for one in state.levels.compute_path(other.name)[len(state.levels.store_path(other.name)) :]
    )


def _fresh(order: DomainOrder, loop: str) -> str:
    """A name for the inner part of a loop: ``xi``, else ``xi2`` and so on."""
    taken = order.all_names
    candidates = (f"{loop}i{n if n > 1 else ''}" for n in range(1, len(taken) + 2))
    return next(name for name in candidates if name not in taken)
