"""All examples, in the order of the rules, whose files they are named after."""

from __future__ import annotations

from spaces.constraints.examples import (
    advice,
    bounds,
    call_schedule,
    companions,
    derivations,
    domain_order,
    gpu_blocks,
    gpu_memory,
    gpu_structure,
    layout,
    loop_kinds,
    matching,
    prefetches,
    rounding,
    specializations,
    storage,
    updates,
)

EXAMPLES = (
    *derivations.EXAMPLES,
    *matching.EXAMPLES,
    *domain_order.EXAMPLES,
    *updates.EXAMPLES,
    *specializations.EXAMPLES,
    *prefetches.EXAMPLES,
    *companions.EXAMPLES,
    *call_schedule.EXAMPLES,
    *loop_kinds.EXAMPLES,
    *storage.EXAMPLES,
    *layout.EXAMPLES,
    *bounds.EXAMPLES,
    *gpu_structure.EXAMPLES,
    *gpu_blocks.EXAMPLES,
    *gpu_memory.EXAMPLES,
)
"""For each rule a schedule that breaks it, and its neighbor that does not."""

EXACT_EXAMPLES = rounding.EXAMPLES
"""The same of the rules that are asked only where results must be exact."""

ADVICE_EXAMPLES = (*advice.EXAMPLES, *rounding.ADVICE_EXAMPLES)
