"""Conditions on sizes and parameters: as text, as Halide writes them, and as facts.

>>> read_condition("input.width() >= 64 && gain > 0.5", pipeline)
input.extent.0 >= 64 & gain > 0.5
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import (
    Cast,
    Const,
    Expr,
    ExprLike,
    Op,
    Variable,
    as_expr,
    cast,
    compare,
    constant,
)
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import SCALAR_TYPES, Bool, Int32
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier

_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "and": "&&",
    "or": "||",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_CALLS: dict[str, Callable[..., Expr]] = {
    "min": fn.min,
    "max": fn.max,
    "abs": fn.abs,
    "select": fn.select,
    **{
        name: getattr(fixed, name)
        for name in (
            "absd", "popcount", "count_leading_zeros", "count_trailing_zeros", "halving_add",
            "halving_sub", "rounding_halving_add", "rounding_shift_left", "rounding_shift_right",
            "saturating_add", "saturating_sub", "widening_add", "widening_sub", "widening_mul",
            "widening_shift_left", "widening_shift_right", "mul_shift_right",
            "rounding_mul_shift_right", "is_nan", "is_inf", "is_finite",
        )
    },
}  # fmt: skip
_DIMENSIONS = {"width": 0, "height": 1, "channels": 2}
_OPERATORS: dict[type, Callable[[Expr, Expr], Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_SHIFTS: dict[type, Callable[[Expr, ExprLike], Expr]] = {
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARISONS = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


class ConditionError(ValueError):
    """A text is no condition on sizes and parameters; the message is a sentence."""


def format_condition(condition: Expr) -> str:
    """``condition`` as text that :func:`read_condition` reads; buffers by their names."""
    text = _text(condition)
    return text[1:-1] if text.startswith("(") and isinstance(condition, Op) else text


def _text(expr: Expr) -> str:
    match expr:
        case Const(value=value) if expr.type.is_bool:
            return "true" if value else "false"
        case Const(value=value):
            return str(value)
        case Variable(name=name):
            buffer, part, dimension = (*name.rsplit(".", 2), "", "")[:3]
            return f"{buffer}.dim({dimension}).{part}()" if dimension.isdigit() else name
        case Op(name="not", args=(a,)):
            return f"(!{_text(a)})"
        case Op(name="bit_not", args=(a,)):
            return f"(~{_text(a)})"
        case Op(name=name, args=(a, b)) if name in _SIGNS:
            return f"({_text(a)} {_SIGNS[name]} {_text(b)})"
        case Op(name=name, args=args):
            return f"{name}({', '.join(map(_text, args))})"
        case Cast(type=type, value=value):
            return f"{type}({_text(value)})"
    return str(expr)


def read_condition(text: str, pipeline: Pipeline) -> Expr:
    """The condition that a text says about a pipeline: scalar parameters by name; sizes as
    ``f.dim(0).extent()``, ``f.width()`` or ``f.extent.0``, and likewise ``min`` and ``stride``.

    Raises:
        ConditionError: it is none.
    """
    plain = re.sub(r"\.(min|extent|stride)\.([0-9]+)", r".dim(\2).\1()", text)
    plain = re.sub(r"!(?!=)", " not ", plain.replace("&&", " and ").replace("||", " or "))
    plain = re.sub(r"\b(true|false)\b", lambda m: m[0].capitalize(), plain)
    try:
        tree = ast.parse(plain.strip().replace("\n", " "), mode="eval").body
    except SyntaxError:
        raise ConditionError(f"`{text}` is no condition.") from None
    condition = _Reader(pipeline).expr(tree)
    if not condition.type.is_bool:
        raise ConditionError(f"`{text}` is a number ({condition.type}), no condition.")
    return condition


class _Reader:
    """Expressions of Python's grammar over the sizes and parameters of one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.scalars = {s.name: s.type for s in pipeline.scalars}
        self.buffers = {i.name for i in pipeline.images} | set(pipeline.outputs)

    def expr(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=bool() as value):
                return constant(value, Bool)
            case ast.Constant(value=int() | float() as value):
                return as_expr(value)
            case ast.Name(id=name) if name in self.scalars:
                return Variable(self.scalars[name], name)
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                first, *others = (self.expr(v) for v in values)
                for other in others:
                    first = Op(Bool, name, (first, other))
                return first
            case ast.UnaryOp(op=ast.Not(), operand=a):
                return Op(Bool, "not", (self.expr(a),))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return as_expr(-value)
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return -self.expr(a)
            case ast.UnaryOp(op=ast.Invert(), operand=a):
                return ~self.expr(a)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _SHIFTS:
                return _SHIFTS[type(op)](self.expr(a), self.operand(b))
            case ast.BinOp(left=ast.Constant() as a, op=op, right=b) if type(op) in _OPERATORS:
                other = self.expr(b)
                return _OPERATORS[type(op)](as_expr(self._number(a), other.type), other)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                one = self.expr(a)
                return _OPERATORS[type(op)](one, as_expr(self.operand(b), one.type))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in _COMPARISONS:
                return compare(_COMPARISONS[type(op)], self.operand(a), self.operand(b))
            case ast.Call(func=ast.Name(id=name), args=args) if name in _CALLS:
                return _CALLS[name](*map(self.operand, args))
            case ast.Call(func=ast.Name(id=name), args=[a]) if name in SCALAR_TYPES:
                return cast(SCALAR_TYPES[name], self.expr(a))
            case ast.Call(func=ast.Attribute(value=owner, attr=part), args=[]):
                return self._size(owner, part, node)
        raise self._refusal(node)

    def operand(self, node: ast.expr) -> Expr | int | float:
        """An operand; a number takes the type of the other one."""
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as number):
                return -self._number(number)
        return self.expr(node)

    def _number(self, node: ast.Constant) -> int | float:
        if isinstance(node.value, int | float):
            return node.value
        raise self._refusal(node)

    def _size(self, owner: ast.expr, part: str, node: ast.expr) -> Expr:
        dimension = _DIMENSIONS.get(part)
        if dimension is not None:
            return size_variable(self._buffer(owner, node), "extent", dimension)
        match owner:
            case ast.Call(
                func=ast.Attribute(value=buffer, attr="dim"), args=[ast.Constant(value=int() as d)]
            ) if part in ("min", "extent", "stride"):
                return size_variable(self._buffer(buffer, node), part, d)
        raise self._refusal(node)

    def _buffer(self, node: ast.expr, whole: ast.expr) -> str:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="output_buffer"), args=[]):
                return self._buffer(inner, whole)
            case ast.Name(id=name) | ast.Constant(value=str() as name) if name in self.buffers:
                return name
        raise self._refusal(whole)

    def _refusal(self, node: ast.expr) -> ConditionError:
        known = [*self.scalars, *sorted(self.buffers)]
        return ConditionError(
            f"`{ast.unparse(node)}` is nothing that a condition of specialize can ask for: that "
            f"is sizes, as in {known[-1]}.dim(0).extent() >= 64, and parameters; there are "
            f"{', '.join(known)}."
        )


def plain_condition(condition: ExprLike) -> Expr:
    """A condition written with Params and ImageParams, over their names."""

    def plain(node: Expr) -> Expr:
        return Variable(node.type, node.name) if isinstance(node, Variable) else node

    return rewrite(as_expr(condition), plain)


def negation(condition: Expr) -> Expr:
    """The condition that holds where the given one does not."""
    match condition:
        case Const(value=value):
            return constant(not value, Bool)
        case Op(name="not", args=(a,)):
            return a
        case Op(name=name, args=(a, _)) if name in _NEGATED and not a.type.is_float:
            return Op(Bool, _NEGATED[name], condition.args)
    return Op(Bool, "not", (condition,))


def implied(assumptions: tuple[Expr, ...], condition: Expr) -> Expr:
    """The condition that ``condition`` holds where all ``assumptions`` do."""
    for one in assumptions:
        condition = Op(Bool, "or", (negation(one), condition))
    return condition


def believe(simplify: Simplifier, condition: Expr) -> None:
    """Let a simplifier know that a condition holds, as far as it limits single variables."""
    match condition:
        case Op(name="and", args=(a, b)):
            believe(simplify, a)
            believe(simplify, b)
        case Op(name="eq", args=(a, _)) if a.type == Int32:
            for side in ("le", "ge"):
                believe(simplify, Op(Bool, side, condition.args))
        case Op(name="lt" | "le" | "gt" | "ge" as name, args=(a, b)) if a.type == Int32:
            smaller, larger = (a, b) if name in ("lt", "le") else (b, a)
            _limit(simplify, larger - smaller - (1 if name in ("lt", "gt") else 0))


def _limit(simplify: Simplifier, difference: Expr) -> None:
    """``difference >= 0``, where that is a limit of one variable."""
    if len(difference.names) != 1:
        return
    (name,) = difference.names
    parts = Simplifier().polynomial(difference).split(Variable(Int32, name))
    slope, rest = (None, None) if parts is None else (p.constant for p in parts)
    if slope and rest is not None:
        low, high = simplify.known(name)
        if slope > 0:
            least = Polynomial.of(-(rest // slope)).expr()
            low = least if low is None else simplify(fn.max(low, least))
        else:
            most = Polynomial.of(rest // -slope).expr()
            high = most if high is None else simplify(fn.min(high, most))
        simplify.assume(name, low, high)
        if isinstance(low, Const) and low is high:
            simplify.settle(name, low)
