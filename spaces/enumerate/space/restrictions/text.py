"""Conditions from text, such as ``threads(blur_y) % 32 == 0``, for the command line.

The text is an expression of Python's grammar with numbers, features, ``KiB``, ``MiB``, ``min``,
``max``, arithmetic, comparisons, and ``and``, ``or``, ``not``; nothing in it runs as Python code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import reduce

from spaces.features.named_features import NAMED_FEATURES, KiB, MiB
from spaces.features.used_features import used_feature
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, as_expr, compare, constant, logical
from spaces.model.expressions.types import Int32
from spaces.model.suggestions import suggestion

LONGEST = 2000
"""The most characters of a restriction."""


class RestrictionSyntaxError(ValueError):
    """A text is not a condition on features; the message says where and why."""


_BINARY: Mapping[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a // b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
}

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}

_CONSTANTS = {"KiB": KiB, "MiB": MiB}
_FUNCTIONS: Mapping[str, Callable[..., Expr]] = {"min": fn.min, "max": fn.max}


def parse_restriction(text: str) -> Expr:
    """The condition that a text writes. Names of Funcs and loops may have quotes.

    Raises:
        RestrictionSyntaxError: the text is not a condition on features.
    """
    if len(text) > LONGEST:
        raise RestrictionSyntaxError(f"A restriction has at most {LONGEST} characters.")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RestrictionSyntaxError(
            f"The restriction {text!r} is no expression; write for example "
            "'threads(blur_y) % 32 == 0'."
        ) from None
    try:
        found = _RestrictionReader(text).expression(tree.body)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RestrictionSyntaxError(f"The restriction {text!r} cannot be read: {error}") from None
    if not found.type.is_bool:
        raise RestrictionSyntaxError(
            f"The restriction {text!r} is a number and no condition; compare it, as in "
            f"'{text.strip()} <= 32'."
        )
    return found


class _RestrictionReader:
    """Reads the nodes of one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def expression(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return as_expr(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](self.expression(left), self.expression(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.expression(operand)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return logical("not", self.expression(operand))
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                parts = map(self.expression, values)
                return reduce(lambda a, b: logical(name, a, b), parts)
            case ast.Compare(left=left, ops=ops, comparators=others):
                if all(type(op) in _COMPARISONS for op in ops):
                    return self._comparisons([left, *others], [_COMPARISONS[type(o)] for o in ops])
        raise ValueError(
            f"{ast.unparse(node)!r} is not part of a restriction; those consist of whole numbers, "
            "features, arithmetic, comparisons, and, or, not, min and max."
        )

    def _comparisons(self, nodes: list[ast.expr], names: list[str]) -> Expr:
        """``a <= b <= c`` is both comparisons."""
        terms = list(map(self.expression, nodes))
        found = [compare(n, a, b) for n, a, b in zip(names, terms, terms[1:], strict=False)]
        return reduce(lambda a, b: logical("and", a, b), found)

    def _name(self, name: str) -> Expr:
        if name in _CONSTANTS:
            return constant(_CONSTANTS[name], Int32)
        used_feature(name)
        return Variable(Int32, name)

    def _call(self, name: str, args: list[ast.expr]) -> Expr:
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(self.expression, args))
        if name not in NAMED_FEATURES:
            known = [*NAMED_FEATURES, *_FUNCTIONS]
            raise ValueError(f"No feature is called {name!r}{suggestion(name, known)}.")
        words = [_word(arg) for arg in args]
        if words[-1:] == ["0"] and NAMED_FEATURES[name].takes[-1:] == ("stage",):
            words.pop()
        written = f"{name}({', '.join(words)})"
        used_feature(written)
        return Variable(Int32, written)


def _word(node: ast.expr) -> str:
    """The name of a Func or loop, or the number of a stage."""
    match node:
        case ast.Name(id=word) | ast.Constant(value=str() as word):
            return word
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return str(number)
    raise ValueError(f"{ast.unparse(node)!r} is no name of a Func or loop.")
