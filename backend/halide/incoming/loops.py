"""The splits, loops and hints of one stage.

Halide names a loop by a path: ``split(x, xo, xi, 8)`` makes ``x.xo`` and ``x.xi`` of ``x``. Here a
loop has the last name of its path. A loop that its author has not named has a number there, which
differs between runs; here it is named after the loop that it is made of, as in ``x_v``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeVar

from attrs import define, field

from spaces.backend.halide.file.contents import (
    DimTable,
    PrefetchDirectiveTable,
    SplitTable,
    StageScheduleTable,
)
from spaces.backend.halide.file.nodes import HalideNode
from spaces.backend.halide.incoming.names import DifferentNames, written
from spaces.backend.halide.incoming.problems import Problems, Unsupported
from spaces.model.algorithm.var import OUTERMOST
from spaces.model.directives.loop_directives import inner_name
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    Lanes,
    LoopKind,
    OrderedLoop,
    Partition,
    Partitioned,
    Prefetch,
    PrefetchBound,
    Split,
    Tail,
)

_Choice = TypeVar("_Choice", bound=Choice)

OUTER = "__outermost"
"""The loop of one iteration that Halide puts around all others of a stage."""

MOST_LOOPS = 500
"""A stage has fewer loops, splits and prefetches than this, each; no compiler could nest more."""

_KINDS = {
    "Serial": LoopKind.SERIAL,
    "Extern": LoopKind.SERIAL,  # foreign code runs it
    "Parallel": LoopKind.PARALLEL,
    "Vectorized": LoopKind.VECTORIZED,
    "Unrolled": LoopKind.UNROLLED,
    "GPUBlock": LoopKind.GPU_BLOCK,
    "GPUThread": LoopKind.GPU_THREAD,
    "GPULane": LoopKind.GPU_THREAD,
}

_DEVICES = ("None", "Host", "Default_GPU", "CUDA")

_UNNAMED = re.compile(r"[vr]\d+")
"""The names of Vars and RVars that have got none."""

_SUFFIXES = {"Vectorized": "v", "Unrolled": "u"}


def member(kind: type[_Choice], spelled: str) -> _Choice:
    """The member of an enumeration that Halide spells so.

    Raises:
        Unsupported: this library does not have it.
    """
    for one in kind:
        if one.spelled == spelled:
            return one
    raise Unsupported(f"{kind.halide}::{spelled} has no counterpart here.")


def whole(value: Expr, what: str) -> int:
    """A number of the schedule.

    Raises:
        Unsupported: it depends on sizes or Params.
    """
    try:
        return int(evaluate(value, {}))
    except FormulaError:
        raise Unsupported(f"{what} is `{value}`; schedules here have numbers.") from None


def _last(path: str) -> str:
    """The part of a path behind its last point."""
    return path.rpartition(".")[2]


@define
class StageLoops:
    """The loops of a stage: their names here, by their paths in Halide.

    Attributes:
        dimensions: the Vars and RVars of the stage, by their names in Halide.
        targets: the Funcs and images that may be prefetched, by their names in Halide.
        convert: makes an expression over sizes and Params.
        order: the stage's domain order, once it is read.
    """

    schedule: StageScheduleTable
    dimensions: Mapping[str, str]
    targets: Mapping[str, str]
    convert: Callable[[HalideNode | None], Expr]
    problems: Problems
    order: DomainOrder = field(init=False)
    _names: dict[str, str] = field(init=False)
    _different: DifferentNames = field(init=False)
    """The values of the names."""
    _records: list[Split | Fuse] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self._names = dict(self.dimensions)
        self._different = DifferentNames(set(self._names.values()))
        for split in self.schedule.splits:
            with self.problems.at(f"split of {split.old_var}"):
                self._apply(split)
        loops: list[OrderedLoop] = []
        policies: list[Partitioned] = []
        lanes: list[Lanes] = []
        for dim in reversed(self.schedule.dims):
            with self.problems.at(f"loop {dim.var}"):
                loop = self._loop(dim)
                if loop is not None:
                    loops.append(loop)
                    policy = member(Partition, dim.partition_policy)
                    policies.append(Partitioned(loop.name, policy))
                    if dim.for_type == "GPULane":
                        lanes.append(Lanes(loop.name))
        prefetches: list[Prefetch] = []
        for one in self.schedule.prefetches:
            with self.problems.at(f"prefetch of {one.name}"):
                prefetches += self._prefetch(one)
        self.order = DomainOrder(
            tuple(self._records), tuple(loops), tuple(policies), tuple(prefetches), tuple(lanes)
        )

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {dim.var: dim.for_type for dim in self.schedule.dims}

    def find(self, loop: str) -> str | None:
        """The name here of a loop, which Halide calls by the end of its path; None if the stage
        has no such loop.
        """
        for var in self._vars.get(_last(loop), ()):
            if (var == loop or var.endswith(f".{loop}")) and var in self._names:
                return self._names[var]
        return None

    @cached_property
    def _vars(self) -> dict[str, list[str]]:
        """The paths of all loops, by their ends."""
        found: dict[str, list[str]] = {}
        for dim in self.schedule.dims:
            found.setdefault(_last(dim.var), []).append(dim.var)
        return found

    def named(self, loop: str) -> str:
        """The same; a loop that the stage does not have is an error.

        Raises:
            Unsupported: there is no such loop.
        """
        found = self.find(loop)
        if found is None:
            raise Unsupported(f"the stage has no loop {loop}.")
        return found

    def _prefetch(self, given: PrefetchDirectiveTable) -> Iterator[Prefetch]:
        """The prefetch; none if the stage does not have its loops, which Halide ignores."""
        at, origin = self.find(given.at), self.find(given.origin)
        if at is None or origin is None:
            self.problems.note(
                f"A prefetch at loop {given.at} is left out: its stage has no such loop, and "
                "Halide ignores it."
            )
            return
        yield Prefetch(
            self._target(given.param_name or given.name),
            at,
            origin,
            whole(self.convert(given.offset), "the offset"),
            member(PrefetchBound, given.strategy),
        )

    def _target(self, name: str) -> str:
        if name not in self.targets:
            raise Unsupported(f"there is no Func or image {name}.")
        return self.targets[name]

    def _apply(self, split: SplitTable) -> None:
        if split.old_var.startswith(OUTER):
            return  # the loops of gpu_single_thread(); their kinds tell
        match split.split_type:
            case "RenameVar":
                self._names[split.outer] = name = self._taken(split.old_var)
                self._different.taken.add(name)
            case "SplitVar":
                old = self._taken(split.old_var)
                outer = self._add(split.outer, split.old_var, old)
                inner = self._add(split.inner, split.old_var, old)
                factor = whole(self.convert(split.factor), "the factor")
                tail = member(Tail, split.tail)
                self._records.append(Split(old, outer, inner, factor, tail))
            case "FuseVars":
                inner, outer = self._taken(split.inner), self._taken(split.outer)
                fused = self._add(split.old_var, split.inner, inner)
                self._records.append(Fuse(inner, outer, fused))
            case "PurifyRVar" if split.outer in self._names and split.old_var not in self._names:
                pass  # the Var is one of the Func already
            case _:
                raise Unsupported(f"no Var can be made of {split.old_var} here.")

    def _taken(self, path: str) -> str:
        """The name of a loop that a split or fuse takes."""
        name = self._names.pop(path, None)
        if name is None:
            raise Unsupported(f"the stage has no loop {path}.")
        self._different.taken.discard(name)
        return name

    def _add(self, path: str, source: str, name: str) -> str:
        """Names a new loop, made of ``source``, which is called ``name``."""
        own = path.removeprefix(f"{source}.") if path.startswith(f"{source}.") else path
        if own in self.dimensions:
            wish = self.dimensions[own]
        elif _UNNAMED.fullmatch(own):
            suffix = _SUFFIXES.get(self._kinds.get(path, ""), "p")
            wish = inner_name(name, suffix, self._different.taken)
        else:
            wish = written(own)
        self._names[path] = made = self._different.take(wish)
        return made

    def _loop(self, dim: DimTable) -> OrderedLoop | None:
        """A loop; None for the outermost one of Halide."""
        if dim.for_type not in _KINDS:
            raise Unsupported(f"loops of the kind {dim.for_type} have no counterpart here.")
        if dim.device_api not in _DEVICES:
            raise Unsupported(f"{dim.device_api} is a device for which there is no code here.")
        kind = _KINDS[dim.for_type]
        if dim.var.startswith(OUTER):
            if kind is LoopKind.SERIAL:
                return None
            if not kind.is_gpu:
                raise Unsupported(f"a {kind} loop around all others has no counterpart here.")
            return OrderedLoop(OUTERMOST[kind is LoopKind.GPU_THREAD], kind)
        name = self._names.get(dim.var)
        if name is None:
            raise Unsupported("no Var, RVar or split has made it.")
        return OrderedLoop(name, kind)
