"""The loads and stores of a stage, all lanes of a vector together."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from spaces.cost.cpu.term import ACCESS, MEASURED, Core, Price, StageWork, term
from spaces.features.accesses import Course, ReadGroup
from spaces.features.features import Features, copies_that_share
from spaces.features.records import FuncFeatures, StageFeatures, volume
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, maximum, where
from spaces.model.schedules.domain_order import LoopKind

LOAD = Price(
    "load", 0.5, "a load of a vector, and of each further line that it reaches into", MEASURED
)
LANE = Price("lane", 0.65, "one lane of a load whose lanes are apart")
LOOKUP = Price("lookup", 1.05, "one lane of a load from the place that a value gives", MEASURED)
GATHER = Price(
    "gather", 2.0, "one lane of a load along several dimensions, each with an address of its own"
)
SHUFFLE = Price("shuffle", 0.5, "a vector of lanes of two others", MEASURED)
STORE = Price("store", 1.0, "a store of a vector")
SCATTER = Price("scatter", 1.0, "one lane of a store whose lanes are apart", MEASURED)

_LARGEST_STEP = 4
"""Lanes that lie so far apart are picked out of dense vectors, and so are lanes that come this many
times. With larger steps compilers load them one by one.
"""

_LARGEST_SHARED = 8
"""Lanes that lie so far apart are picked out of dense vectors if half of the values between them
are read, too.
"""


@term(ACCESS, LOAD, LANE, LOOKUP, GATHER, SHUFFLE)
def loads(core: Core, of: StageWork) -> SymbolicNumber:
    """Loads from the first-level cache."""
    features, stage = of.features, of.stage
    cycles: SymbolicNumber = 0.0
    for access in stage.work.accesses:
        bits = 8 * features.element_bytes(access.buffer)
        each = _load(core, of, access, bits)
        is_own = access.buffer == stage.func and access.in_place
        cycles = cycles + (
            each * of.written if is_own else each / copies_that_share(stage.own, access.moved_by)
        )
    return cycles


@term(ACCESS, STORE, SCATTER)
def stores(core: Core, of: StageWork) -> SymbolicNumber:
    """Stores to the first-level cache, of values that no register keeps."""
    along, lanes = of.stage.vector_dimensions, of.stage.lanes
    scattered, dense = core[SCATTER] * lanes, core[STORE] * of.passes
    if along and along != of.features.along_rows(of.func):
        return _store_between(core, of, scattered, dense) * of.written
    apart = bool(along) & _wraps(of.features, of.func)
    return where(apart, scattered, dense) * of.written


def _store_between(
    core: Core, of: StageWork, scattered: SymbolicNumber, dense: SymbolicNumber
) -> SymbolicNumber:
    """Cycles to store a vector whose lanes are no neighbors. Vectors of all channels of an output,
    in copies of an unrolled body, are woven into dense ones.
    """
    func, along = of.func, of.stage.vector_dimensions
    if len(along) > 1 or not func.is_output or along[0] not in func.args:
        return scattered
    dimension = func.args.index(along[0])
    stride = _stride(of.features, func.name, dimension)
    if stride is None or stride > _LARGEST_SHARED:
        return scattered
    order = of.features.order(func.name)
    inner = {func.args[d] for d in order[: order.index(dimension)]}
    woven = dense + core[SHUFFLE] * (stride - 1) * of.passes
    return where(_copies(of.stage, inner) >= stride, woven, scattered)


def dense_load(core: Core, lanes: SymbolicNumber, bits: int) -> SymbolicNumber:
    """Cycles to load neighboring values. Most vectors begin somewhere in a line, so the longer one
    is, the more often it reaches into the next line, which takes another access.
    """
    crossed = lanes * bits / 8 / core.device.cache_line_bytes
    return core[LOAD] * (core.registers.passes(lanes, bits) + crossed)


def _load(core: Core, of: StageWork, access: ReadGroup, bits: int) -> SymbolicNumber:
    """Cycles to load one vector of each value of a group."""
    features, stage = of.features, of.stage
    along, lanes, reads = stage.vector_dimensions, stage.lanes, access.reads
    moving = [index for index in access.indices if index.may_move(along)]
    if not along or not moving:
        return core[LOAD] * reads
    if not all(index.is_known for index in moving):
        return (core[LOOKUP] if len(moving) == 1 else core[GATHER]) * lanes * reads
    if len(moving) > 1 or len(along) > 1:
        return core[LANE] * lanes * reads
    (only,) = moving
    dimension = access.indices.index(only)
    stride = _stride(features, access.buffer, dimension)
    # A clamp changes only the iterations at the ends of a loop; an unrolled loop has none.
    walks = any(
        only.step(name)
        for loop in stage.own
        if not loop.kind.has_constant_extent
        for name in loop.dimensions
    )
    is_bent = only.course > Course.ROUNDED or (only.course is Course.CLAMPED and not walks)
    if stride is None or is_bent:
        return core[LANE] * lanes * reads
    step = abs(only.step(along[0])) * stride
    if step == 1:
        read = features.computed(access.buffer)
        # Nothing is known of an image, or of a Func that is still open.
        apart = False if read is None else _wraps(features, read)
        return where(apart, core[LANE] * lanes, dense_load(core, lanes, bits)) * reads
    passes = core.registers.passes(lanes, bits)
    if step < 1 and step.denominator <= _LARGEST_STEP:
        # Neighboring lanes read the same element or the next one; the first and the last lane of a
        # vector may share theirs with other vectors.
        elements = (lanes - 1) * step.numerator // step.denominator + 2
        return (dense_load(core, elements, bits) + core[SHUFFLE] * passes) * reads
    if step.denominator > 1 or step > _LARGEST_SHARED:
        return core[LANE] * lanes * reads
    # Values less than a step apart lie in the same dense vectors, those of other channels, too.
    between = int(step)
    order = features.order(access.buffer)
    inner = [access.indices[d] for d in order[: order.index(dimension)]]
    copies = _copies(stage, {name for index in inner for name in index.moved_by})
    loaded = dense_load(core, lanes * between, bits) * maximum(1 / copies, reads / between)
    picked = maximum(loaded, core[SHUFFLE] * (between - 1) * passes * reads)
    if between <= _LARGEST_STEP:
        return picked
    return where(2 * reads * copies >= between, picked, core[LANE] * lanes * reads)


def _stride(features: Features, buffer: str, dimension: int) -> int | None:
    """How far neighbors along a dimension of a buffer lie apart in memory. None if that is not
    known, or far. Arrays of the caller that are not promised to be otherwise are likely dense
    inside, by their estimates.
    """
    place = features.buffer(buffer)
    inner = place.order[: place.order.index(dimension)]
    if not inner:
        return 1
    if place.estimate is None:
        return None
    promised = place.steps[dimension]
    if promised is not None:
        return promised
    stride = prod(place.estimate[d][1] for d in inner)
    return stride if stride <= _LARGEST_STEP else None


def _copies(stage: StageFeatures, names: Collection[str]) -> SymbolicNumber:
    """How often a body is written out for other values of some Vars."""
    unrolled = (loop for loop in stage.own if loop.kind is LoopKind.UNROLLED)
    return volume(
        tuple(v.positive_trips for v in unrolled if not set(v.dimensions).isdisjoint(names))
    )


def _wraps(features: Features, func: FuncFeatures) -> SymbolicCondition:
    """Whether rows of its folded storage end anywhere in a vector: where a window slides along."""
    if not func.args:
        return False
    along_rows = features.order(func.name)[0]
    return func.allocated[along_rows] < func.stored[along_rows]


TERMS = (loads, stores)
