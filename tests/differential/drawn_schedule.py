"""A schedule that is drawn already, and where in it a construct may go."""

from __future__ import annotations

import random

from attrs import define, evolve

from spaces import (
    Directives,
    DomainOrder,
    LevelError,
    LoopKind,
    LoopLevel,
    Pipeline,
    Schedule,
    Tail,
    derived,
)
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.schedule import FuncSchedule

ON_GPUS = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)
AT_ONCE = (LoopKind.PARALLEL, *ON_GPUS)


@define
class DrawnSchedule:
    """A schedule, whose Funcs and loops come in orders that ``rng`` draws."""

    rng: random.Random
    pipeline: Pipeline
    schedule: Schedule

    @property
    def whole(self) -> Pipeline:
        """The pipeline with the Funcs that the schedule derives."""
        return derived(self.pipeline, self.schedule)

    def funcs(self, update: bool = False) -> list[tuple[Function, FuncSchedule]]:
        """Funcs that are computed somewhere, in an order that is drawn."""
        functions = {f.name: f for f in self.whole.functions}
        found = [
            (functions[entry.name], entry)
            for entry in self.schedule.funcs
            if entry.name in functions
            and not entry.compute.is_inline
            and len(entry.stages) == len(functions[entry.name].stages)
            and (not update or len(entry.stages) > 1)
        ]
        self.rng.shuffle(found)
        return found

    def at(self, entry: FuncSchedule, stage: int) -> Directives:
        """Directives for a stage of a Func."""
        directives = Directives(self.pipeline, self.schedule, entry.name)
        return directives.update(stage - 1) if stage else directives

    def loops_around(self, name: str) -> tuple[list[LoopLevel], list[LoopKind]]:
        """Loops around all uses of a Func that are no vectors, outermost first, and their kinds."""
        directives = Directives(self.pipeline, self.schedule, name).compute_root()
        try:
            levels = Levels(self.whole, directives.schedule)
            path = levels.enclosing(name)
        except (LevelError, KeyError):
            return [], []
        kinds = [levels.kind(place) for place in path]
        until = kinds.index(LoopKind.VECTORIZED) if LoopKind.VECTORIZED in kinds else len(kinds)
        return [LoopLevel(place.func, place.loop) for place in path[:until]], kinds[:until]

    def split(
        self, stage: Directives, loop: str, factor: int, tail: Tail, kind: LoopKind
    ) -> Directives:
        """A loop split, with an inner loop of the kind: vectors, unrolled or else serial."""
        inner = unused_name(stage.schedule.of(stage.selected).stages[stage.stage])
        split = stage.split(loop, loop, inner, factor, tail)
        match kind:
            case LoopKind.VECTORIZED:
                return split.vectorize(inner)
            case LoopKind.UNROLLED:
                return split.unroll(inner)
        return split

    def is_beside_kernels(self, entry: FuncSchedule) -> bool:
        """Whether the host computes all stages of a Func."""
        own = (kind for stage in entry.stages for _, kind in loop_kinds(stage))
        around = () if entry.compute.is_root else self.loops_around(entry.name)[1]
        return not any(kind in ON_GPUS for kind in (*own, *around))

    def beside_kernels(self, count: int = 1) -> DrawnSchedule:
        """The schedule, with so many Funcs that the host computes beside the kernels that
        others are: what is added next may be refused in a kernel.
        """
        funcs = self.funcs()
        levels = {at.func for f in self.schedule.funcs for at in (f.compute, f.store, f.hoist)}
        hosts = [e for _, e in funcs if self.is_beside_kernels(e)]
        kernels = [e for _, e in funcs if e.compute.is_root and e not in hosts]
        free = [e for e in kernels if e.name not in levels and not e.specializations]
        schedule = self.schedule
        for entry in free[: max(0, min(count - len(hosts), len(kernels) - 1))]:
            plain = Schedule.default(self.whole).of(entry.name)
            schedule = schedule.replace(evolve(entry, stages=plain.stages, companions=()))
        return evolve(self, schedule=schedule)


def loop_kinds(order: DomainOrder) -> list[tuple[str, LoopKind]]:
    """The loops of a stage, outermost first, with their kinds."""
    return [(loop.name, loop.kind) for loop in order.loops]


def unused_name(order: DomainOrder) -> str:
    """A name that no loop of a stage has, or had."""
    return next(n for n in (f"a{i}" for i in range(99)) if n not in order.all_names)
