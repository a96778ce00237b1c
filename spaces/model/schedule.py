"""Schedules as values: for each Func a call schedule, for each of its stages a domain order.

The records hold whatever was written, legal or not; what is wrong with it is said by
:func:`spaces.verify`, all at once. Loop names may shadow: after ``split(x, x, xi, 8)`` the name
``x`` means the outer loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

import attrs
from attrs import field, frozen

from spaces.model.expr import Expr

if TYPE_CHECKING:
    from spaces.model.pipeline import Function, Pipeline

Factor: TypeAlias = int | str
"""A split factor: a number, or the name of a parameter of a family of schedules."""


class LoopKind(StrEnum):
    """How the iterations of a loop are executed."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    GPU_BLOCK = "gpu_block"
    GPU_THREAD = "gpu_thread"


class Tail(StrEnum):
    """What a split does where the factor does not divide the extent."""

    AUTO = "auto"
    ROUND_UP = "round_up"
    GUARD_WITH_IF = "guard_with_if"
    SHIFT_INWARDS = "shift_inwards"
    PREDICATE = "predicate"
    PREDICATE_LOADS = "predicate_loads"
    PREDICATE_STORES = "predicate_stores"
    SHIFT_INWARDS_AND_BLEND = "shift_inwards_and_blend"
    ROUND_UP_AND_BLEND = "round_up_and_blend"


class Partition(StrEnum):
    """Whether a loop is split where tests along it are decided, so that most of its iterations need
    not ask.
    """

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class Memory(StrEnum):
    """Where a Func's values are stored."""

    AUTO = "auto"
    HEAP = "heap"
    STACK = "stack"
    REGISTER = "register"
    GPU_SHARED = "gpu_shared"


@frozen
class Split:
    """Loop ``old`` becomes ``outer`` and ``inner``: old = outer * factor + inner."""

    old: str
    outer: str
    inner: str
    factor: Factor
    tail: Tail = Tail.AUTO


@frozen
class Fuse:
    """Loops ``inner`` and ``outer`` become ``fused``: fused = outer * extent(inner) + inner."""

    inner: str
    outer: str
    fused: str


@frozen
class Loop:
    """One loop of a domain order."""

    name: str
    kind: LoopKind = LoopKind.SERIAL


@frozen
class Partitioned:
    """The policy by which loop ``loop`` is partitioned."""

    loop: str
    policy: Partition


def _last_policies(policies: Iterable[Partitioned]) -> tuple[Partitioned, ...]:
    """By loop; what is said of a loop last counts, and what is said anyway is left out."""
    last = {one.loop: one for one in policies}
    told = (last[name] for name in sorted(last))
    return tuple(one for one in told if one.policy is not Partition.AUTO) if last else ()


class PrefetchBound(StrEnum):
    """What is prefetched where the iteration ahead lies beyond the end of its loop: what the last
    one reads; nothing; or what such an iteration would.
    """

    CLAMP = "clamp"
    GUARD_WITH_IF = "guard_with_if"
    NON_FAULTING = "non_faulting"


@frozen
class Prefetch:
    """At the beginning of each iteration of loop ``at``, what its body reads of ``target`` (a Func
    or an image) ``offset`` iterations of loop ``origin`` later is brought near.
    """

    target: str
    at: str
    origin: str
    offset: int = 1
    bound: PrefetchBound = PrefetchBound.GUARD_WITH_IF


@frozen
class DomainOrder:
    """How one stage is traversed: splits and fuses in the order given, then its final loops,
    outermost first [RK13 3.2]; which of them are partitioned otherwise than by default, and what
    is prefetched in them.
    """

    splits: tuple[Split | Fuse, ...] = ()
    loops: tuple[Loop, ...] = ()
    partitions: tuple[Partitioned, ...] = field(default=(), converter=_last_policies)
    prefetches: tuple[Prefetch, ...] = ()

    def partition(self, name: str) -> Partition:
        """The policy by which a loop is partitioned."""
        found = (one.policy for one in self.partitions if one.loop == name)
        return next(found, Partition.AUTO)

    @property
    def names(self) -> tuple[str, ...]:
        """Loop names, outermost first."""
        return tuple(loop.name for loop in self.loops)

    def kind(self, name: str) -> LoopKind:
        """The kind of a loop; serial if there is no such loop."""
        return next((loop.kind for loop in self.loops if loop.name == name), LoopKind.SERIAL)


@frozen
class LoopLevel:
    """A place in the loop nest: inline, root, or just inside loop ``loop`` of Func ``func``."""

    func: str = ""
    loop: str = ""

    @property
    def is_inline(self) -> bool:
        """Whether the Func is substituted into its consumers."""
        return self == INLINE

    @property
    def is_root(self) -> bool:
        """Whether the place is outside all loops."""
        return self == ROOT

    def __str__(self) -> str:
        if self.is_inline or self.is_root:
            return "inline" if self.is_inline else "root"
        return f"{self.func}.{self.loop}"


INLINE = LoopLevel("", "")
ROOT = LoopLevel("", "__root")


@frozen
class Fold:
    """Storage of dimension ``dimension`` (a Var of the Func) is reused modulo ``factor``, while
    what is read of it moves up, or down where it is not ``forward``.
    """

    dimension: str
    factor: Factor
    forward: bool = True


@frozen
class Pad:
    """The storage of dimension ``dimension`` takes a multiple of ``multiple`` values."""

    dimension: str
    multiple: int


@frozen
class StorageBound:
    """The storage of dimension ``dimension`` takes ``extent`` values, and more are never needed."""

    dimension: str
    extent: int


@frozen
class Bound:
    """Dimension ``dimension`` is computed for ``extent`` coordinates from ``min`` on; where ``min``
    is None, from the first that is required.
    """

    dimension: str
    min: int | None
    extent: int


@frozen
class Alignment:
    """More of dimension ``dimension`` is computed than is required, up to where the first
    coordinate is ``remainder`` modulo ``modulus`` and the extent a multiple of ``modulus``; where
    ``remainder`` is None, the first coordinate stays.
    """

    dimension: str
    modulus: int
    remainder: int | None = 0


class _OfDimension(Protocol):
    @property
    def dimension(self) -> str: ...


_D = TypeVar("_D", bound=_OfDimension)


def _last_of_each_dimension(records: Iterable[_D]) -> tuple[_D, ...]:
    """What is said of a dimension twice counts once, as said last, as in Halide."""
    last = {record.dimension: record for record in records}
    return tuple(sorted(last.values(), key=lambda record: record.dimension)) if last else ()


def _last_folds(folds: Iterable[Fold]) -> tuple[Fold, ...]:
    return _last_of_each_dimension(folds)


def _last_pads(pads: Iterable[Pad]) -> tuple[Pad, ...]:
    return _last_of_each_dimension(pads)


def _last_storage_bounds(bounds: Iterable[StorageBound]) -> tuple[StorageBound, ...]:
    return _last_of_each_dimension(bounds)


def _without_overruled(orders: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """An order of dimensions says nothing any more once a later one has them all."""
    kept: tuple[tuple[str, ...], ...] = ()
    for order in orders:
        kept = (*(k for k in kept if not set(k) <= set(order)), order)
    return kept


class LoopAlign(StrEnum):
    """Which iterations of fused loops come together: those of the same number; the first ones of
    both; or the last.
    """

    AUTO = "auto"
    NO_ALIGN = "no_align"
    ALIGN_START = "align_start"
    ALIGN_END = "align_end"


@frozen
class Companion:
    """The loops down to ``loop`` are fused with those of ``func``."""

    func: str
    loop: str
    align: LoopAlign = LoopAlign.AUTO


@frozen
class Specialization:
    """Where ``condition`` holds, and none of an earlier one, stage ``stage`` follows ``order``
    instead; with a ``failure`` the pipeline stops there and says that.
    """

    stage: int
    condition: Expr
    order: DomainOrder
    failure: str = ""


def _first_of_each_case(records: Iterable[Specialization]) -> tuple[Specialization, ...]:
    """By stage, in the order in which they are asked; the same condition is asked once."""
    first: dict[tuple[int, Expr], Specialization] = {}
    for record in records:
        first.setdefault((record.stage, record.condition), record)
    return tuple(sorted(first.values(), key=lambda record: record.stage)) if first else ()


def _each_once(stages: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(stages)))


@frozen
class FuncSchedule:
    """Everything scheduled about one Func.

    Attributes:
        name: the Func.
        stages: the domain order of its pure stage, then of each update.
        compute: where it is computed.
        store: where its storage begins to be used.
        memory: the kind of memory it is stored in.
        folds: one entry a folded dimension, by name.
        storage_orders: orders of dimensions in storage, innermost first, applied one after the
            other to the places that those dimensions hold.
        pads: one entry a padded dimension, by name.
        storage_bounds: one entry a dimension whose storage is bounded, by name.
        bounds: bounds and their alignment, as written; as in Halide the last is applied first.
        hoist: where the memory for its storage is obtained; inline for where it is stored.
        specializations: other domain orders of stages, with when they are followed; those of one
            stage in the order in which they are asked.
        atomic: the stages that change an element in one step, so that iterations which change the
            same one may run at once.
        companion: the Func that it is computed with, if with one.
    """

    name: str
    stages: tuple[DomainOrder, ...]
    compute: LoopLevel = INLINE
    store: LoopLevel = INLINE
    memory: Memory = Memory.AUTO
    folds: tuple[Fold, ...] = field(default=(), converter=_last_folds)
    storage_orders: tuple[tuple[str, ...], ...] = field(default=(), converter=_without_overruled)
    pads: tuple[Pad, ...] = field(default=(), converter=_last_pads)
    storage_bounds: tuple[StorageBound, ...] = field(default=(), converter=_last_storage_bounds)
    bounds: tuple[Bound | Alignment, ...] = ()
    hoist: LoopLevel = INLINE
    specializations: tuple[Specialization, ...] = field(default=(), converter=_first_of_each_case)
    atomic: tuple[int, ...] = field(default=(), converter=_each_once)
    companion: Companion | None = None

    @property
    def is_hoisted(self) -> bool:
        """Whether memory is obtained elsewhere than where it begins to be used."""
        return not self.hoist.is_inline and self.hoist != self.store

    @staticmethod
    def default(function: Function, stored: bool) -> FuncSchedule:
        """Row-major serial loops; at root where it is ``stored``, else inlined."""
        level = ROOT if stored else INLINE
        stages = tuple(
            DomainOrder(loops=tuple(Loop(d) for d in reversed(stage.dimensions)))
            for stage in function.stages
        )
        return FuncSchedule(function.name, stages, level, level)


@frozen
class Wrap:
    """A new Func that equals ``func``, a Func or an input image, stands between it and
    ``consumers``: all that read it where none are named (Halide's ``in``).
    """

    func: str
    consumers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return "_".join((self.func, "in", *self.consumers))

    def __str__(self) -> str:
        return f"{self.func}.in({', '.join(self.consumers)})"


@frozen
class Clone:
    """A copy of ``func`` with a schedule of its own, which ``consumers`` read in its place
    (Halide's ``clone_in``).
    """

    func: str
    consumers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return "_".join((self.func, "clone_in", *self.consumers))

    def __str__(self) -> str:
        return f"{self.func}.clone_in({', '.join(self.consumers)})"


@frozen
class RFactor:
    """The update ``update`` of ``func`` reduces what a new Func holds, which has for each loop over
    RVars that is ``preserved`` a Var of the name given, and reduces along the others (Halide's
    ``rfactor``). ``splits`` are those of the RVars of the update, made before.
    """

    func: str
    update: int
    splits: tuple[Split | Fuse, ...]
    preserved: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return f"{self.func}_intm" + (f"_{self.update}" if self.update else "")

    def __str__(self) -> str:
        pairs = [f"{loop}, {var}" for loop, var in self.preserved]
        listed = pairs[0] if len(pairs) == 1 else f"{{{', '.join(f'{{{p}}}' for p in pairs)}}}"
        return f"{self.func}.update({self.update}).rfactor({listed})"


Derivation: TypeAlias = Wrap | Clone | RFactor
"""A directive that rewrites the graph of Funcs without changing any result."""


@frozen
class Schedule:
    """The schedule of a whole pipeline: one entry a Func, producers first.

    ``derivations`` rewrite the pipeline, in this order, before anything else; the Funcs that they
    add have entries, too.
    """

    funcs: tuple[FuncSchedule, ...]
    derivations: tuple[Derivation, ...] = ()

    @staticmethod
    def default(pipeline: Pipeline) -> Schedule:
        """Row-major serial loops over the outputs; pure Funcs inlined [TOY]; Funcs with update
        stages, which cannot be inlined, computed at root.
        """
        return Schedule(
            tuple(
                FuncSchedule.default(f, f.name in pipeline.outputs or not f.is_pure)
                for f in pipeline.functions
            ),
            pipeline.derivations,
        )

    @cached_property
    def _by_name(self) -> dict[str, FuncSchedule]:
        return {func.name: func for func in reversed(self.funcs)}

    def of(self, name: str) -> FuncSchedule:
        """The entry of one Func.

        Raises:
            KeyError: the pipeline has no such Func.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        raise KeyError(
            f"There is no Func {name!r} to schedule; there are "
            f"{', '.join(f.name for f in self.funcs)}."
        )

    def replace(self, func: FuncSchedule) -> Schedule:
        """The same schedule with the entry of that name replaced."""
        self.of(func.name)
        return self.with_funcs(func if f.name == func.name else f for f in self.funcs)

    def with_funcs(self, funcs: Iterable[FuncSchedule]) -> Schedule:
        """The same derivations with these entries."""
        return Schedule(tuple(funcs), self.derivations)

    def with_stage(self, name: str, stage: int, order: DomainOrder) -> Schedule:
        """The same schedule with the domain order of one stage replaced."""
        func = self.of(name)
        stages = (*func.stages[:stage], order, *func.stages[stage + 1 :])
        return self.replace(attrs.evolve(func, stages=stages))
