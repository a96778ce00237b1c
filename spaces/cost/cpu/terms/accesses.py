"""The loads and stores of a stage, all lanes of a vector together."""

from __future__ import annotations

from spaces.cost.cpu.term import ACCESS, Core, Price, StageWork, term
from spaces.cost.features.accesses import Course, ReadGroup
from spaces.cost.features.features import Features, copies_that_share
from spaces.cost.features.records import FuncFeatures
from spaces.model.formulas.symbolic import SymbolicCondition, SymbolicNumber, where

LOAD = Price("load", 0.9, "a load of a vector")
LANE = Price("lane", 0.65, "one lane of a load whose lanes are apart")
GATHER = Price(
    "gather", 2.0, "one lane of a load along several dimensions, each with an address of its own"
)
SHUFFLE = Price(
    "shuffle", 0.9, "a vector of lanes of two others: two instructions, which few units execute"
)
STORE = Price("store", 1.0, "a store of a vector")
SCATTER = Price("scatter", 3.0, "one lane of a store whose lanes are apart")

_LARGEST_DIVISOR = 4
"""With a larger divisor, so few lanes of ``x / divisor`` differ that compilers load them one by
one.
"""


@term(ACCESS, LOAD, LANE, GATHER, SHUFFLE)
def loads(core: Core, of: StageWork) -> SymbolicNumber:
    """Loads from the first-level cache."""
    features, stage = of.features, of.stage
    cycles: SymbolicNumber = 0.0
    for access in stage.work.accesses:
        bits = 8 * features.element_bytes(access.buffer)
        each = access.reads * _load(core, of, access, bits)
        is_own = access.buffer == stage.func and access.in_place
        cycles = cycles + (
            each * of.written if is_own else each / copies_that_share(stage.own, access.moved_by)
        )
    return cycles


@term(ACCESS, STORE, SCATTER)
def stores(core: Core, of: StageWork) -> SymbolicNumber:
    """Stores to the first-level cache, of values that no register keeps."""
    along = of.stage.vector_dimensions
    is_apart = along != of.features.along_rows(of.func)
    apart = bool(along) & (is_apart | _wraps(of.features, of.func))
    return where(apart, core[SCATTER] * of.stage.lanes, core[STORE] * of.registers) * of.written


def _load(core: Core, of: StageWork, access: ReadGroup, bits: int) -> SymbolicNumber:
    """Cycles to load one vector of values."""
    features, stage = of.features, of.stage
    along = stage.vector_dimensions
    moving = [index for index in access.indices if index.may_move(along)]
    if not along or not moving:
        return core[LOAD]
    if len(moving) > 1 and not all(index.is_known for index in moving):
        return core[GATHER] * stage.lanes
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
    if not is_run or step > 1 or step.denominator > _LARGEST_DIVISOR:
        return core[LANE] * stage.lanes
    dense = core.registers.of(stage.lanes, bits)
    if step == 1:
        read = features.computed(access.buffer)
        # Nothing is known of an image, or of a Func that is still open.
        apart = False if read is None else _wraps(features, read)
        return where(apart, core[LANE] * stage.lanes, core[LOAD] * dense)
    # Neighboring lanes read the same element or the next one; the first and the last lane of a
    # vector may share theirs with other vectors.
    elements = (stage.lanes - 1) * step.numerator // step.denominator + 2
    return core[LOAD] * core.registers.of(elements, bits) + core[SHUFFLE] * dense


def _wraps(features: Features, func: FuncFeatures) -> SymbolicCondition:
    """Whether rows of its folded storage end anywhere in a vector: where a window slides along."""
    if not func.args:
        return False
    along_rows = features.order(func.name)[0]
    return func.allocated[along_rows] < func.stored[along_rows]


TERMS = (loads, stores)
