"""All rules, in the order in which they run and their violations appear."""

from __future__ import annotations

from spaces.constraints import rules
from spaces.constraints.rules import (
    advice,
    atomic_updates,
    blends,
    bounds,
    call_schedule,
    companions,
    derivations,
    domain_order,
    estimates,
    explicit_bounds,
    gpu_blocks,
    gpu_memory,
    gpu_structure,
    inlining,
    kept_values,
    layout,
    long_code,
    loop_kinds,
    matching,
    prefetches,
    repeated_updates,
    rounding,
    specializations,
    stack,
    storage,
    unnamed_updates,
    wasted_work,
)
from spaces.constraints.rules.rule import (
    AdviceRule,
    CallRule,
    ExactRule,
    MatchRule,
    NestRule,
    OwnRule,
    PipelineRule,
    ProofRule,
    Rule,
)
from spaces.model.discovery import find_in_files
from spaces.model.suggestions import suggestion

_FIRST: tuple[Rule, ...] = (
    *derivations.RULES,
    *matching.RULES,
    inlining.inline_size,
    *domain_order.RULES,
    repeated_updates.repeated_update,
    blends.blended_by_threads,
    atomic_updates.atomic_update,
    *specializations.RULES,
    *prefetches.RULES,
    *companions.RULES,
    *call_schedule.RULES,
    *loop_kinds.RULES,
    *storage.RULES,
    *stack.RULES,
    *layout.RULES,
    *estimates.RULES,
    *bounds.RULES,
    *explicit_bounds.RULES,
    *gpu_structure.RULES,
    *gpu_blocks.RULES,
    *gpu_memory.RULES,
)

_LAST: tuple[Rule, ...] = (*kept_values.RULES, rounding.exact_order)


_FIRST_ADVICE: tuple[AdviceRule, ...] = (
    *advice.RULES,
    *wasted_work.RULES,
    *long_code.RULES,
    *stack.ADVICE,
    unnamed_updates.unnamed_updates,
    rounding.advised,
)


def _found() -> tuple[Rule | AdviceRule, ...]:
    """The ``RULES`` of every file of the folder that is not named above."""
    every = (one for of_file in find_in_files(rules, "RULES") for one in of_file)
    known = {one.id for one in (*_FIRST, *_LAST, *_FIRST_ADVICE)}
    return tuple(one for one in every if one.id not in known)


_FOUND = _found()

ADVICE = (*_FIRST_ADVICE, *(one for one in _FOUND if isinstance(one, AdviceRule)))
"""The kinds of advice on legal schedules, in the order in which advice appears."""

RULES = (*_FIRST, *(one for one in _FOUND if not isinstance(one, AdviceRule)), *_LAST)
"""All rules; those of a file that is not named above stand before the last ones."""

PIPELINE_RULES = tuple(r for r in RULES if isinstance(r, PipelineRule))
MATCH_RULES = tuple(r for r in RULES if isinstance(r, MatchRule))
OWN_RULES = tuple(r for r in RULES if isinstance(r, OwnRule))
CALL_RULES = tuple(r for r in RULES if isinstance(r, CallRule))
NEST_RULES = tuple(r for r in RULES if isinstance(r, NestRule))
PROOF_RULES = tuple(r for r in RULES if isinstance(r, ProofRule))
EXACT_RULES = tuple(r for r in RULES if isinstance(r, ExactRule))


def rule(id: str) -> Rule | AdviceRule:
    """The rule or advice with this id.

    Raises:
        KeyError: no rule has this id.
    """
    for known in (*RULES, *ADVICE):
        if known.id == id:
            return known
    ids = [r.id for r in (*RULES, *ADVICE)]
    raise KeyError(
        f"No rule is called {id!r}{suggestion(id, ids, most=3)}; the rules are {', '.join(ids)}."
    )
