"""A rule about inlining: each read of an inlined Func is another copy of its definition.

It runs before all other rules on records, because those read Funcs after inlining.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.rule import Check, Quantity, match_rule, refuse
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.expr import walk
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule

MAX_INLINED_TERMS = 1_000_000
"""The most terms that the copies of one Func may have; verifying a million takes seconds."""

_TERMS_IN_A_MOMENT = 20_000


@match_rule(
    "call.inline-size",
    f"Inlining a Func is illegal if its copies have more than {MAX_INLINED_TERMS} terms in "
    "all, because the "
    "program would be too large to compile.",
    "This library's limit; Halide compiles for as long as it takes. Two Funcs that each read the "
    "next one twice make four copies.",
    copies=Quantity("copies of the Func's definition after inlining", "copies"),
    limit=Quantity("most terms that all copies may have", "terms"),
)
def inline_size(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each Func that has too many copies and no consumer that does."""
    copies, oversized, within = _copies(subject, MAX_INLINED_TERMS)
    for func in sorted(oversized - within):
        yield refuse(
            func,
            "{func} and Funcs that read it are inlined, which makes {copies} copies of its "
            "definition: more than {limit} terms in all.",
            "Compute it, or Funcs between it and the outputs, at root or at a loop.",
            copies=copies[func],
            limit=MAX_INLINED_TERMS,
        )


def is_soon_inlined(pipeline: Pipeline, schedule: Schedule) -> bool:
    """Whether the inlined definitions are small enough to build in a moment."""
    copies, _, _ = _copies((pipeline, schedule), MAX_INLINED_TERMS)
    terms = sum(copies[function.name] * _terms(function) for function in pipeline.functions)
    return terms <= _TERMS_IN_A_MOMENT


def _copies(
    subject: tuple[Pipeline, Schedule], most: int
) -> tuple[dict[str, int], set[str], set[str]]:
    """The number of copies of each Func; the Funcs whose copies have more than ``most`` terms; and
    the direct and indirect producers of these.
    """
    pipeline, schedule = derived(*subject), subject[1]
    inlined = {entry.name for entry in schedule.funcs if entry.compute.is_inline}
    copies = dict.fromkeys((f.name for f in pipeline.functions), 0)
    oversized: set[str] = set()
    within: set[str] = set()
    for function in reversed(pipeline.functions):
        func = function.name
        substituted = func in inlined and function.is_pure and func not in pipeline.outputs
        needed = copies[func] if substituted else 1
        if substituted and needed > 1 and needed * _terms(function) > most:
            oversized.add(func)
        for stage in function.stages:
            for call in stage.calls:
                if call.target in copies and call.target != func:
                    copies[call.target] += needed
        if func in oversized or func in within:
            within.update(function.callees)
    return copies, oversized, within


def _terms(function: Function) -> int:
    return sum(1 for stage in function.stages for _ in walk(*stage.values))
