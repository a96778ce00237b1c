"""How one stage is traversed: splits and fuses, then its loops, outer to inner, each with its kind.

Loop names may shadow: after ``split(x, x, xi, 8)`` the name ``x`` means the outer loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import TypeAlias

from attrs import evolve, field, frozen

from spaces.model.algorithm.var import OUTERMOST
from spaces.model.schedules.choice import Choice

Factor: TypeAlias = int | str
"""A split factor: a number, or the name of a parameter of a family of schedules."""


class LoopKind(StrEnum):
    """How the iterations of a loop run.

    Attributes:
        is_gpu: blocks or threads of a GPU run the iterations.
        uses_threads: several threads run the iterations, on the CPU or on a GPU.
        is_concurrent: iterations run at once, in threads or vector lanes; others run in order.
        has_constant_extent: the extent must be constant, because each iteration is a lane or a
            copy of the body.
        is_scalar_loop: CPU code runs it as a loop around a body that is there once.
    """

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    GPU_BLOCK = "gpu_block"
    GPU_THREAD = "gpu_thread"

    def __init__(self, name: str) -> None:
        # Set once for each kind, because loops ask often.
        self.is_gpu = name in ("gpu_block", "gpu_thread")
        self.uses_threads = self.is_gpu or name == "parallel"
        self.is_concurrent = self.uses_threads or name == "vectorized"
        self.has_constant_extent = name in ("vectorized", "unrolled")
        self.is_scalar_loop = name in ("serial", "parallel")


class Tail(Choice, halide="TailStrategy", called="a tail strategy"):
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


class Partition(Choice, halide="Partition", called="a policy"):
    """Whether a loop is divided at the points where tests on its variable change, so that most of
    its iterations run without the tests.
    """

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


@frozen
class Split:
    """Loop ``old`` becomes ``outer`` and ``inner``: old = outer * factor + inner."""

    old: str
    outer: str
    inner: str
    factor: Factor
    tail: Tail = Tail.AUTO

    @property
    def taken(self) -> tuple[str, ...]:
        """The loop that this split replaces."""
        return (self.old,)

    @property
    def made(self) -> tuple[str, ...]:
        """The loops that replace it, outermost first."""
        return (self.outer, self.inner)


@frozen
class Fuse:
    """Loops ``inner`` and ``outer`` become ``fused``: fused = outer * extent(inner) + inner."""

    inner: str
    outer: str
    fused: str

    @property
    def taken(self) -> tuple[str, ...]:
        """The loops that this fuse replaces."""
        return (self.inner, self.outer)

    @property
    def made(self) -> tuple[str, ...]:
        """The loop that replaces them."""
        return (self.fused,)


def made_from(loops: Iterable[str], records: Iterable[Split | Fuse]) -> frozenset[str]:
    """The loops that splits and fuses make from some loops. A loop that is fused with another one
    counts whole.
    """
    found = frozenset(loops)
    for record in records:
        if found.isdisjoint(record.taken):
            found = found.difference(record.made)  # the name may belong to another loop by then
        else:
            found = found.difference(record.taken).union(record.made)
    return found


def of_constant_extent(
    dimensions: Iterable[str], records: Iterable[Split | Fuse]
) -> frozenset[str]:
    """The loops that have the same number of iterations for all sizes: those that are made of
    some dimensions alone, and the inner loops of splits.

    Args:
        dimensions: those with a constant extent.
        records: how the loops of a stage are made of its dimensions.
    """
    constant = set(dimensions)
    for record in records:
        were_constant = constant.issuperset(record.taken)
        constant -= {*record.taken, *record.made}
        if were_constant:
            constant |= {*record.made}
        elif isinstance(record, Split):
            constant.add(record.inner)
    return frozenset(constant)


def fuses_of_constant_extent(
    dimensions: Iterable[str], records: Sequence[Split | Fuse]
) -> frozenset[Fuse]:
    """The fuses whose inner loop has the same number of iterations for all sizes.

    Args:
        dimensions: those with a constant extent.
        records: how the loops of a stage are made of its dimensions.
    """
    constant = tuple(dimensions)
    return frozenset(
        record
        for place, record in enumerate(records)
        if isinstance(record, Fuse)
        and record.inner in of_constant_extent(constant, records[:place])
    )


@frozen
class OrderedLoop:
    """One loop of a domain order."""

    name: str
    kind: LoopKind = LoopKind.SERIAL


SINGLE_THREAD = (
    OrderedLoop(OUTERMOST[0], LoopKind.GPU_BLOCK),
    OrderedLoop(OUTERMOST[1], LoopKind.GPU_THREAD),
)
"""Loops of one iteration, along no dimension, that any stage may have. Around all other loops of a
stage they make it a kernel of one thread. Halide makes such loops from its ``__outermost``.
"""


@frozen
class Partitioned:
    """The policy by which loop ``loop`` is partitioned."""

    loop: str
    policy: Partition


def _last_policies(policies: Iterable[Partitioned]) -> tuple[Partitioned, ...]:
    """The policies by loop. The last policy of a loop counts, and default policies are left out."""
    last = {one.loop: one for one in policies}
    policies = (last[name] for name in sorted(last))
    return tuple(one for one in policies if one.policy is not Partition.AUTO) if last else ()


class PrefetchBound(Choice, halide="PrefetchBoundStrategy", called="a prefetch strategy"):
    """What is prefetched where the iteration ahead lies beyond the end of its loop: what the last
    iteration reads; nothing; or what an iteration there would read.
    """

    CLAMP = "clamp"
    GUARD_WITH_IF = "guard_with_if"
    NON_FAULTING = "non_faulting"


@frozen
class Prefetch:
    """At the beginning of each iteration of loop ``at``, load into the cache what its body reads of
    ``target`` (a Func or an image) ``offset`` iterations of loop ``origin`` later.
    """

    target: str
    at: str
    origin: str
    offset: int = 1
    bound: PrefetchBound = PrefetchBound.GUARD_WITH_IF


@frozen
class Lanes:
    """The threads of loop ``loop`` are lanes of one warp."""

    loop: str


@frozen(cache_hash=True)
class DomainOrder:
    """How one stage is traversed: splits and fuses in the order given, then the final loops,
    outermost first [RK13 3.2]; the loops with another partition policy than the default; the
    prefetches; and the loops whose threads are lanes. Only loops over threads have lanes.
    """

    splits: tuple[Split | Fuse, ...] = ()
    loops: tuple[OrderedLoop, ...] = ()
    partitions: tuple[Partitioned, ...] = field(default=(), converter=_last_policies)
    prefetches: tuple[Prefetch, ...] = ()
    lanes: tuple[Lanes, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.lanes:
            others = {loop.name for loop in self.loops if loop.kind is not LoopKind.GPU_THREAD}
            names = sorted({one.loop for one in self.lanes if one.loop in self.names} - others)
            object.__setattr__(self, "lanes", tuple(map(Lanes, names)))

    def partition(self, name: str) -> Partition:
        """The policy by which a loop is partitioned."""
        found = (one.policy for one in self.partitions if one.loop == name)
        return next(found, Partition.AUTO)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Loop names, outermost first."""
        return tuple(loop.name for loop in self.loops)

    @property
    def once(self) -> tuple[str, ...]:
        """Those of :data:`SINGLE_THREAD` that are loops, or were before splits and fuses replaced
        them; outermost first.
        """
        names = self.all_names
        return tuple(name for name in OUTERMOST if name in names)

    @property
    def all_names(self) -> frozenset[str]:
        """Names of the loops, and of the loops that splits and fuses replaced."""
        replaced = (name for record in self.splits for name in (*record.taken, *record.made))
        return frozenset((*self.names, *replaced))

    def kind(self, name: str) -> LoopKind:
        """The kind of a loop; serial if there is no such loop."""
        return next((loop.kind for loop in self.loops if loop.name == name), LoopKind.SERIAL)

    def with_kind(self, place: int, kind: LoopKind) -> DomainOrder:
        """The same order with another kind of the loop at a place, counted from the outermost."""
        changed = OrderedLoop(self.loops[place].name, kind)
        return evolve(self, loops=(*self.loops[:place], changed, *self.loops[place + 1 :]))

    def unused_name(self, wish: str) -> str:
        """``wish``, with letters "i" added until no loop of the stage has or had this name."""
        while wish in self.all_names:
            wish += "i"
        return wish


HINTS = ("prefetches", "partitions", "lanes")
"""The parts of a :class:`DomainOrder` that leave the loops, their order and their kinds alone."""
