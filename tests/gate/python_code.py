"""Expressions as Python source, so that interpreting thousands of programs takes minutes.

Numbers are Python's: narrow integers wrap as their type says. Values of int32, and of floats, are
taken to be exact, which the subjects of the gate see to.
"""

from __future__ import annotations

from collections.abc import Callable

from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32, Type
from spaces.model.formulas.algebra import INTEGERS

DIVIDE = INTEGERS.operators["div"]
MODULO = INTEGERS.operators["mod"]

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


def wrapped(type: Type, text: str) -> str:
    """``text`` wrapped to a narrow integer type."""
    if type.is_float or type.is_bool or type.element == Int32:
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
    for node in nodes:
        text = _node(node, [done[c] for c in node.children], names, call)
        # Long texts are cut too: Python's parser nests parentheses a hundred deep.
        if (uses.get(node, 0) > 1 and len(text) > 12) or len(text) > 300:
            name = f"t{len(lines)}"
            lines.append(f"{indent}{name} = {text}")
            text = name
        done[node] = text
    return done[root]


def _node(
    node: Expr, parts: list[str], names: Names, call: Callable[[Expr, list[str]], str]
) -> str:
    match node:
        case Const(value=value):
            return repr(value) if node.type.is_float else repr(int(value))
        case Variable(name=name):
            return names(name)
        case Cast(type=type, value=value):
            if type.is_float:
                return f"float({parts[0]})"
            is_plain = type.element == Int32 and value.type.bits < 32 and not value.type.is_float
            text = f"int({parts[0]})" if value.type.is_float or value.type.is_bool else parts[0]
            return text if is_plain else wrapped(type, text)
        case Call():
            return call(node, parts)
        case Op(name=name):
            return _operator(node, name, parts)
    return call(node, parts)


def _operator(node: Op, name: str, parts: list[str]) -> str:
    if name in _INFIX:
        text = f"({parts[0]} {_INFIX[name]} {parts[1]})"
        return wrapped(node.type, text) if name in _WRAPPING else text
    if name in ("min", "max"):
        compare = "<=" if name == "min" else ">="
        if parts[0].isidentifier() and parts[1].isidentifier():
            return f"({parts[0]} if {parts[0]} {compare} {parts[1]} else {parts[1]})"
        return f"{name}({parts[0]}, {parts[1]})"
    if name in ("div", "mod"):
        divisor = node.args[1]
        if isinstance(divisor, Const) and divisor.value > 0 and not node.type.is_float:
            return f"({parts[0]} {'//' if name == 'div' else '%'} {parts[1]})"
        return f"{'DIVIDE' if name == 'div' else 'MODULO'}({parts[0]}, {parts[1]})"
    if name == "select":
        return f"({parts[1]} if {parts[0]} else {parts[2]})"
    if name == "not":
        return f"(not {parts[0]})"
    if name == "abs":
        return f"abs({parts[0]})"
    if name == "reinterpret" and not (node.type.is_float or node.args[0].type.is_float):
        return wrapped(node.type, parts[0])
    if name == "popcount":
        return f"({parts[0]} & {(1 << node.type.bits) - 1}).bit_count()"
    raise TypeError(f"{name} has no meaning in the programs of the gate")
