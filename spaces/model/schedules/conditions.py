"""Conditions on sizes and parameters: as text, as Halide writes them, and as facts.

>>> read_condition("input.width() >= 64 && gain > 0.5", pipeline)
input.extent.0 >= 64 & gain > 0.5
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.expressions import approximations
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import (
    CONVERSIONS,
    FOREIGN,
    LANGUAGE,
    LIKELY_AT,
    RANDOM,
    REQUIRE,
    UNDEFINED,
)
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
    logical,
    walk,
)
from spaces.model.expressions.operators import INFIX
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import SCALAR_TYPES, Bool, Float32, Int32, Type
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier
from spaces.model.formulas.widths import MOST_BITS, is_too_wide
from spaces.model.suggestions import some_of
from spaces.model.text_limits import LARGEST_CONDITION, MOST_NESTED

_OF_SEVERAL_TYPES = ("lerp", "mux", *CONVERSIONS)
"""Operators whose operands may have unlike types."""

_WITHOUT_TEXT = ("not", "bit_not", FOREIGN, REQUIRE, UNDEFINED, LIKELY_AT, *RANDOM)
"""Operators without a name in texts: some have signs, others stand in no condition."""


def _built(name: str) -> Callable[..., Expr]:
    """The function that users build an operator with."""
    if name == "mux":
        return lambda index, *values: fn.mux(index, values)
    for module in _FUNCTIONS:
        if name in vars(module):
            found: Callable[..., Expr] = vars(module)[name]
            return found
    raise LookupError(
        f"No function builds the operator {name}: define one in functions.py or "
        "integer_functions.py of spaces/model/expressions."
    )


_FUNCTIONS = (fn, fixed, approximations)
_CALLS = {name: _built(name) for name in LANGUAGE if name not in (*INFIX, *_WITHOUT_TEXT)}
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
    """A text is not a condition on sizes and parameters; the message is a sentence."""


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
            return f"(~{_operand_text(a, expr.args)})"
        case Op(name=name, args=(a, b)) if name in _SHIFT_NAMES:
            return f"({_operand_text(a, (a,))} {INFIX[name].cpp_symbol} {_amount_text(a, b)})"
        case Op(name=name, args=(a, b)) if name in INFIX:
            one, other = (_operand_text(x, expr.args) for x in (a, b))
            return f"({one} {INFIX[name].cpp_symbol} {other})"
        case Op(name="select", args=(condition, *values)):
            shown = (_operand_text(v, values) for v in values)
            return f"select({', '.join((_text(condition), *shown))})"
        case Op(name=name, args=(a, b)) if name in _SHIFTING:
            return f"{name}({_operand_text(a, (a,))}, {_amount_text(a, b)})"
        case Op(name=name, args=args):
            to = (str(expr.type),) if name in CONVERSIONS else ()
            is_mixed = name in _OF_SEVERAL_TYPES or len({a.type for a in args}) > 1
            shown = (_typed(a) if is_mixed else _operand_text(a, args) for a in args)
            return f"{name}({', '.join((*to, *shown))})"
        case Cast(type=type, value=value):
            return f"{type}({_operand_text(value, (value,))})"
    return str(expr)


_SHIFT_NAMES = ("shift_left", "shift_right")
_SHIFTING = tuple(f"{how}_{name}" for how in ("rounding", "widening") for name in _SHIFT_NAMES)


def _amount_text(shifted: Expr, by: Expr) -> str:
    return _text(by) if by.type == _amount_type(shifted) else _typed(by)


def _amount_type(shifted: Expr) -> Type:
    """The type of a number by which something is shifted."""
    return Type("uint", shifted.type.bits)


def _operand_text(operand: Expr, operands: Sequence[Expr]) -> str:
    """An operand beside others. A number alone, or beside numbers only, has the type of a literal
    unless its own type differs.
    """
    alone = all(isinstance(o, Const) for o in operands)
    return _typed(operand) if alone and operand.type not in (Int32, Float32) else _text(operand)


def _typed(expr: Expr) -> str:
    is_number = isinstance(expr, Const) and not expr.type.is_bool
    return f"{expr.type}({_text(expr)})" if is_number else _text(expr)


def read_condition(text: str, pipeline: Pipeline) -> Expr:
    """Reads a condition on a pipeline's scalar parameters, by name, and on its sizes, written
    ``f.dim(0).extent()``, ``f.width()`` or ``f.extent.0``, and likewise ``min`` and ``stride``.

    Raises:
        ConditionError: the text is not a condition.
    """
    _check_brackets(text)
    plain = re.sub(r"\.(min|extent|stride)\.([0-9]+)", r".dim(\2).\1()", text)
    plain = re.sub(r"!(?!=)", " not ", plain.replace("&&", " and ").replace("||", " or "))
    plain = re.sub(r"\b(true|false)\b", lambda m: m[0].capitalize(), plain)
    try:
        tree = ast.parse(plain.strip().replace("\n", " "), mode="eval").body
    except (RecursionError, MemoryError):
        raise _too_deep() from None
    except (SyntaxError, ValueError):
        raise ConditionError(f"`{_shortened(text)}` is no condition.") from None
    _check_tree(tree)
    try:
        condition = _ConditionReader(pipeline).expr(tree)
    except (TypeError, OverflowError) as error:
        raise ConditionError(str(error)) from None
    if not condition.type.is_bool:
        raise ConditionError(f"`{_shortened(text)}` is a number ({condition.type}), no condition.")
    check_size(condition)
    return condition


def _too_deep() -> ConditionError:
    return ConditionError(
        f"The operators and brackets of this condition are nested more than {MOST_NESTED} deep; "
        "write it with fewer, or as a parameter of the pipeline."
    )


def _too_large() -> ConditionError:
    return ConditionError(
        f"This condition has more than {LARGEST_CONDITION} names, numbers and operators; write it "
        "with fewer, or as a parameter of the pipeline."
    )


def _check_brackets(text: str) -> None:
    """Refuse brackets that are nested too deep. The tree does not show redundant brackets, so the
    text is counted.
    """
    depth = 0
    for bracket in re.findall(r"[()]", text):
        depth += 1 if bracket == "(" else -1
        if depth > MOST_NESTED:
            raise _too_deep()


def _check_tree(tree: ast.expr) -> None:
    """Refuse a condition that is nested too deep or too large to be read."""
    level: list[ast.AST] = [tree]
    depth = count = 0
    while level:
        depth, count = depth + 1, count + sum(isinstance(node, ast.expr) for node in level)
        if depth > 2 * MOST_NESTED:  # f.dim(0).extent() is four nodes deep, and one name
            raise _too_deep()
        if count > 4 * LARGEST_CONDITION:
            raise _too_large()
        level = [child for node in level for child in ast.iter_child_nodes(node)]


@lru_cache(maxsize=1024)
def check_size(condition: Expr) -> None:
    """Refuse a condition that cannot be written as text, or that needs too long integers.

    Raises:
        ConditionError: it is nested too deep, or too large where shared parts are written out; or
            its numbers may have more than ``MOST_BITS`` bits.
    """
    depth: dict[Expr, int] = {}
    count: dict[Expr, int] = {}
    for node in walk(condition):
        depth[node] = 1 + max((depth[c] for c in node.children), default=0)
        count[node] = 1 + sum(count[c] for c in node.children)
        if depth[node] > MOST_NESTED:
            raise _too_deep()
        if count[node] > LARGEST_CONDITION:
            raise _too_large()
    if is_too_wide(condition):
        raise ConditionError(
            f"This condition multiplies to numbers of more than {MOST_BITS} bits; write it with "
            "fewer factors, or as a parameter of the pipeline."
        )


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


class _ConditionReader:
    """Expressions of Python's grammar over the sizes and parameters of one pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.scalars = {s.name: s.type for s in pipeline.scalars}
        self.buffers = {i.name for i in pipeline.images} | set(pipeline.outputs)

    def expr(self, node: ast.expr) -> Expr:
        number = self.literal(node)
        if number is not None:
            return as_expr(number)
        match node:
            case ast.Constant(value=bool() as value):
                return constant(value, Bool)
            case ast.Name(id=name) if name in self.scalars:
                return Variable(self.scalars[name], name)
            case ast.BoolOp(op=op, values=values):
                name = "and" if isinstance(op, ast.And) else "or"
                first, *others = (self.expr(v) for v in values)
                for other in others:
                    first = logical(name, first, other)
                return first
            case ast.UnaryOp(op=ast.Not(), operand=a):
                return logical("not", self.expr(a))
            case ast.UnaryOp(op=ast.USub(), operand=a):
                return -self.expr(a)
            case ast.UnaryOp(op=ast.Invert(), operand=a):
                return ~self.expr(a)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _SHIFTS:
                return _SHIFTS[type(op)](self.expr(a), self.operand(b))
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                sides = self.operand(a), self.operand(b)
                kind = next((side.type for side in sides if isinstance(side, Expr)), None)
                return _OPERATORS[type(op)](*(as_expr(side, kind) for side in sides))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in _COMPARISONS:
                return compare(_COMPARISONS[type(op)], self.operand(a), self.operand(b))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                return self._call(name, args)
            case ast.Call(func=ast.Name(id=name), args=[a], keywords=[]) if name in SCALAR_TYPES:
                return self._cast(SCALAR_TYPES[name], a)
            case ast.Call(func=ast.Attribute(value=owner, attr=part), args=[], keywords=[]):
                return self._size(owner, part, node)
        raise self._refusal(node)

    def operand(self, node: ast.expr) -> Expr | int | float:
        """An operand; a number takes the type of the other operand."""
        number = self.literal(node)
        return self.expr(node) if number is None else number

    def literal(self, node: ast.expr) -> int | float | None:
        """The number or truth value that a node is, with its sign; None for any other node."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=a):
                number = self.literal(a)
                return None if number is None or isinstance(number, bool) else -number
            case ast.Constant(value=float() as value) if math.isinf(value):
                raise ConditionError("A number in this condition is larger than any float64.")
            case ast.Constant(value=int() | float() as value):
                return value
            case ast.Name(id="inf" | "nan" as name) if name not in self.scalars:
                return float(name)
        return None

    def _call(self, name: str, args: Sequence[ast.expr]) -> Expr:
        signature = inspect.signature(_CALLS[name])
        values: list[ExprLike | Type] = []
        for place, arg in enumerate(args):
            match arg:
                case ast.Name(id=to) if name in CONVERSIONS and place == 0 and to in SCALAR_TYPES:
                    values.append(SCALAR_TYPES[to])
                case _:
                    values.append(self.operand(arg))
        try:
            signature.bind(*values)
        except TypeError:
            wanted = ", ".join(signature.parameters)
            message = f"{name} is given {len(args)} operands here; it takes ({wanted})."
            raise ConditionError(message) from None
        return _CALLS[name](*values)

    def _cast(self, type: Type, value: ast.expr) -> Expr:
        number = self.literal(value)
        if isinstance(number, float) and type.is_float:
            return as_expr(number, type)
        return cast(type, self.expr(value) if number is None else number)

    def _size(self, owner: ast.expr, part: str, node: ast.expr) -> Expr:
        dimension = _DIMENSIONS.get(part)
        if dimension is not None:
            return size_variable(self._buffer(owner, node), "extent", dimension)
        match owner:
            case ast.Call(
                func=ast.Attribute(value=buffer, attr="dim"), args=[ast.Constant(value=int() as d)]
            ) if part in ("min", "extent", "stride") and not isinstance(d, bool):
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
            f"`{_shortened(ast.unparse(node))}` is nothing that a condition of specialize can ask "
            f"for: that is sizes, as in {known[-1]}.dim(0).extent() >= 64, and parameters; there "
            f"are {some_of(known)}."
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


def assume(simplify: Simplifier, condition: Expr) -> None:
    """Tell a simplifier the limits that a condition sets to single variables."""
    match condition:
        case Op(name="and", args=(a, b)):
            assume(simplify, a)
            assume(simplify, b)
        case Op(name="eq", args=(a, _)) if a.type == Int32:
            for side in ("le", "ge"):
                assume(simplify, Op(Bool, side, condition.args))
        case Op(name="lt" | "le" | "gt" | "ge" as name, args=(a, b)) if a.type == Int32:
            smaller, larger = (a, b) if name in ("lt", "le") else (b, a)
            _limit(simplify, larger - smaller - (1 if name in ("lt", "gt") else 0))


@lru_cache(maxsize=1024)
def tells_limits(condition: Expr) -> bool:
    """Whether :func:`assume` learns anything from a condition or from its opposite."""
    for one in (condition, negation(condition)):
        simplify = Simplifier()
        assume(simplify, one)
        if any(simplify.known(name) != (None, None) for name in condition.names):
            return True
    return False


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
            simplify.fix_value(name, low)
