"""Funcs that foreign code computes: C functions or Python callables (Halide's ``define_extern``).

Such a Func is *opaque*: one call computes a whole box of its values. The code takes the arrays that
it reads and the array that it fills; how it computes is unknown. What it needs is stated for one
element, as the corners of a box of each input. For a box of elements it needs the smallest box of
the input around those of all elements. So bounds, rules and proofs read it as they read other
definitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen
from numpy.typing import NDArray

from spaces.model.algorithm.reference import Reference, indices_of
from spaces.model.algorithm.var import Var
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.definitions import FOREIGN
from spaces.model.expressions.expr import Call, Const, Expr, ExprLike, Op, Text, as_expr, constant
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
        inputs: the Funcs and images that it reads, in the order of its arguments.
        cycles: what one element costs, in cycles of one core; None if nothing is stated.
    """

    symbol: str
    inputs: tuple[str, ...]
    cycles: float | None = None


def foreign_code(values: Sequence[Expr]) -> ForeignCode | None:
    """The code behind the values of a definition; None if these are expressions."""
    value = values[0] if values else None
    if not isinstance(value, Op) or value.name != FOREIGN:
        return None
    symbol, _, *others = value.args
    assert isinstance(symbol, Text)
    names = dict.fromkeys(read.target for read in others if isinstance(read, Call))
    stated = (float(cost.value) for cost in others if isinstance(cost, Const))
    return ForeignCode(symbol.words, tuple(names), next(stated, None))


def foreign_values(
    symbol: str,
    types: Sequence[Type],
    needs: Sequence[tuple[Func | ImageParam, Corners]],
    cycles: float | None,
) -> tuple[Expr, ...]:
    """The values of an opaque Func: each names the code, says what an element costs if that is
    stated, and reads the corners of what it needs.

    Raises:
        DefinitionError: the cost is not a positive number.
    """
    reads: list[Expr] = []
    for source, corners in needs:
        for end in (0, 1):
            at = tuple(as_expr(corner[end]) for corner in corners)
            reads.append(_read(source, at))
    name = Text(Int32, symbol)
    cost = () if cycles is None else (constant(_positive(cycles), Float64),)
    return tuple(
        Op(type, FOREIGN, (name, constant(number, Int32), *cost, *reads))
        for number, type in enumerate(types)
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
