"""The words of schedules in text: directives with their arguments, tails, kinds of memory."""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from spaces.model.schedules.choice import Choice
from spaces.model.schedules.domain_order import Partition, PrefetchBound, Tail
from spaces.model.schedules.schedule import Memory

RESERVED = frozenset(
    {
        "Halide",
        "hl",
        "LoopLevel",
        "DeviceAPI",
        *(choice.halide for choice in Choice.__subclasses__()),
        *(tail.spelled for tail in Tail),
    }
)
"""Words that are never the name of a loop or Func unless quoted."""


class Kind(Enum):
    """What an argument of a directive is, besides a :class:`Choice`."""

    LOOP = "loop"
    FACTOR = "factor"
    WHOLE = "number"
    LOOP_OF_KIND = "kind(loop)"
    TRUTH = "true or false"
    CONDITION = "condition"
    TEXT = "message"
    SOURCE = "Func or image"
    STAGE = "Func or its update"
    ALIGN = "loop alignment"


@frozen
class Signature:
    """A directive with arguments in fixed places, of which the first ``required`` must be given."""

    kinds: tuple[Kind | type[Choice], ...]
    required: int
    usage: str


def _signature(usage: str, *kinds: Kind | type[Choice], optional: int = 0) -> Signature:
    return Signature(kinds, len(kinds) - optional, usage)


def _with_factor(usage: str) -> Signature:
    return _signature(usage, Kind.LOOP, Kind.FACTOR, Tail, optional=2)


SIGNATURES: dict[str, Signature] = {
    "split": _signature(
        "split(old, outer, inner, factor[, tail])",
        *(Kind.LOOP, Kind.LOOP, Kind.LOOP, Kind.FACTOR, Tail),
        optional=1,
    ),
    "fuse": _signature("fuse(inner, outer, fused)", Kind.LOOP, Kind.LOOP, Kind.LOOP),
    "rename": _signature("rename(old, new)", Kind.LOOP, Kind.LOOP),
    "serial": _signature("serial(loop)", Kind.LOOP),
    "parallel": _with_factor("parallel(loop[, task_size[, tail]])"),
    "vectorize": _with_factor("vectorize(loop[, factor[, tail]])"),
    "unroll": _with_factor("unroll(loop[, factor[, tail]])"),
    "atomic": _signature("atomic()"),
    "compute_inline": _signature("compute_inline()"),
    "compute_root": _signature("compute_root()"),
    "store_root": _signature("store_root()"),
    "store_in": _signature("store_in(MemoryType::Stack)", Memory),
    "fold_storage": _signature(
        "fold_storage(dimension, factor[, fold_forward])",
        *(Kind.LOOP, Kind.FACTOR, Kind.TRUTH),
        optional=1,
    ),
    "hoist_storage_root": _signature("hoist_storage_root()"),
    "bound_storage": _signature("bound_storage(dimension, bound)", Kind.LOOP, Kind.WHOLE),
    "partition": _signature("partition(loop, Partition::Never)", Kind.LOOP, Partition),
    "compute_with": _signature(
        "compute_with(f.update(0), loop[, LoopAlignStrategy::AlignStart])",
        *(Kind.STAGE, Kind.LOOP, Kind.ALIGN),
        optional=1,
    ),
    "prefetch": _signature(
        "prefetch(f, at, from[, offset[, PrefetchBoundStrategy::GuardWithIf]])",
        *(Kind.SOURCE, Kind.LOOP, Kind.LOOP, Kind.WHOLE, PrefetchBound),
        optional=2,
    ),
    "never_partition_all": _signature("never_partition_all()"),
    "always_partition_all": _signature("always_partition_all()"),
    "gpu_single_thread": _signature("gpu_single_thread()"),
    "specialize": _signature("specialize(condition)", Kind.CONDITION),
    "specialize_fail": _signature('specialize_fail("message")', Kind.TEXT),
    "align_storage": _signature("align_storage(dimension, multiple)", Kind.LOOP, Kind.WHOLE),
    "bound": _signature("bound(dimension, min, extent)", Kind.LOOP, Kind.WHOLE, Kind.WHOLE),
    "bound_extent": _signature("bound_extent(dimension, extent)", Kind.LOOP, Kind.WHOLE),
    "align_bounds": _signature(
        "align_bounds(dimension, modulus[, remainder])",
        *(Kind.LOOP, Kind.WHOLE, Kind.WHOLE),
        optional=1,
    ),
    "align_extent": _signature("align_extent(dimension, modulus)", Kind.LOOP, Kind.WHOLE),
}

VARIADIC: dict[str, tuple[Kind | type[Choice], ...]] = {
    "reorder": (Kind.LOOP,),
    "reorder_storage": (Kind.LOOP,),
    "never_partition": (Kind.LOOP,),
    "always_partition": (Kind.LOOP,),
    "gpu_blocks": (Kind.LOOP,),
    "gpu_threads": (Kind.LOOP,),
    "tile": (Tail, Kind.LOOP, Kind.FACTOR),
    "gpu_tile": (Tail, Kind.LOOP, Kind.FACTOR),
    "loops": (Kind.LOOP_OF_KIND,),
}
"""Directives of any number of arguments, each of one of these kinds."""

LEVEL_DIRECTIVES = ("compute_at", "store_at", "hoist_storage")
"""Directives that take a loop level."""

DERIVING = {"in_": "in", "clone_in": "clone_in", "rfactor": "rfactor"}
"""Directives that add a Func, with their names in C++."""

WITHOUT_EFFECT = ("unscheduled",)
"""Directives that say that nothing is said."""

_LATER = "is not supported; remove it."
UNSUPPORTED: dict[str, str] = {
    **{
        name: f"{name} {_LATER}"
        for name in (
            *("async", "async_", "allow_race_conditions", "hexagon"),
            *("memoize", "ring_buffer"),
            *("tensorcore", "no_profiling"),
            *("trace_loads", "trace_stores", "trace_realizations", "add_trace_tag"),
            *("copy_to_device", "copy_to_host", "print_loop_nest"),
        )
    },
    "eager_inline": "eager_inline is not supported; use compute_inline().",
    "gpu": "gpu(...) is not supported; use gpu_blocks(...) and gpu_threads(...).",
    "gpu_lanes": (
        "gpu_lanes is not supported; use gpu_threads(...), and store what the threads exchange "
        "in MemoryType::GPUShared."
    ),
    "dim": "dim is part of the algorithm: say it of the image or output in the pipeline.",
    **{
        name: f"{name} is part of the algorithm: give pipeline(...) its estimates instead."
        for name in ("set_estimate", "set_estimates", "estimate")
    },
}
"""Directives of Halide's that mean nothing here, each with what to do instead."""


def plainly(word: str) -> str:
    """A word without case and underscores, to recognise it however it is spelled."""
    return word.replace("_", "").lower()
