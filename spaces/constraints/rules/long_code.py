"""Advice on schedules that are legal, and whose code takes long to compile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

from spaces.constraints.rules.loop_kinds import (
    kind_directives,
    longest_loop,
    multiplied_loops,
    written_factors,
)
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.rule import Check, Quantity, advice_rule, check
from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Call, Cast, Expr, Op
from spaces.model.schedules.domain_order import LoopKind

MOST_OPERATIONS = 4000
"""LLVM takes up to a minute for this many operations in a row, and its time grows faster than their
number: 13 s for 256 copies of nine operations with guards, 4 s for 128.
"""


@advice_rule(
    "advice.long-code",
    f"Unrolled loops that make more than {MOST_OPERATIONS} operations of a stage compile slowly, "
    "because every copy is compiled.",
    "From LLVM's compile times.",
    copies=Quantity("product of the iterations of the nested unrolled loops", "copies"),
    operations=Quantity("operations and reads of one evaluation", "operations"),
)
def long_code(view: NestView, func: str) -> Iterator[Check]:
    """One check for each computed stage inside unrolled loops."""
    if view.records.is_inlined(func):
        return
    for index, loops, copies in multiplied_loops(view, func, LoopKind.UNROLLED):
        operations = _operations(view.placement(func).function.stages[index])
        yield check(
            func,
            copies * operations <= MOST_OPERATIONS,
            "The unrolled loops around {stage_name} ({directives}) make {reason}{copies} copies of "
            "its {operations} operations: to compile them may take a minute or longer.",
            "Unroll a shorter loop than {longest}, or fewer loops.",
            stage=index,
            loop=longest_loop(loops).loop,
            longest=longest_loop(loops).loop,
            directives=partial(kind_directives, view, loops),
            reason=partial(written_factors, loops),
            copies=copies,
            operations=operations,
        )


@lru_cache(maxsize=4096)
def _operations(stage: Stage) -> int:
    """The operations and reads of one evaluation, each once; coordinates of reads do not count."""
    seen: set[Expr] = set()
    stack = [*stage.values, *stage.predicates]
    while stack:
        node = stack.pop()
        if node in seen or not isinstance(node, Call | Cast | Op):
            continue
        seen.add(node)
        if not isinstance(node, Call):
            stack.extend(node.children)
    return len(seen)


RULES = (long_code,)
