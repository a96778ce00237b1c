"""Facts about the sizes of a program and about the loops around a statement."""

from __future__ import annotations

from spaces.backend.ir.program import LoopProgram
from spaces.model.expressions.expr import Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume


def known_sizes(program: LoopProgram) -> Simplifier:
    """A simplifier that assumes the size checks of single sizes and the program's assumptions."""
    simplify = Simplifier()
    for check in program.size_checks:
        match check.condition:
            case Op(name="ge", args=(Variable(name=name), least)) if least.type == Int32:
                known, _ = simplify.known(name)
                low = least if known is None else Op(least.type, "max", (known, least))
                simplify.assume(name, simplify(low), None)
    for condition in (*(r.condition for r in program.size_checks), *program.assumptions):
        assume(simplify, condition)
    return simplify


def inside_loop(outer: Simplifier, var: Variable, low: Expr, extent: Expr) -> Simplifier:
    """A new simplifier that also knows the range of a loop's variable. It does not change
    ``outer``: a copy of the loop may have other limits.
    """
    return outer.inside(var.name, outer(low), outer(low + extent - 1))
