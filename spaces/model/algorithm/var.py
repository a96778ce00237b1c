"""Vars, the coordinates of Funcs, and what may be a name in a definition."""

from __future__ import annotations

import re
from typing import TypeGuard

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32

OUTERMOST = ("__block", "__thread")
"""Names that no Var has: those of the loops that ``gpu_single_thread()`` puts around all others."""


def check_name(kind: str, name: object) -> str:
    """Names go into loop names, size variables (``out.extent.0``) and generated code."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise DefinitionError(
            f"{name!r} cannot name a {kind}; use letters, digits and _, a digit not first."
        )
    return name


def Var(name: str) -> Variable:
    """A coordinate of a Func's domain; where a function takes one, its type is ``Expr``."""
    if name in OUTERMOST:
        raise DefinitionError(f"{name} is a loop of gpu_single_thread(); choose another name.")
    return Variable(Int32, check_name("Var", name))


def is_free_var(arg: Expr) -> TypeGuard[Variable]:
    """Whether ``arg`` is a Var; what else is a variable in a definition has a class of its own."""
    return type(arg) is Variable


def is_var(arg: Expr, name: str) -> bool:
    """Whether ``arg`` is the Var of that name."""
    return is_free_var(arg) and arg.name == name
