"""The operations of a stage by kind and type, and the number of values that are alive at once.

These are the features of the algorithm that [A21] takes from Adams et al. (SIGGRAPH 2019):
histograms of arithmetic over the whole algorithm, here in few bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from spaces.model.expressions.expr import Cast, Const, Expr, Op
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import Type

OPERATIONS = ("sum", "product", "quotient", "choice", "function", "conversion", "other")
"""The kinds of operations: ``+ -``; ``*``; ``/ %``; min, max, select, comparisons and logic;
functions of floats; casts; all others.
"""

WIDTHS = ("bits8", "bits16", "wide", "real")
"""The types: up to 8 bits, 16 bits, wider integers, floats."""

_KINDS = {
    "add": "sum",
    "sub": "sum",
    "mul": "product",
    "div": "quotient",
    "mod": "quotient",
    **dict.fromkeys(("min", "max", "select", *COMPARISONS, *LOGIC), "choice"),
    **dict.fromkeys(FLOAT_FUNCTIONS, "function"),
}


@frozen
class Histogram:
    """The operations of one evaluation of a stage.

    Attributes:
        counts: the operations of each kind and type, :data:`WIDTHS` running fastest.
        branching: the Strahler number of its values: the fewest registers that evaluate them.
    """

    counts: tuple[int, ...]
    branching: int


NO_OPERATIONS = Histogram((0,) * (len(OPERATIONS) * len(WIDTHS)), 0)


def histogram(computed: Iterable[Cast | Op], values: Sequence[Expr]) -> Histogram:
    """The histogram of the operations ``computed`` for ``values``."""
    counts = [0] * (len(OPERATIONS) * len(WIDTHS))
    for node in computed:
        kind = "conversion" if isinstance(node, Cast) else _KINDS.get(node.name, "other")
        place = OPERATIONS.index(kind) * len(WIDTHS) + WIDTHS.index(_width(node.type))
        counts[place] += 1
    known: dict[Expr, int] = {}
    return Histogram(tuple(counts), max((_strahler(value, known) for value in values), default=0))


def _width(type: Type) -> str:
    if type.is_float:
        return "real"
    return "bits8" if type.bits <= 8 else "bits16" if type.bits <= 16 else "wide"


def _strahler(value: Expr, known: dict[Expr, int]) -> int:
    """Registers for ``value``: one for a leaf; where two operands need the most, one more. A read
    is a leaf: its coordinates are addresses.
    """
    stack = [value]
    while stack:
        node = stack[-1]
        operands = node.children if isinstance(node, Cast | Op) else ()
        waiting = [child for child in operands if child not in known]
        if waiting:
            stack += waiting
            continue
        needed = sorted(known[child] for child in operands)
        if isinstance(node, Const):
            known[node] = 0
        elif not needed:
            known[node] = 1
        else:
            known[node] = max(1, needed[-1] + (needed[-2:-1] == [needed[-1]] and needed[-1] > 0))
        stack.pop()
    return known[value]
