"""What is known of the sizes of a program, and of the loops around a statement."""

from __future__ import annotations

from backend.ir.program import LoopProgram
from spaces.model.expressions.expr import Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import believe


def known_sizes(program: LoopProgram) -> Simplifier:
    """A simplifier that believes the size checks of single sizes, and what is assumed."""
    simplify = Simplifier()
    for check in program.size_checks:
        match check.condition:
            case Op(name="ge", args=(Variable(name=name), least)) if least.type == Int32:
                known, _ = simplify.known(name)
                low = least if known is None else Op(least.type, "max", (known, least))
                simplify.assume(name, simplify(low), None)
    for condition in (*(r.condition for r in program.size_checks), *program.assumptions):
        believe(simplify, condition)
    return simplify


def inside_loop(outer: Simplifier, var: Variable, low: Expr, extent: Expr) -> Simplifier:
    """What is known inside a loop. It is a new one: a copy of the loop may have other limits."""
    return outer.inside(var.name, outer(low), outer(low + extent - 1))
