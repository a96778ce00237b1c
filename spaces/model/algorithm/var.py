"""Vars, the coordinates of Funcs, and the names allowed in a definition."""

from __future__ import annotations

import re
from typing import TypeGuard

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32

OUTERMOST = ("__block", "__thread")
"""The names of the loops that ``gpu_single_thread()`` puts around all others; no Var has them."""


def check_name(kind: str, name: object) -> str:
    """Returns ``name`` if it can name a ``kind``. Names become parts of loop names, of size
    variables (``out.extent.0``) and of generated code.

    Raises:
        DefinitionError: ``name`` is not a name.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise DefinitionError(
            f"{name!r} cannot name a {kind}; use letters, digits and _, with no digit first."
        )
    return name


def Var(name: str) -> Variable:
    """A coordinate of a Func's domain, an expression of type int32."""
    if name in OUTERMOST:
        raise DefinitionError(f"{name} is a loop of gpu_single_thread(); choose another name.")
    return Variable(Int32, check_name("Var", name))


def is_free_var(arg: Expr) -> TypeGuard[Variable]:
    """Whether ``arg`` is a Var; other variables in a definition have classes of their own."""
    return type(arg) is Variable


def is_var(arg: Expr, name: str) -> bool:
    """Whether ``arg`` is the Var of that name."""
    return is_free_var(arg) and arg.name == name
