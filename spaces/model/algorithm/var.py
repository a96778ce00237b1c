"""Vars, the coordinates of Funcs, and the names allowed in a definition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeGuard

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.interning import Interned
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


class _NamedOnly(Interned):
    """The metaclass of Var: a call makes a plain Variable, and plain Variables are its instances.
    So the nodes of coordinates and of loops with the same name are one.
    """

    def __call__(cls, name: str) -> Any:
        if name in OUTERMOST:
            raise DefinitionError(f"{name} is a loop of gpu_single_thread(); choose another name.")
        return Variable(Int32, check_name("Var", name))

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is Variable


class Var(Variable, metaclass=_NamedOnly):
    """A coordinate of a Func's domain, an expression of type int32.

    Raises:
        DefinitionError: ``name`` is no name, or that of a loop of ``gpu_single_thread()``.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, name: str) -> None: ...


def is_free_var(arg: Expr) -> TypeGuard[Variable]:
    """Whether ``arg`` is a Var; other variables in a definition have classes of their own."""
    return type(arg) is Variable


def is_var(arg: Expr, name: str) -> bool:
    """Whether ``arg`` is the Var of that name."""
    return is_free_var(arg) and arg.name == name
