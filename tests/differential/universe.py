"""Every construct that the fuzzer counts, by the group that it is drawn from."""

from __future__ import annotations

from functools import cache

from spaces import LoopAlign, LoopKind, MemoryType, Partition, PrefetchBound, Tail
from tests.differential.constructs import BOUNDARIES
from tests.differential.layouts import LAYOUTS
from tests.differential.operations import IN_COORDINATES, OPERATIONS, TYPES

_PLACES = (
    "fixed",
    "offset",
    "negated",
    "mirrored",
    "by 2",
    "by 3",
    "by more",
    "by a Param",
    "transposed",
    "of several Vars",
    "not linear",
    "read",
    "diagonal",
    "sheared",
    "two taps",
    "of equal limits",
)
_UPDATES = (
    "by add",
    "by mul",
    "by min",
    "by max",
    "by bit_or",
    "where",
    "scatter",
    "at a fixed place",
    "at a place that is not linear",
    "along RVars",
    "along scaled RVars",
    "reads other places of its own",
    "overwrites",
    "several",
    "over 0 RVars",
    "over 1 RVars",
    "over 2 RVars",
    "over 3 RVars",
)
_OUTPUTS = (
    "1",
    "2",
    "more",
    "of unlike dimensions",
    "of unequal sizes",
    "one reads another",
    "empty beside others",
    "of one element beside others",
)
_SIZES = ("0", "1", "prime", "huge min", "negative min")
_DIRECTIVES = (
    "in",
    "in of all",
    "clone_in",
    "rfactor",
    "compute_with",
    "specialize",
    "specialize_fail",
    "atomic",
    "memoize",
    "ring_buffer",
    "async",
    "gpu_lanes",
    "fold_storage",
    "fold_storage backward",
    "reorder_storage",
    "align_storage",
    "bound_storage",
    "bound",
    "bound_extent",
    "align_bounds",
    "align_extent",
    "split of one iteration",
    "split of a split",
    "fuse",
)
_KINDS = tuple(kind for kind in LoopKind if kind is not LoopKind.SERIAL)

OF_PIPELINES: dict[str, tuple[str, ...]] = {
    "value": tuple(OPERATIONS),
    "coordinate": IN_COORDINATES,
    "place": _PLACES,
    "type": tuple(map(str, TYPES)),
    "image type": tuple(map(str, TYPES)),
    "param type": tuple(map(str, TYPES[1:])),
    "param": ("in a value", "in a coordinate"),
    "boundary": BOUNDARIES,
    "update": _UPDATES,
    "values": ("Tuple", "unread component"),
    "dimensions": tuple("012345"),
    "image dimensions": tuple("012345"),
    "images": tuple("012"),
    "outputs": _OUTPUTS,
    "readers": ("2", "more"),
    "estimates": ("given", "none"),
    "size": _SIZES,
    "input memory": LAYOUTS,
    "output memory": LAYOUTS,
}
OF_SCHEDULES: dict[str, tuple[str, ...]] = {
    "device": ("cpu", "gpu"),
    "level": (
        "inline",
        "root",
        "at a loop",
        "stored outside",
        "hoisted storage",
        "inside a level",
        "stored outside of a level",
    ),
    "loop": _KINDS,
    "update loop": _KINDS,
    "tail": tuple(Tail),
    "single": ("__block", "__thread"),
    "memory": tuple(m for m in MemoryType if m is not MemoryType.AUTO),
    "directive": _DIRECTIVES,
    "aligned": tuple(a for a in LoopAlign if a is not LoopAlign.AUTO),
    "partition": tuple(p for p in Partition if p is not Partition.AUTO),
    "prefetch": tuple(PrefetchBound),
    "host": ("a Func", "a pure stage", "an update"),
}


LATER = (
    "value: extract_bits",
    "coordinate: extract_bits",
    "directive: memoize",
    "directive: ring_buffer",
    "directive: async",
    "directive: gpu_lanes",
)
"""Constructs that are younger than journals in ``bench/results``, in the order in which they came.
Journals know constructs by their numbers, so these have the last ones.
"""


@cache
def universe() -> tuple[str, ...]:
    """All constructs, those of pipelines first, but the later ones last."""
    groups = (OF_PIPELINES, OF_SCHEDULES)
    names = (f"{g}: {n}" for table in groups for g, names in table.items() for n in names)
    return (*(name for name in names if name not in LATER), *LATER)


def is_of_pipelines(construct: str) -> bool:
    """Whether a construct is one of pipelines and their sizes."""
    return construct.partition(": ")[0] in OF_PIPELINES
