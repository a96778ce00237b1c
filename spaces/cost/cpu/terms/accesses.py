"""The loads and stores of a stage, all lanes of a vector together."""

from __future__ import annotations

from spaces.cost.cpu.term import ACCESS, MEASURED, Core, Price, StageWork, term
from spaces.cost.features.accesses import Course, ReadGroup
from spaces.cost.features.features import Features, copies_that_share
from spaces.cost.features.records import FuncFeatures
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, maximum, where

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
"""Lanes that lie so far apart, or so many of which are the same, are picked out of dense vectors.
With larger steps compilers load them one by one.
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
    is_apart = along != of.features.along_rows(of.func)
    apart = bool(along) & (is_apart | _wraps(of.features, of.func))
    return where(apart, core[SCATTER] * lanes, core[STORE] * of.passes) * of.written


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
    first = access.indices[features.order(access.buffer)[0]]
    step = abs(first.step(along[0]))
    # A clamp changes only the iterations at the ends of a loop; an unrolled loop has none.
    walks = any(
        first.step(name)
        for loop in stage.own
        if not loop.kind.has_constant_extent
        for name in loop.dimensions
    )
    is_bent = first.course > Course.ROUNDED or (first.course is Course.CLAMPED and not walks)
    is_run = moving == [first] and not is_bent and len(along) == 1
    is_whole = step.denominator == 1
    is_small = step <= _LARGEST_STEP and step.denominator <= _LARGEST_STEP
    if not is_run or not is_small or not (is_whole or step < 1):
        return core[LANE] * lanes * reads
    passes = core.registers.passes(lanes, bits)
    if step == 1:
        read = features.computed(access.buffer)
        # Nothing is known of an image, or of a Func that is still open.
        apart = False if read is None else _wraps(features, read)
        return where(apart, core[LANE] * lanes, dense_load(core, lanes, bits)) * reads
    if is_whole:
        # Values less than a step apart lie in the same dense vectors; as many as lie there share
        # them.
        shared = -(-reads // int(step))
        loaded = dense_load(core, lanes * int(step), bits) * shared
        return maximum(loaded, core[SHUFFLE] * (int(step) - 1) * passes * reads)
    # Neighboring lanes read the same element or the next one; the first and the last lane of a
    # vector may share theirs with other vectors.
    elements = (lanes - 1) * step.numerator // step.denominator + 2
    return (dense_load(core, elements, bits) + core[SHUFFLE] * passes) * reads


def _wraps(features: Features, func: FuncFeatures) -> SymbolicCondition:
    """Whether rows of its folded storage end anywhere in a vector: where a window slides along."""
    if not func.args:
        return False
    along_rows = features.order(func.name)[0]
    return func.allocated[along_rows] < func.stored[along_rows]


TERMS = (loads, stores)
