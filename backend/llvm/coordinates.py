"""The operations in indices and loop bounds whose operands must not wrap, such as quotients and
minima.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import For, ParallelFor, Statement, Store
from spaces.backend.ir.vectors import Load, MaskedLoad
from spaces.model.expressions.expr import Expr, Op, walk
from spaces.model.expressions.types import Int32

_NOT_MODULAR = ("div", "mod", "min", "max", "select")
"""Operators whose result is wrong if an operand has wrapped. Sums and products are not: they wrap
once, at the end, to the same number.
"""


def coordinates_of(program: LoopProgram) -> frozenset[Expr]:
    """The scalar operations in coordinates whose operands must not wrap."""
    roots = (root for inner in walk_nodes(program.body) for root in _places(inner))
    return frozenset(
        node
        for node in walk(*roots)
        if isinstance(node, Op)
        and node.name in _NOT_MODULAR
        and node.type == Int32
        and not node.loads
    )


def _places(statement: Statement) -> Iterator[Expr]:
    """The loop bounds of a statement, and the indices that it reads and writes."""
    if isinstance(statement, For | ParallelFor):
        yield statement.min
    if isinstance(statement, Store):
        yield statement.index
    for node in walk(*statement.expressions):
        if isinstance(node, Load | MaskedLoad):
            yield node.index
