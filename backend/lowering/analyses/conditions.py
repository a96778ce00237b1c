"""The parts of a condition, and whether it is a condition on coordinates."""

from __future__ import annotations

from spaces.model.expressions.expr import Const, Expr, Op, Variable
from spaces.model.expressions.types import Int32


def is_comparison_of_coordinates(node: Expr) -> bool:
    """Whether a condition compares only loop variables and sizes, which never wrap."""
    if not (isinstance(node, Op) and node.type.is_bool and len(node.args) == 2):
        return False
    return all(is_coordinate(a) for a in node.args)


def is_coordinate(root: Expr) -> bool:
    """Whether an expression is int32 arithmetic over variables and constants only."""
    stack, seen = [root], set[Expr]()
    while stack:
        node = stack.pop()
        if node in seen:  # coordinates of splits share parts within parts
            continue
        seen.add(node)
        if node.type != Int32 or not isinstance(node, Const | Variable | Op):
            return False
        if isinstance(node, Op) and node.name == "select":
            stack += node.args[1:]
        else:
            stack += node.children
    return True


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The conditions whose conjunction is ``condition``."""
    if isinstance(condition, Op) and condition.name == "and":
        return (*conjuncts(condition.args[0]), *conjuncts(condition.args[1]))
    return (condition,)
