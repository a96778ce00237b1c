"""All rules there are, in the order in which they are asked and their violations are told."""

from __future__ import annotations

from spaces.constraints.rules import (
    bounds,
    call_schedule,
    domain_order,
    gpu_resources,
    gpu_structure,
    loop_kinds,
    matching,
    storage,
)
from spaces.constraints.rules.rule import CallRule, MatchRule, NestRule, OwnRule, Rule

RULES: tuple[Rule, ...] = (
    *matching.RULES,
    *domain_order.RULES,
    *call_schedule.RULES,
    *loop_kinds.RULES,
    *storage.RULES,
    *bounds.RULES,
    *gpu_structure.RULES,
    *gpu_resources.RULES,
)

MATCH_RULES = tuple(r for r in RULES if isinstance(r, MatchRule))
OWN_RULES = tuple(r for r in RULES if isinstance(r, OwnRule))
CALL_RULES = tuple(r for r in RULES if isinstance(r, CallRule))
NEST_RULES = tuple(r for r in RULES if isinstance(r, NestRule))


def rule(id: str) -> Rule:
    """The rule of that id.

    Raises:
        KeyError: there is none.
    """
    for known in RULES:
        if known.id == id:
            return known
    raise KeyError(f"No rule is called {id!r}; the rules are {', '.join(r.id for r in RULES)}.")
