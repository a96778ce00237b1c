"""What each rule claims about a schedule that breaks it."""

from __future__ import annotations

from enum import StrEnum

from spaces.constraints.rules.catalogue import RULES


class Claim(StrEnum):
    """What happens where nobody asks a rule."""

    WRONG = "wrong results or a crash"
    DEVICE = "a limit of the device or of the compiler"
    FORM = "no meaning"
    EXACTNESS = "values that are not those of the algorithm bit for bit"


_DEVICE = (
    "gpu.device",
    "gpu.threads-per-block",
    "gpu.block-dimension",
    "gpu.grid-dimension",
    "gpu.shared-bytes",
    "gpu.registers",
    "gpu.occupancy",
    "gpu.local-bytes",
    "kind.vector-lanes",
    "kind.vector-extent",
    "kind.unroll-extent",
    "kind.unroll-copies",
    "call.inline-size",
    "gpu.parallel-in-kernel",
    "gpu.kernel-in-parallel",
    "storage.private-size",
    "gpu.hoisted-storage",
    "order.blend",
    "storage.stack-bytes",
    "storage.stack-total",
    "memoize.device",
    "specialize.cases",
    "gpu.required-values",
    "prefetch.gpu",
    "foreign.gpu",
)

_FORM = (
    "derive.unknown-func",
    "derive.not-read",
    "derive.name-taken",
    "derive.update",
    "derive.operator",
    "derive.order",
    "derive.factored-loop",
    "derive.split",
    "derive.new-var",
    "schedule.unknown-func",
    "schedule.missing-func",
    "schedule.stages",
    "schedule.open-parameter",
    "order.unknown-loop",
    "order.duplicate-loop",
    "order.missing-loop",
    "call.output-at-root",
    "call.inline-update",
    "call.inline-storage",
    "call.unread",
    "storage.fold-dimension",
    "storage.fold-output",
    "storage.layout-dimension",
    "storage.layout-output",
    "storage.fold-direction",
    "bounds.explicit-dimension",
    "kind.inside-vectorized",
    "order.partition-loop",
    "prefetch.loop",
    "memoize.place",
    "ring.extent",
    "ring.hoisted",
    "ring.whole",
    "async.producers",
    "with.func",
    "with.loops",
    "with.level",
    "with.order",
    "with.stages",
    "prefetch.unread",
    "storage.kept-values",
    "specialize.condition",
    "specialize.inlined",
    "specialize.after-failure",
    "specialize.failure",
    "foreign.loops",
    "foreign.storage",
    "foreign.input",
    "foreign.place",
)

_WRONG = (
    "order.factor",
    "order.tail",
    "order.repeated-update",
    "order.reduction",
    "race.update",
    "memoize.image",
    "race.atomic",
    "race.shared-storage",
    "with.dependent",
    "call.compute-level",
    "call.store-level",
    "storage.fold-factor",
    "storage.fold-too-small",
    "storage.layout-range",
    "storage.bound-too-small",
    "call.hoist-level",
    "storage.hoist-size",
    "bounds.explicit-range",
    "bounds.explicit-too-small",
    "storage.memory-kind",
    "storage.host-memory-in-kernel",
    "bounds.unbounded",
    "bounds.floats",
    "bounds.fused-extent",
    "bounds.impossible-estimates",
    "bounds.smaller-than-tile",
    "bounds.output-overrun",
    "bounds.image-overrun",
    "gpu.threads-outside-blocks",
    "gpu.nested-blocks",
    "gpu.nested-threads",
    "gpu.blocks-inside-threads",
    "gpu.loop-between",
    "gpu.dimensions",
    "gpu.level-between",
    "gpu.thread-extent",
    "gpu.lanes",
    "gpu.lane-extent",
    "gpu.allocation-size",
)

_EXACTNESS = ("exact.order",)

CLAIMS: dict[str, Claim] = {
    **dict.fromkeys(_WRONG, Claim.WRONG),
    **dict.fromkeys(_DEVICE, Claim.DEVICE),
    **dict.fromkeys(_FORM, Claim.FORM),
    **dict.fromkeys(_EXACTNESS, Claim.EXACTNESS),
}
"""The claim of every rule, by its id."""


def unclassified() -> list[str]:
    """Ids of rules that have no entry here, and entries here of no rule."""
    known = {rule.id for rule in RULES}
    return sorted(known.symmetric_difference(CLAIMS))
