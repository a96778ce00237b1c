"""Bugs in what is known of the numbers in kernels, and in who computes them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENDS = ("test_number_ends.py",)
_UNIFORM = ("test_uniform.py",)

NUMBERS = (
    Mutant(
        "ends-of-any-buffer",
        "_beginning",
        "f\"{size['buffer']}.min.{size['dimension']}\"",
        "f\"{size['buffer']}.min.0\"",
        "The extent of a dimension and the beginning of another make the end of a buffer.",
        _ENDS,
    ),
    Mutant(
        "quotients-wrap-as-a-whole",
        "NumberEnds.wraps_once",
        "not (isinstance(node, Op) and node.type is Int32 and node.name in _RING)",
        "not (isinstance(node, Op) and node.type is Int32)",
        "The quotient of a sum that wraps counts as that of the sum without limits.",
        _ENDS,
    ),
    Mutant(
        "last-loop-of-a-name-counts",
        "NumberEnds.of",
        "min(first, before[0]), max(low[1], last, before[1])",
        "(first, max(low[1], last))",
        "Of two loops with one name the second gives the ends.",
        _ENDS,
    ),
    Mutant(
        "block-numbers-may-wrap",
        "with_block_numbers",
        "ends.is_exact",
        "ends.wraps_once",
        "A kernel computes a number of a block without wrapping, though it may wrap.",
        _UNIFORM,
    ),
    Mutant(
        "all-dividends-are-counts",
        "ExpressionPrinter._is_count",
        "is_coordinate or self.ends.is_exact(node)",
        "True",
        "A value that may wrap to a negative number is divided as an unsigned one.",
        ("test_expressions.py",),
    ),
)
