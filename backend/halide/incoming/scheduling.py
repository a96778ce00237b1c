"""The schedule of a whole pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce

import attrs
from attrs import define, field

from spaces.backend.halide.file import contents as file
from spaces.backend.halide.file.nodes import HalideNode
from spaces.backend.halide.incoming.expressions import IncomingExpressions
from spaces.backend.halide.incoming.facts import depends_on_sizes
from spaces.backend.halide.incoming.loops import MOST_LOOPS, OUTER, StageLoops, member, whole
from spaces.backend.halide.incoming.problems import Problems, Unsupported
from spaces.backend.halide.incoming.roles import Roles
from spaces.backend.halide.incoming.tails import with_automatic_tails
from spaces.backend.halide.meaning import as_halide_means
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.algorithm.var import OUTERMOST
from spaces.model.expressions.expr import Const, Expr, Variable, logical
from spaces.model.expressions.rewrite import rewrite
from spaces.model.schedules.conditions import ConditionError
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.schedule import (
    INLINE,
    ROOT,
    Alignment,
    Bound,
    Companion,
    Fold,
    FuncSchedule,
    LoopAlign,
    LoopLevel,
    MemoryType,
    Pad,
    Schedule,
    Specialization,
    StageOf,
    StorageBound,
)
from spaces.model.suggestions import some_of

MOST_CONDITIONS = 8
"""Specializations in one another."""


@define
class Scheduling:
    """The schedule that the Funcs of a file have.

    Attributes:
        pipeline: with all wrappers and clones.
        names: the names here of Funcs and images, by the places of their Funcs in the file.
        images: the names of images here, by their names in Halide.
    """

    pipeline: Pipeline
    roles: Roles
    names: Mapping[int, str]
    images: Mapping[str, str]
    convert: IncomingExpressions
    problems: Problems
    _loops: dict[str, list[StageLoops]] = field(init=False, factory=dict)
    """The stages of each Func, by its name here, with those of its specializations behind."""
    _files: dict[str, file.FuncTable] = field(init=False)
    """The Funcs of the file by their names here."""
    _by_name: dict[str, str] = field(init=False)
    """The names of Funcs here, by their names in Halide."""
    _targets: dict[str, str] = field(init=False)
    """The names of Funcs and images here, by the names of Funcs and ImageParams in Halide."""

    def __attrs_post_init__(self) -> None:
        funcs = self.roles.contents.funcs
        self._files = {name: funcs[place] for place, name in self.names.items()}
        self._by_name = {funcs[place].name: name for place, name in self.names.items()}
        images = {funcs[place].name: self.images.get(i) for place, i in self.roles.images.items()}
        known = {theirs: ours for theirs, ours in images.items() if ours is not None}
        self._targets = {**self.images, **known, **self._by_name}

    def schedule(self, derivations: tuple[Derivation, ...]) -> Schedule:
        """The schedule, as Halide follows it."""
        files = self._files
        functions = self.pipeline.functions
        orders = {}
        for function in functions:
            with self.problems.at(f"Func {function.name}"):
                orders[function.name] = self._stages(function, files[function.name])
        entries = []
        for function in functions:
            if function.name not in orders:
                continue  # its problem is known
            with self.problems.at(f"schedule of Func {function.name}"):
                stages, cases = orders[function.name]
                entry = FuncSchedule(
                    function.name, tuple(one.order for one in stages), specializations=tuple(cases)
                )
                entries.append(self._entry(function, files[function.name], entry))
        if len(self.problems):
            return Schedule((), derivations)
        found = self._with_late_levels(Schedule(tuple(entries), derivations))
        return as_halide_means(with_automatic_tails(found, self.pipeline), self.pipeline)

    def _stages(
        self, function: Function, given: file.FuncTable
    ) -> tuple[list[StageLoops], list[Specialization]]:
        """The loops of the stages of a Func, and its specializations."""
        stages: list[StageLoops] = []
        cases: list[Specialization] = []
        definitions = [given.init_def, *given.updates]
        if len(definitions) != len(function.stages) or len(given.args) != len(function.args):
            raise Unsupported("it has other stages or Vars than the Func that it stands for.")
        self._loops[function.name] = every = []
        for number, (definition, stage) in enumerate(
            zip(definitions, function.stages, strict=True)
        ):
            with self.problems.at(f"update {number - 1}" if number else "definition"):
                rvars = [r.name for r in stage.rvars]
                loops = self._order(definition, given.args, function.args, rvars)
                stages.append(loops)
                read = partial(self._order, vars=given.args, args=function.args, rvars=rvars)
                for case, order in self._cases(number, definition, read, ()):
                    every.append(order)
                    cases.append(case)
        every[:0] = stages
        return stages, cases

    def _order(
        self,
        definition: file.DefinitionTable | None,
        vars: Sequence[str],
        args: Sequence[str],
        rvars: Sequence[str],
    ) -> StageLoops:
        schedule = None if definition is None else definition.stage_schedule
        if schedule is None:
            raise Unsupported("it has no schedule.")
        if max(map(len, (schedule.dims, schedule.splits, schedule.prefetches))) > MOST_LOOPS:
            raise Unsupported(f"it has more than {MOST_LOOPS} loops, splits or prefetches.")
        own = [one.var for one in schedule.rvars]
        if len(own) != len(rvars):
            raise Unsupported("its schedule has other RVars than its definition.")
        dimensions = {**dict(zip(vars, args, strict=True)), **dict(zip(own, rvars, strict=True))}
        if schedule.allow_race_conditions:
            raise Unsupported("allow_race_conditions() has no counterpart here; use atomic().")
        return StageLoops(schedule, dimensions, self._targets, self._constant, self.problems)

    def _cases(
        self,
        stage: int,
        definition: file.DefinitionTable | None,
        read: Callable[[file.DefinitionTable | None], StageLoops],
        assumed: tuple[Expr, ...],
    ) -> Iterator[tuple[Specialization, StageLoops]]:
        """The specializations of a definition that holds where all of ``assumed`` does. Those of a
        specialization come before it: each has all the conditions around it.
        """
        if len(assumed) > MOST_CONDITIONS:
            raise Unsupported(f"conditions are more than {MOST_CONDITIONS} deep in one another.")
        for one in () if definition is None else definition.specializations:
            with self.problems.at("specialization"):
                condition = self._frozen(one.condition)
                is_always = isinstance(condition, Const) and bool(condition.value)
                conditions = assumed if is_always and assumed else (*assumed, condition)
                yield from self._cases(stage, one.definition, read, conditions)
                loops = read(one.definition)
                whole = reduce(lambda a, b: logical("and", a, b), conditions)
                try:
                    case = Specialization(stage, whole, loops.order, one.failure_message)
                except ConditionError as error:
                    raise Unsupported(str(error)) from None
                yield case, loops

    def _constant(self, node: HalideNode | None) -> Expr:
        return self.convert(node, {})

    def _whole(self, node: HalideNode | None, what: str) -> int:
        return whole(self._constant(node), what)

    def _frozen(self, node: HalideNode | None) -> Expr:
        """An expression over sizes and Params, as a pipeline has it."""
        found = self._constant(node)
        return rewrite(found, lambda n: Variable(n.type, n.name) if isinstance(n, Variable) else n)

    def _entry(
        self, function: Function, given: file.FuncTable, entry: FuncSchedule
    ) -> FuncSchedule:
        schedule = given.func_schedule
        if schedule is None:
            raise Unsupported("it has none.")
        if schedule.memoize_eviction_key is not None:
            self.problems.note(
                f"The eviction key of memoize() of Func {function.name} is left out: kept results "
                "here are not evicted by keys."
            )
        args = dict(zip(given.args, function.args, strict=True))
        compute = self._level(schedule.compute_level)
        store = self._level(schedule.store_level)
        is_output = function.name in self.pipeline.outputs
        if is_output:
            compute = store = ROOT
        stages = [given.init_def, *given.updates]
        return attrs.evolve(
            self._stored(entry, schedule.storage_dims, args),
            compute=compute,
            store=compute if store.is_inline else store,
            hoist=self._level(schedule.hoist_storage_level),
            memory=member(MemoryType, schedule.memory_type),
            bounds=tuple(
                self._bound(one, args)
                for one in schedule.bounds
                if not is_output or not depends_on_sizes(one, self._constant)
            ),
            memoized=schedule.memoized,
            asynchronous=schedule.is_async,
            ring=None
            if schedule.ring_buffer is None
            else self._whole(schedule.ring_buffer, "the extent of its ring buffer"),
            atomic=tuple(
                number
                for number, stage in enumerate(stages)
                if stage is not None and stage.stage_schedule and stage.stage_schedule.atomic
            ),
            companions=tuple(self._companions(function.name, stages)),
        )

    def _level(self, given: file.LoopLevelTable | None) -> LoopLevel:
        if given is None or not (given.func_name or given.var_name):
            return INLINE
        if given.var_name == "__root":
            return ROOT
        name = self._by_name.get(given.func_name)
        if name is None or name not in self._loops:
            raise Unsupported(f"there is no Func {given.func_name} to compute or store it at.")
        if given.var_name == OUTER:
            if self._is_at_root(name):
                return ROOT  # its loops run once
            raise Unsupported(f"the place outside all loops of {name} has no name here.")
        stages = self._loops[name]
        if given.stage_index >= 0:
            stages = stages[given.stage_index : given.stage_index + 1]
        found = {one.find(given.var_name) for one in stages} - {None}
        if len(found) != 1:
            there = some_of([*dict.fromkeys(o.name for one in stages for o in one.order.loops)])
            raise Unsupported(
                f"{name} has no loop {given.var_name} to compute or store it at; it has {there}."
            )
        return LoopLevel(name, str(found.pop()))

    def _is_at_root(self, name: str) -> bool:
        """Whether the loops of a Func are in no others, and each of its stages runs on the CPU."""
        stages = [loops.order.loops for loops in self._loops[name]]
        if any(loop.name in OUTERMOST for loops in stages for loop in loops):
            return False
        if name in self.pipeline.outputs:
            return True
        schedule = self._files[name].func_schedule
        level = None if schedule is None else schedule.compute_level
        return level is not None and level.var_name == "__root"

    def _bound(self, given: file.BoundTable, args: Mapping[str, str]) -> Bound | Alignment:
        var = _of(args, given.var)
        if given.modulus is not None:
            remainder = given.remainder
            rest = None if remainder is None else self._whole(remainder, "the remainder")
            return Alignment(var, self._whole(given.modulus, "the modulus"), rest)
        low = None if given.min is None else self._whole(given.min, f"the first {var}")
        return Bound(var, low, self._whole(given.extent, f"the extent of {var}"))

    def _stored(
        self, entry: FuncSchedule, dims: Sequence[file.StorageDimTable], args: Mapping[str, str]
    ) -> FuncSchedule:
        """An entry that also tells how the values lie in memory."""
        folds, pads, bounds = [], [], []
        for dim in dims:
            var = _of(args, dim.var)
            if dim.fold_factor is not None:
                factor = self._whole(dim.fold_factor, f"the fold factor of {var}")
                folds.append(Fold(var, factor, dim.fold_forward))
            if dim.alignment is not None:
                pads.append(Pad(var, self._whole(dim.alignment, f"the alignment of {var}")))
            if dim.bound is not None:
                bounds.append(StorageBound(var, self._whole(dim.bound, f"the bound of {var}")))
        order = [_of(args, dim.var) for dim in dims]
        if sorted(order) != sorted(args.values()):
            raise Unsupported("its storage has other dimensions than the Func.")
        is_usual = order == list(args.values())
        return attrs.evolve(
            entry,
            folds=folds,
            pads=pads,
            storage_bounds=bounds,
            storage_orders=() if is_usual else (tuple(order),),
        )

    def _companions(
        self, name: str, stages: Sequence[file.DefinitionTable | None]
    ) -> list[Companion]:
        found = []
        for number, definition in enumerate(stages):
            schedule = None if definition is None else definition.stage_schedule
            fused = None if schedule is None else schedule.fuse_level
            level = None if fused is None else fused.fuse_level
            if fused is None or level is None or not level.var_name:
                continue
            place = self._level(level)
            if place.is_root:
                continue
            loops, names = self._loops[name][number], fused.align_dimension_names
            if len(names) != len(fused.align_strategies):
                raise Unsupported("its loops and their alignments do not match.")
            pairs = zip(names, fused.align_strategies, strict=True)
            aligned = tuple((loops.named(loop), member(LoopAlign, align)) for loop, align in pairs)
            other = StageOf(place.func, max(level.stage_index, 0))
            found.append(Companion(other, place.loop, aligned, number))
        return found

    def _with_late_levels(self, schedule: Schedule) -> Schedule:
        """The schedule with places for Funcs that Halide calls inline, but cannot substitute: it
        computes what each visit of the innermost loop around a use needs.
        """
        for function in reversed(self.pipeline.functions):
            if function.is_pure or not schedule.of(function.name).compute.is_inline:
                continue
            level = self._innermost_use(function.name, schedule)
            if level is None:
                level = ROOT
                self.problems.note(
                    f"Func {function.name} has updates and no place in Halide, which computes it "
                    "again for each of its uses; here it is computed at root."
                )
            entry = schedule.of(function.name)
            schedule = schedule.replace(attrs.evolve(entry, compute=level, store=level))
        return schedule

    def _innermost_use(self, name: str, schedule: Schedule) -> LoopLevel | None:
        """The innermost loop of the only stage that uses a Func; None if there are several."""
        levels = set()
        for reader in self.pipeline.consumers(name):
            entry = schedule.of(reader)
            if entry.compute.is_inline:
                return None
            function = self.pipeline.function(reader)
            orders = zip(function.stages, entry.stages, strict=True)
            using = [order for stage, order in orders if name in stage.callees]
            if any(not order.loops for order in using) or entry.specializations:
                return None
            levels |= {LoopLevel(reader, order.loops[-1].name) for order in using}
        return levels.pop() if len(levels) == 1 else None


def _of(args: Mapping[str, str], var: str) -> str:
    if var not in args:
        raise Unsupported(f"there is no Var {var}.")
    return args[var]
