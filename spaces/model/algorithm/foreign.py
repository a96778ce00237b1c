"""Funcs that foreign code computes: C functions or Python callables (Halide's ``define_extern``).

Such a Func is *opaque*: one call computes a whole box of its values. The code takes the arrays that
it reads, scalars, and the array that it fills; how it computes is unknown. What it needs is stated
for one element, as the corners of a box of each input. For a box of elements it needs the smallest
box of the input around those of all elements. So bounds, rules and proofs read it as they read
other definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen
from numpy.typing import NDArray

from spaces.model.algorithm.pipeline import Function
from spaces.model.algorithm.rdom import RVar
from spaces.model.algorithm.reference import Reference, indices_of
from spaces.model.algorithm.var import Var, is_free_var
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.definitions import FOREIGN
from spaces.model.expressions.expr import (
    Call,
    Const,
    Expr,
    ExprLike,
    Op,
    Text,
    Variable,
    as_expr,
    constant,
    walk,
)
from spaces.model.expressions.types import Float64, Int32, Type

if TYPE_CHECKING:
    from spaces.model.algorithm.func import Func
    from spaces.model.algorithm.image_param import ImageParam

Corners: TypeAlias = Sequence[tuple[ExprLike, ExprLike]]
"""For each dimension of an input, innermost first, the first and the last coordinate that one
element needs.
"""

ForeignCallable: TypeAlias = Callable[..., None]

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_callables: dict[str, ForeignCallable] = {}
_lock = Lock()


@frozen(eq=False)
class ForeignArray:
    """An array that foreign code reads or fills.

    Attributes:
        array: a view of the memory, with dimension 0 as its last axis.
        min: the first coordinate of each dimension, innermost first.
    """

    array: NDArray[Any]
    min: tuple[int, ...]

    def box(self, *ranges: tuple[int, int]) -> NDArray[Any]:
        """A view of the elements in ``ranges``, the (first coordinate, extent) of each dimension,
        innermost first.

        Raises:
            IndexError: the array does not hold them.
        """
        slices = []
        for d, ((first, extent), low) in enumerate(zip(ranges, self.min, strict=True)):
            begin, length = first - low, self.array.shape[len(self.min) - 1 - d]
            if begin < 0 or begin + extent > length:
                raise IndexError(
                    f"{first} .. {first + extent - 1} in dimension {d} lies outside of the array, "
                    f"which holds {low} .. {low + length - 1}."
                )
            slices.append(slice(begin, begin + extent))
        return self.array[tuple(reversed(slices))]


@frozen
class ForeignCode:
    """The code that computes a Func.

    Attributes:
        symbol: the name of the C function, or under which a Python callable is known.
        arguments: what it takes, in order: the names of Funcs and images that it reads, and
            scalars, as expressions of Params and sizes.
        cycles: what one element costs, in cycles of one core; None if nothing is stated.
    """

    symbol: str
    arguments: tuple[str | Expr, ...]
    cycles: float | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The Funcs and images that it reads, in the order of its arguments."""
        return tuple(one for one in self.arguments if isinstance(one, str))


def foreign_code(values: Sequence[Expr]) -> ForeignCode | None:
    """The code behind the values of a definition; None if these are expressions."""
    value = values[0] if values else None
    if not isinstance(value, Op) or value.name != FOREIGN:
        return None
    symbol, _, cost, *others = value.args
    assert isinstance(symbol, Text)
    assert isinstance(cost, Const)
    arguments: list[str | Expr] = []
    for one in others:
        if not isinstance(one, Call):
            arguments.append(one)
        elif one.target not in arguments:  # both corners of a box read the same input
            arguments.append(one.target)
    return ForeignCode(symbol.words, tuple(arguments), float(cost.value) or None)


def foreign_values(
    symbol: str,
    types: Sequence[Type],
    arguments: Sequence[tuple[Func | ImageParam, Corners] | Expr],
    cycles: float | None,
) -> tuple[Expr, ...]:
    """The values of an opaque Func: each names the code, says what an element costs, and has the
    arguments: the corners of what it needs of each input, and scalars.

    Raises:
        DefinitionError: the cost is not a positive number.
    """
    given: list[Expr] = []
    for one in arguments:
        if isinstance(one, Expr):
            given.append(one)
            continue
        source, corners = one
        for end in (0, 1):
            at = tuple(as_expr(corner[end]) for corner in corners)
            given.append(_read(source, at))
    name, cost = Text(Int32, symbol), 0.0 if cycles is None else _positive(cycles)
    return tuple(
        Op(type, FOREIGN, (name, constant(number, Int32), constant(cost, Float64), *given))
        for number, type in enumerate(types)
    )


def scalar_argument(value: ExprLike) -> Expr:
    """A scalar that foreign code takes, as an expression.

    Raises:
        DefinitionError: it depends on coordinates or on values of Funcs and images.
        TypeError: it is no expression.
    """
    found = as_expr(value)
    for node in walk(found):
        is_size = isinstance(node, Variable) and "." in node.name
        is_coordinate = isinstance(node, RVar) or (is_free_var(node) and not is_size)
        if is_coordinate or isinstance(node, Call):
            raise DefinitionError(
                f"Foreign code takes the scalar `{found}`, which depends on `{node}`; scalars are "
                "numbers, Params and sizes of images, because one call computes a whole box."
            )
    return found


def different_calls(functions: Iterable[Function]) -> Iterator[str]:
    """Sentences about foreign code that two Funcs give other kinds of arguments. One symbol stands
    for one function in C, which takes as many arrays and scalars of the same types in each call.
    """
    arrays: dict[str, int] = {}
    known: dict[str, tuple[str, list[object]]] = {}
    for function in functions:
        arrays[function.name] = len(function.types)
        code = foreign_code(function.stages[0].values) if function.stages else None
        if code is None:
            continue
        kinds: list[object] = []
        for one in code.arguments:
            kinds += ["array"] * arrays.get(one, 1) if isinstance(one, str) else [one.type]
        kinds += ["array"] * len(function.types)
        first, others = known.setdefault(code.symbol, (function.name, kinds))
        if kinds != others:
            yield (
                f"Funcs {first} and {function.name} call {code.symbol} with arguments of other "
                "numbers or types, and one name stands for one function; give them two names."
            )


def _positive(cycles: object) -> float:
    if isinstance(cycles, bool) or not isinstance(cycles, int | float) or not 0 < cycles < math.inf:
        raise DefinitionError(
            "The cycles that foreign code takes for one element are a positive number, not "
            f"{cycles!r}."
        )
    return float(cycles)


def _read(source: Func | ImageParam, at: tuple[Expr, ...]) -> Expr:
    types = getattr(source, "types", None) or (source.type,)
    component = 0 if len(types) > 1 else None
    return Reference(types[0], source.name, indices_of(source.name, at), component, source)


def symbol_of(code: str | ForeignCallable) -> str:
    """The symbol of foreign code; a Python callable gets one, and is known by it from now on.

    Raises:
        DefinitionError: it is neither the name of a C function nor a callable, or another callable
            has its name.
    """
    if isinstance(code, str):
        if not _SYMBOL.fullmatch(code):
            raise DefinitionError(f"{code!r} is not the name of a C function.")
        return code
    if not callable(code):
        raise DefinitionError(
            f"Foreign code is the name of a C function, or a Python callable, not {code!r}."
        )
    where = f"{getattr(code, '__module__', '')}_{getattr(code, '__qualname__', '')}"
    return know_callable(re.sub(r"\W+", "_", where).strip("_") or "callable", code)


def know_callable(symbol: str, code: ForeignCallable) -> str:
    """Makes a Python callable known by a symbol, and returns the symbol.

    Raises:
        DefinitionError: another callable has this symbol.
    """
    with _lock:
        known = _callables.setdefault(symbol, code)
    if known is not code:
        raise DefinitionError(
            f"Another Python callable is known as {symbol}; give them different names."
        )
    return symbol


def callable_of(symbol: str) -> ForeignCallable | None:
    """The Python callable that is known by a symbol."""
    return _callables.get(symbol)


def same_place(vars: Sequence[Var], dimensions: int, name: str) -> Corners:
    """What foreign code needs of an input if nothing else is said: the element at the same place.

    Raises:
        DefinitionError: the input has another number of dimensions.
    """
    if dimensions != len(vars):
        raise DefinitionError(
            f"Input {name} has {dimensions} dimensions, and the Func has {len(vars)}: say in needs "
            "what one element needs of it."
        )
    return [(var, var) for var in vars]
