"""Expressions as Python source, so that interpreting thousands of programs takes minutes.

Numbers are Python's, wrapped or rounded as their type says; only int32 sums and products of
variables alone are not, which are coordinates. What has no short form in Python is the reference's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from spaces.backend.arithmetic import convert, operate
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32, Type, type_of
from spaces.model.formulas.algebra import INTEGERS


@cache
def _reference(name: str, result: str, *operands: str) -> Callable[..., Any]:
    """An operator as the reference evaluates it, on Python's numbers."""
    types, type = [type_of(o).dtype for o in operands], type_of(result)

    def value(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            arrays = [np.asarray(a, t) for a, t in zip(args, types, strict=True)]
            if name == "cast":
                return convert(type, arrays[0]).item()
            return operate(name, type, arrays).item()

    return value


def same(a: Any, b: Any) -> bool:
    """Whether two values, or two of Tuples, are equal, two that are no numbers too."""
    return bool(a == b) or (a != a and b != b) or (isinstance(a, tuple) and repr(a) == repr(b))


def _single(value: float) -> float:
    return ctypes.c_float(value).value


MEANINGS: Mapping[str, Any] = {
    "DIVIDE": INTEGERS.operators["div"],
    "MODULO": INTEGERS.operators["mod"],
    "REFERENCE": _reference,
    "SINGLE": _single,
    "inf": float("inf"),
    "nan": float("nan"),
}
"""Names that programs know."""

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}


_WRAPPING = ("add", "sub", "mul", "shift_left")
_PLAIN = ("add", "sub", "mul", "div", "mod", "min", "max", "select")
_ORDER = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or")


def wrapped(type: Type, text: str) -> str:
    """``text`` wrapped to an integer type, or rounded to a float one."""
    if type.is_float:
        return f"SINGLE({text})" if type.bits == 32 else text
    if type.is_bool:
        return text
    full = 1 << type.bits
    if type.is_uint:
        return f"({text} & {full - 1})"
    half = full >> 1
    return f"(({text} + {half} & {full - 1}) - {half})"


class Names:
    """Python names for those of a program, which contain dots."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The Python name."""
        return self._known.setdefault(name, f"v{len(self._known)}")

    def items(self) -> tuple[tuple[str, str], ...]:
        """Each name with its Python name."""
        return tuple(self._known.items())


def source(
    root: Expr,
    names: Names,
    call: Callable[[Expr, list[str]], str],
    lines: list[str],
    indent: str,
) -> str:
    """Python for ``root``; what is used several times is put into ``lines`` first.

    ``call`` writes what is no operator: reads of Funcs, images and buffers.
    """
    root = expanded(root)
    nodes = list(walk(root))
    uses: dict[Expr, int] = {}
    for node in nodes:
        for child in node.children:
            uses[child] = uses.get(child, 0) + 1
    done: dict[Expr, str] = {}
    plain: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Const | Variable) or (
            isinstance(node, Op) and node.name in _PLAIN and plain.issuperset(node.args)
        ):
            plain.add(node)
        text = _node(node, [done[c] for c in node.children], names, call, node in plain)
        # Long texts are cut too: Python's parser nests parentheses a hundred deep.
        if (uses.get(node, 0) > 1 and len(text) > 12) or len(text) > 300:
            name = f"t{len(lines)}"
            lines.append(f"{indent}{name} = {text}")
            text = name
        done[node] = text
    return done[root]


def _node(
    node: Expr,
    parts: list[str],
    names: Names,
    call: Callable[[Expr, list[str]], str],
    plain: bool,
) -> str:
    match node:
        case Const(value=value):
            return repr(float(value)) if node.type.is_float else repr(int(value))
        case Variable(name=name):
            return names(name)
        case Cast(type=type, value=value):
            return _converted(type, value.type, parts[0])
        case Op(name=name):
            keeps = plain and node.type.element == Int32
            return _operator(node, name, parts, keeps)
    return call(node, parts)


def _converted(type: Type, given: Type, text: str) -> str:
    if (
        type.is_bool
        or (given.is_float and not type.is_float)
        or (type.is_float and _is_long(given))
    ):
        return _by_reference("cast", type, (given,), [text])
    if type.is_float:
        return wrapped(type, f"float({text})")
    number = f"int({text})" if given.is_bool else text
    holds = not given.is_bool and type.holds(given.min_value) and type.holds(given.max_value)
    return number if holds or given.is_bool else wrapped(type, number)


def _is_long(type: Type) -> bool:
    return not type.is_float and type.bits > 32


def _by_reference(name: str, result: Type, operands: tuple[Type, ...], parts: list[str]) -> str:
    types = ", ".join(repr(str(t.element)) for t in (result, *operands))
    return f"REFERENCE({name!r}, {types})({', '.join(parts)})"


def _operator(node: Op, name: str, parts: list[str], keeps: bool) -> str:
    type, given = node.type, node.args[0].type
    if name == "select":
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    if name == "not":
        return f"(not {parts[0]})"
    if given.is_bool and name not in _ORDER:
        return _by_reference(name, type, tuple(a.type for a in node.args), parts)
    if name in _ORDER or name in ("bit_and", "bit_or", "bit_xor"):
        return f"({parts[0]} {_INFIX[name]} {parts[1]})"
    if name in ("add", "sub", "mul"):
        text = f"({parts[0]} {_INFIX[name]} {parts[1]})"
        return text if keeps else wrapped(type, text)
    if not given.is_float:
        text = _of_integers(node, name, parts)
        if text:
            return text
    return _by_reference(name, type, tuple(a.type for a in node.args), parts)


def _of_integers(node: Op, name: str, parts: list[str]) -> str:
    """An operator of integers; empty where it has no short form."""
    type, last = node.type, node.args[-1]
    number = int(last.value) if isinstance(last, Const) else -1
    if name in ("shift_left", "shift_right") and 0 <= number < 128:
        return wrapped(type, f"({parts[0]} {_INFIX[name]} {parts[1]})")
    if name in ("min", "max"):
        compare = "<=" if name == "min" else ">="
        if parts[0].isidentifier() and parts[1].isidentifier():
            return f"({parts[0]} if {parts[0]} {compare} {parts[1]} else {parts[1]})"
        return f"{name}({parts[0]}, {parts[1]})"
    if name in ("div", "mod"):
        if number > 0:
            return f"({parts[0]} {'//' if name == 'div' else '%'} {parts[1]})"
        return wrapped(type, f"{'DIVIDE' if name == 'div' else 'MODULO'}({parts[0]}, {parts[1]})")
    if name == "abs":
        return f"abs({parts[0]})"
    if name == "reinterpret" and not type.is_float:
        return wrapped(type, parts[0])
    if name == "popcount":
        return f"({parts[0]} & {(1 << type.bits) - 1}).bit_count()"
    return ""
