"""``likely``: hints of a pipeline that name the usual side of a test.

The hints stay in values up to the pass that splits loops by tests. In the steady state this pass
takes the side that a hint names (Halide's meaning); then it removes the hints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Statement
from spaces.backend.ir.walk import map_all
from spaces.backend.lowering.analyses.conditions import conjuncts
from spaces.model.expressions.definitions import DERIVED, HINTS, SAYING, expanded
from spaces.model.expressions.expr import Expr, Op, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool

TRUE, FALSE = constant(True, Bool), constant(False, Bool)

ALL_BUT_HINTS = frozenset(DERIVED) - frozenset(SAYING)
"""The operators that have a definition and are not hints."""


def without_hints(expr: Expr) -> Expr:
    """The expression without hints."""
    return expanded(expr, SAYING)


def unhinted(program: LoopProgram) -> LoopProgram:
    """The program without any hints."""
    if not program.hinted:
        return program
    return evolve(program, body=map_all(program.body, without_hints), hinted=False)


def is_hinted(exprs: Iterable[Expr]) -> bool:
    """Whether one of the expressions contains a hint."""
    return any(_is_hint(node) for node in walk(*exprs))


def has_hints(statement: Statement) -> bool:
    """Whether a statement, or one inside it, contains a hint."""
    return any(is_hinted(part.expressions) for part in walk_nodes(statement))


def wishes(value: Expr, is_innermost: bool) -> Mapping[Expr, Expr]:
    """The outcome of each hinted test of a value in the steady state of a loop."""
    found: dict[Expr, Expr] = {}
    for node in walk(value):
        if not isinstance(node, Op):
            continue
        if _counts(node, is_innermost) and node.type.is_bool:
            _wish(found, node.args[0], TRUE)
        elif node.name == "select":
            condition, *arms = node.args
            arm = _likely_arm(arms, is_innermost)
            if arm is not None:
                _wish(found, condition, TRUE if arm is arms[0] else FALSE)
        elif node.name in ("min", "max"):
            arm = _likely_arm(node.args, is_innermost)
            if arm is not None:
                limit, side = without_hints(node), without_hints(arm)
                # Once the likely values replace the sides, the limit is another expression.
                found[rewrite(limit, lambda n: found.get(n, n))] = found.get(side, side)
                found[limit] = side
    return found


def _likely_arm(arms: Sequence[Expr], is_innermost: bool) -> Expr | None:
    """The likely one of two sides (as in Halide): the side with a hint outside of its inner
    selections, or else the side with a hint anywhere. None if both sides are likely.
    """
    for inside in (_own_parts, walk):
        likely = [arm for arm in arms if any(_counts(n, is_innermost) for n in inside(arm))]
        if likely:
            return likely[0] if len(likely) == 1 else None
    return None


def _own_parts(root: Expr) -> Iterator[Expr]:
    """The parts of an expression without the parts of selections inside it, which have their own
    hints.
    """
    if not (isinstance(root, Op) and root.name in ("select", "min", "max")):
        yield root
        for child in root.children:
            yield from _own_parts(child)


def _wish(found: dict[Expr, Expr], condition: Expr, comes_to: Expr) -> None:
    """Notes in ``found`` that a condition and the comparisons inside it have this outcome."""
    plain = without_hints(condition)
    if isinstance(plain, Op) and plain.name == "not":
        _wish(found, plain.args[0], FALSE if comes_to is TRUE else TRUE)
    elif comes_to is TRUE:
        found.update(dict.fromkeys(conjuncts(plain), TRUE))
    elif isinstance(plain, Op) and plain.name == "or":
        for part in plain.args:
            _wish(found, part, FALSE)
    else:
        found[plain] = FALSE


def _is_hint(node: Expr) -> bool:
    return isinstance(node, Op) and node.name in HINTS


def _counts(node: Expr, is_innermost: bool) -> bool:
    return isinstance(node, Op) and node.name in HINTS and (node.name == "likely" or is_innermost)
