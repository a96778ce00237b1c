"""Values of expressions, one at a time: Python integers, and NumPy scalars for floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from spaces.backend.arithmetic import convert, operate
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import INTEGERS

Lookup: TypeAlias = Callable[[str], Any]
"""Gives the value of a variable."""

ReadValue: TypeAlias = Callable[[str, tuple[int, ...], Type], Any]
"""Gives the value of a buffer, Func or image at a coordinate."""

_Step: TypeAlias = tuple[Callable[[Lookup, ReadValue, list[Any]], Any], tuple[int, ...]]


class ScalarFormula:
    """An expression prepared for many evaluations; each computes a shared part once."""

    def __init__(self, root: Expr) -> None:
        nodes = tuple(walk(expanded(root)))
        places = {node: number for number, node in enumerate(nodes)}
        self.cost = len(nodes)
        """The number of nodes: a measure of the work of one evaluation."""
        self._steps: list[_Step] = [
            (_evaluator(node), tuple(places[child] for child in node.children)) for node in nodes
        ]

    def value(self, lookup: Lookup, access: ReadValue) -> Any:
        """The value; ``lookup`` gives the values of variables, and ``access`` the values that are
        read.
        """
        done: list[Any] = []
        for step, operands in self._steps:
            done.append(step(lookup, access, [done[i] for i in operands]))
        return done[-1]


def stored(type: Type, value: Any) -> Any:
    """A value of a NumPy array as a replay holds it: an int, or a NumPy scalar for floats."""
    return type.dtype.type(value) if type.is_float else int(value)


def _evaluator(node: Expr) -> Callable[[Lookup, ReadValue, list[Any]], Any]:
    match node:
        case Const(type=type, value=value):
            literal = stored(type, value)
            return lambda lookup, access, operands: literal
        case Variable(name=name):
            return lambda lookup, access, operands: lookup(name)
        case Call(target=name, type=type):
            return lambda lookup, access, operands: access(name, tuple(operands), type)
        case Load(buffer=name, type=type):
            return lambda lookup, access, operands: access(name, tuple(operands), type)
        case Cast(type=type, value=value):
            made = _conversion(value.type, type)
            return lambda lookup, access, operands: made(operands[0])
        case Op(name="select"):
            return lambda lookup, access, operands: operands[1] if operands[0] else operands[2]
        case Op(type=type, name=name, args=args):
            apply = _operator(type, name, args)
            return lambda lookup, access, operands: apply(*operands)
    raise TypeError(f"`{node}` has no value outside of vectors.")


def _operator(type: Type, name: str, args: tuple[Expr, ...]) -> Callable[..., Any]:
    if not args[0].type.is_float and name in INTEGERS.operators:
        whole = INTEGERS.operators[name]
        return lambda *operands: type.wrap(int(whole(*operands)))
    kinds = [a.type.dtype for a in args]

    def apply(*operands: Any) -> Any:
        arrays = [np.asarray(o, kind) for o, kind in zip(operands, kinds, strict=True)]
        return stored(type, operate(name, type, arrays))

    return apply


def _conversion(source: Type, target: Type) -> Callable[[Any], Any]:
    if target.is_float:
        return lambda value: target.dtype.type(value)
    if source.is_float:
        return lambda value: int(convert(target, np.asarray(value)))
    return target.wrap
