"""Expressions: the one small language of algorithms, loop bounds, formulas and rules.

Every node is immutable and *interned*: building the same expression twice gives the same object. So
equality of structure is identity, shared subexpressions stay shared, and a visitor may memoize on
the node. ``a == b`` builds a comparison, as in Halide; the truth value of that comparison in Python
(as needed by sets, dicts and record equality) is whether the two are the same expression.
"""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen

from spaces.model.deadline import ask_clock
from spaces.model.expressions.interning import Interned
from spaces.model.expressions.numbers import NumberError, number_in, rounded, shown_number
from spaces.model.expressions.operators import literal, operation, symbol
from spaces.model.expressions.shared_text import ATOM, Shown, shared_text
from spaces.model.expressions.types import Bool, Float32, Float64, Int32, Type, promote, type_of


class Arithmetic:
    """Halide's operators, for every object that :func:`as_expr` accepts as an expression."""

    __slots__ = ()

    def as_expr(self) -> Expr:
        """The expression that this object stands for."""
        raise TypeError(f"{self!r} is not an expression.")

    def components(self) -> tuple[Expr, ...]:
        """The values of the Tuple that this object stands for; empty for a single value."""
        return ()

    def __add__(self, other: ExprLike) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return floor_divide(other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("mod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("mod", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return power(self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return power(other, self)

    def __neg__(self) -> Expr:
        return binary("sub", 0, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return compare("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return compare("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return compare("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return compare("ge", self, other)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic | int | float | np.integer | np.floating):
            return NotImplemented
        return compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, Arithmetic | int | float | np.integer | np.floating):
            return NotImplemented
        return compare("ne", self, other)

    def __and__(self, other: ExprLike) -> Expr:
        return bitwise("and", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return bitwise("and", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return bitwise("or", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return bitwise("or", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return bitwise("xor", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return bitwise("xor", other, self)

    def __invert__(self) -> Expr:
        return complement(self)

    def __lshift__(self, amount: ExprLike) -> Expr:
        return shift("shift_left", self, amount)

    def __rlshift__(self, value: ExprLike) -> Expr:
        return shift("shift_left", value, self)

    def __rshift__(self, amount: ExprLike) -> Expr:
        return shift("shift_right", self, amount)

    def __rrshift__(self, value: ExprLike) -> Expr:
        return shift("shift_right", value, self)


ExprLike: TypeAlias = Arithmetic | int | float | bool | np.integer[Any] | np.floating[Any]
"""What may stand where an expression is wanted: an expression, a value of a Func (``f[x]``), a
Param, an RDom of one dimension, or a number of Python or NumPy.
"""


@frozen(eq=False, slots=True, repr=False)
class Expr(Arithmetic, metaclass=Interned):
    """A typed expression; arithmetic on it follows Halide's promotion and wrapping rules."""

    type: Type
    children: tuple[Expr, ...] = field(init=False)
    """The direct subexpressions, in order."""
    digest: int = field(init=False)
    """A hash of the structure alone, equal in every run; it gives sums a stable order."""
    names: frozenset[str] = field(init=False)
    """Names of the variables in the expression."""
    loads: bool = field(init=False)
    """Whether the expression reads a Func or an image."""
    has_floats: bool = field(init=False)
    """Whether a subexpression is a float."""

    @staticmethod
    def _identity(fields: tuple[Any, ...]) -> tuple[Any, ...]:
        """The key of a node: two calls with equal keys give the same node."""
        return fields

    def _free_names(self) -> frozenset[str]:
        names: frozenset[str] = frozenset()
        for child in self.children:
            if child.names is not names and child.names:
                names = names | child.names if names else child.names
        return names

    def _loads(self) -> bool:
        return True in [child.loads for child in self.children]

    def _has_floats(self) -> bool:
        return self.type.is_float or True in [child.has_floats for child in self.children]

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def _children(self) -> tuple[Expr, ...]:
        return ()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        """The same node over other subexpressions (of the same types)."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A table, not a tree: pickle would visit operands by recursion.
        numbers: dict[Expr, _NodeNumber] = {}
        table = []
        for node in walk(self):
            table.append((type(node), tuple(_numbered(f, numbers) for f in node._fields())))
            numbers[node] = _NodeNumber(len(numbers))
        return _from_table, (tuple(table),)

    def written(self, children: tuple[str, ...]) -> str:
        """The text of a node outside the language, made of the texts of its children."""
        return f"{type(self).__name__}({', '.join(children)})"

    def as_expr(self) -> Expr:
        """The expression itself."""
        return self

    __hash__ = object.__hash__

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __bool__(self) -> bool:
        raise TypeError(
            f"`{self}` has no truth value while the pipeline is being built; "
            "use select(condition, a, b), and & | ~ in place of and, or, not."
        )

    def __str__(self) -> str:
        return shared_text(tuple(walk(self)), _written)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@frozen(eq=False, slots=True, repr=False)
class Const(Expr):
    """A literal of any type; integers are stored wrapped, floats rounded to their type."""

    value: int | float = field()

    @staticmethod
    def _identity(fields: tuple[Any, ...]) -> tuple[Any, ...]:
        # Python calls 0.0 and -0.0 equal, and 1, 1.0 and True, but they are different literals.
        type, value = fields
        return (type, float(value).hex() if type.is_float else int(value))

    def __bool__(self) -> bool:
        if self.type.is_bool:
            return bool(self.value)
        return Expr.__bool__(self)


@frozen(eq=False, slots=True, repr=False)
class Variable(Expr):
    """A named scalar: a coordinate, a loop variable, a size or a parameter."""

    name: str = field()

    def _free_names(self) -> frozenset[str]:
        return frozenset((self.name,))


@frozen(eq=False, slots=True, repr=False)
class Op(Expr):
    """An operator of :data:`spaces.model.expressions.signatures.OPERATORS` applied to operands."""

    name: str = field()
    args: tuple[Expr, ...] = field()

    def _children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Op(self.type, self.name, children)

    def __bool__(self) -> bool:
        if self.name == "eq":
            return self.args[0] is self.args[1]
        if self.name == "ne":
            return self.args[0] is not self.args[1]
        return Expr.__bool__(self)


@frozen(eq=False, slots=True, repr=False)
class Cast(Expr):
    """Conversion to ``type``: integers wrap (a boolean is an integer of one bit), floats truncate
    toward zero.
    """

    value: Expr = field()

    def _children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Cast(self.type, children[0])


@frozen(eq=False, slots=True, repr=False)
class Call(Expr):
    """The value of a Func or an input image, by name, at integer coordinates.

    ``component`` is the number of the value in a Tuple; None for a Func with a single value.
    """

    target: str = field()
    args: tuple[Expr, ...] = field()
    component: int | None = field(default=None)

    @staticmethod
    def _identity(fields: tuple[Any, ...]) -> tuple[Any, ...]:
        # The component may be left out.
        return fields[:3] if fields[3:] == (None,) else fields

    @property
    def buffer(self) -> str:
        """The name of the buffer that the call reads: ``f.1`` for component 1 of a Tuple."""
        return component_name(self.target, self.component)

    def _children(self) -> tuple[Expr, ...]:
        return self.args

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Call(self.type, self.target, children, self.component)

    def _loads(self) -> bool:
        return True


def component_name(func: str, component: int | None) -> str:
    """The name of one value of a Func, and of the array that holds it (Halide's names)."""
    return func if component is None else f"{func}.{component}"


def component_names(func: str, count: int) -> tuple[str, ...]:
    """The names of all ``count`` values of a Func; a single value has the name of the Func."""
    return tuple(component_name(func, c) for c in range(count)) if count > 1 else (func,)


@frozen(eq=False, slots=True, repr=False)
class Text(Expr):
    """Words for people: an operand without a value, for the message of ``require``."""

    words: str = field()


class _NodeNumber(int):
    """The number of a node in a table of nodes."""


def _numbered(value: Any, numbers: dict[Expr, _NodeNumber]) -> Any:
    """A field of a node with numbers in place of operands."""
    if isinstance(value, Expr):
        return numbers.get(value, value)
    if isinstance(value, tuple):
        return tuple(_numbered(item, numbers) for item in value)
    return value


def _from_table(table: tuple[tuple[type[Expr], tuple[Any, ...]], ...]) -> Expr:
    """The last expression of a table of nodes, in which operands precede their users."""
    nodes: list[Expr] = []

    def field(value: Any) -> Any:
        if isinstance(value, _NodeNumber):
            return nodes[value]
        return tuple(map(field, value)) if isinstance(value, tuple) else value

    for kind, fields in table:
        nodes.append(kind(*map(field, fields)))
    return nodes[-1]


def _written(node: Expr, parts: list[Shown]) -> Shown:
    """Infix text with the fewest parentheses, made of the texts of the operands."""
    texts = [text for text, _ in parts]
    match node:
        case Const(value=value):
            if node.type.is_bool:
                return "true" if value else "false", ATOM
            return literal(value)
        case Variable(name=name):
            return name, ATOM
        case Text(words=words):
            return json.dumps(words), ATOM
        case Cast(type=to):
            return f"{to}({texts[0]})", ATOM
        case Call(target=name, component=component):
            index = "" if component is None else f"[{component}]"
            return f"{name}({', '.join(texts)}){index}", ATOM
        case Op(name=name):
            return operation(name, parts)
        case _:
            return node.written(tuple(texts)), ATOM


def constant(value: int | float, type: Type) -> Const:
    """The literal ``value`` in ``type``: integers wrap, floats round."""
    if type.is_float:
        return Const(type, rounded(value, type))
    return _integer(int(value), type)


@lru_cache(maxsize=4096)
def _integer(value: int, type: Type) -> Const:
    return Const(type, type.wrap(value))


def as_expr(value: ExprLike, like: Type | None = None) -> Expr:
    """``value`` as an expression. Numbers of Python and NumPy take the type ``like`` if it can hold
    them.

    Raises:
        TypeError: ``value`` is neither an expression nor a number.
        OverflowError: a literal does not fit the type it meets, or a finite float rounds to
            infinity in that type.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, Arithmetic):
        return value.as_expr()
    if isinstance(value, bool | np.bool_):
        return constant(bool(value), Bool)
    if isinstance(value, int):
        target = Int32 if like is None else like
        if not target.holds(value):
            raise _does_not_fit(value, target)
        return constant(value, target)
    if isinstance(value, float):
        return _literal(value, like if like is not None and like.is_float else Float32)
    if isinstance(value, np.integer):
        return as_expr(int(value), like)
    if isinstance(value, np.floating):
        return as_expr(float(value), like)
    raise TypeError(f"{value!r} of type {type(value).__name__} is not an expression or a number.")


def _literal(value: int | float, type: Type) -> Const:
    """A literal of a floating-point type."""
    try:
        return Const(type, number_in(type, value))
    except NumberError:
        raise _does_not_fit(value, type) from None


def _long_literal(value: int | float, type: Type) -> Const:
    """A literal beyond int32 or float32, converted to ``type``; whole numbers wrap."""
    if isinstance(value, float) and not type.is_float:
        raise _does_not_fit(value, Float32)
    return _literal(value, type) if type.is_float else constant(value, type)


def _is_long(value: int | float) -> bool:
    """Whether a literal is beyond its default type, int32 or float32."""
    if isinstance(value, int):
        return not Int32.holds(value)
    return math.isfinite(value) and math.isinf(rounded(value, Float32))


def _does_not_fit(value: int | float, type: Type) -> OverflowError:
    return OverflowError(
        f"The literal {shown_number(value)} does not fit {type}, the type it is combined with; "
        "cast one side to a wider type first."
    )


def match(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both operands in their common type (Halide's ``match_types``)."""
    if isinstance(a, Expr):
        if isinstance(b, Expr) and a.type is b.type:
            return a, b
        if type(b) is int and a.type.lanes == 1 and a.type.holds(b):  # most literals: no cast
            return a, constant(b, a.type)
    left = as_expr(a, getattr(b, "type", None))
    right = as_expr(b, getattr(a, "type", None))
    common = promote(left.type, right.type)
    return cast(common, left), cast(common, right)


def binary(name: str, a: ExprLike, b: ExprLike) -> Expr:
    """An arithmetic operator over matched operands.

    Raises:
        TypeError: the operands are conditions (Halide calculates with them modulo 2).
    """
    left, right = match(a, b)
    if left.type.is_bool and name not in ("min", "max"):
        raise TypeError(f"`{left}` and `{right}` are conditions; cast them to a number first.")
    return Op(left.type, name, (left, right))


def floor_divide(a: ExprLike, b: ExprLike) -> Expr:
    """``a / b`` rounded down; ``div`` of integers already rounds so."""
    quotient = binary("div", a, b)
    return Op(quotient.type, "floor", (quotient,)) if quotient.type.is_float else quotient


def compare(name: str, a: ExprLike, b: ExprLike) -> Expr:
    """A comparison over matched operands, of type Bool."""
    left, right = match(a, b)
    if left is right and a is not b:
        # Promotion made different expressions alike; they must not test as the same expression.
        right = Cast(right.type, right)
    return Op(Bool, name, (left, right))


def logical(name: str, *operands: ExprLike) -> Expr:
    """``and``, ``or``, ``not`` over Bool operands.

    Raises:
        TypeError: an operand is not a condition.
    """
    args = tuple(as_expr(o) for o in operands)
    for arg in args:
        if not arg.type.is_bool:
            raise TypeError(f"`{arg}` is {arg.type}, but `{name}` combines conditions only.")
    return Op(Bool, name, args)


def bitwise(name: str, a: ExprLike, b: ExprLike) -> Expr:
    """``and``, ``or``, ``xor`` of the bits of two integers of one signedness, in the wider type;
    two conditions give a condition.

    Raises:
        TypeError: an operand is a float, or one is signed and the other is not.
        OverflowError: an integer literal does not fit the type of the other operand.
    """
    left, right = as_expr(a, getattr(b, "type", None)), as_expr(b, getattr(a, "type", None))
    if left.type.is_bool and right.type.is_bool:
        return Op(Bool, "ne", (left, right)) if name == "xor" else logical(name, left, right)
    for operand in (left, right):
        if operand.type.is_float or operand.type.is_bool:
            raise TypeError(
                f"`{operand}` is {operand.type}, but `{symbol('bit_' + name)}` combines two "
                "integers or two conditions."
            )
    if left.type.code != right.type.code:
        raise TypeError(
            f"`{left}` is {left.type} and `{right}` is {right.type}; "
            f"`{symbol('bit_' + name)}` needs both signed or both unsigned, so cast one."
        )
    common = promote(left.type, right.type)
    return Op(common, f"bit_{name}", (cast(common, left), cast(common, right)))


def complement(value: ExprLike) -> Expr:
    """An integer with every bit inverted; the opposite of a condition.

    Raises:
        TypeError: ``value`` is a float.
    """
    operand = as_expr(value)
    if operand.type.is_float:
        raise TypeError(f"`{operand}` is {operand.type}, but `~` is for integers and conditions.")
    return (
        logical("not", operand) if operand.type.is_bool else Op(operand.type, "bit_not", (operand,))
    )


def shift(name: str, value: ExprLike, amount: ExprLike) -> Expr:
    """``shift_left`` or ``shift_right``, in the type of ``value``, at least as wide as ``amount``.

    Raises:
        TypeError: an operand is not an integer.
        OverflowError: a literal ``amount`` does not fit the unsigned type as wide as ``value``.
    """
    shifted = as_expr(value)
    if isinstance(amount, int | np.integer) and not isinstance(amount, bool):
        if amount < 0:
            name = "shift_right" if name == "shift_left" else "shift_left"
        unsigned = Type("uint", shifted.type.bits)
        if not unsigned.holds(abs(int(amount))):
            raise _does_not_fit(int(amount), unsigned)
        by: Expr = constant(abs(int(amount)), unsigned)
    else:
        by = as_expr(amount)
    for operand in (shifted, by):
        if operand.type.is_float or operand.type.is_bool:
            raise TypeError(f"`{operand}` is {operand.type}, but only integers are shifted.")
    return Op(wider(shifted, by).type, name, (wider(shifted, by), wider(by, shifted)))


def elementary(name: str, *values: ExprLike) -> Expr:
    """A function of floats, in float64 if an operand is float64, else in float32."""
    args = [as_expr(v) for v in values]
    result = Float64 if any(a.type == Float64 for a in args) else Float32
    return Op(result, name, tuple(cast(result, a) for a in args))


def power(x: ExprLike, y: ExprLike) -> Expr:
    """``x`` raised to ``y``. A signed integer constant ``y`` becomes a product in the type of
    ``x``, as in Halide.
    """
    exponent = as_expr(y)
    if isinstance(exponent, Const) and exponent.type.is_int:
        return _integer_power(as_expr(x), int(exponent.value))
    return elementary("pow", x, y)


def _integer_power(base: Expr, exponent: int) -> Expr:
    """``base ** exponent`` by repeated squaring, in the order of Halide's multiplications."""
    if exponent <= 0:
        one = cast(base.type, constant(1, Int32))
        return one if exponent == 0 else one / _integer_power(base, -exponent)
    if exponent == 1:
        return base
    half = _integer_power(base, exponent >> 1)
    return half * half * base if exponent & 1 else half * half


def wider(value: Expr, other: Expr) -> Expr:
    """``value`` in a type at least as wide as that of ``other``; its signedness stays."""
    return cast(Type(value.type.code, max(value.type.bits, other.type.bits)), value)


def cast(to: Type | str, value: ExprLike) -> Expr:
    """``value`` converted to the element type ``to``; a ``value`` of that type stays as it is. A
    number of Python or NumPy keeps its value in float64, as with Halide's ``f64``: it is no float32
    in between.

    Raises:
        OverflowError: a literal is too large for a float ``to``.
    """
    target = type_of(to)
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, float) and target == Float64:
        return _literal(value, target)
    if isinstance(value, int | float) and _is_long(value):
        return _long_literal(value, target)
    expr = as_expr(value)
    if expr.type == target:
        return expr
    if isinstance(expr, Const):
        if target.is_float:
            return constant(expr.value, target)
        if not expr.type.is_float:
            return constant(expr.value, target)
    return Cast(target, expr)


_NODES_A_LOOK = 128
"""A walk asks the clock once for this many nodes."""


def walk(*roots: Expr, known: Container[Expr] = ()) -> Iterator[Expr]:
    """Yields every distinct node of ``roots``, children before parents. It leaves out the nodes in
    ``known`` and everything below them.

    Raises:
        OutOfTime: a deadline around the walk is past.
    """
    seen: set[Expr] = set()
    stack: list[Expr | None] = list(reversed(roots))
    parents: list[Expr] = []
    while stack:
        node = stack.pop()
        if node is None:  # all children of the last parent are out
            yield parents.pop()
        elif node not in seen and node not in known:
            if not len(seen) % _NODES_A_LOOK:
                ask_clock()
            seen.add(node)
            children = node.children
            if children:
                parents.append(node)
                stack.append(None)
                stack.extend(reversed(children))
            else:
                yield node
