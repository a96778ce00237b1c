"""Turns the sizes, strides and ranges that a definition gives into promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from spaces.model.algorithm.dimensions import BufferDimensions
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Promise, Strides, size_variable
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant
from spaces.model.expressions.types import Bool

Buffer: TypeAlias = tuple[str, str, int, BufferDimensions]
"""``"image"`` or ``"output"``, the name, the number of dimensions, and their constraints."""


@frozen
class Constraints:
    """The constraints of a whole pipeline.

    Attributes:
        values: the sizes that are constants, by the name of their variable.
        promises: the conditions that every call must meet.
        strides: the strides of each buffer with a given stride.
    """

    values: Mapping[str, Expr]
    promises: tuple[Promise, ...]
    strides: tuple[Strides, ...]

    @staticmethod
    def of(buffers: Sequence[Buffer], params: Sequence[Param]) -> Constraints:
        """The constraints of ``buffers`` and ``params``.

        Raises:
            DefinitionError: two dimensions of a buffer have the same stride.
        """
        values = {
            f"{name}.{part}.{d}": value
            for _, name, _, buffer in buffers
            for d, dimension in buffer.known.items()
            for part, value in dimension.given.items()
            if isinstance(value, Const)
        }
        sizes = (p for buffer in buffers for p in _sizes(buffer))
        ranges = (p for param in params for p in _range(param))
        strides = (_strides(buffer) for buffer in buffers)
        return Constraints(values, (*sizes, *ranges), tuple(s for s in strides if s is not None))


def _limits(variable: Expr, low: Expr | None, high: Expr | None, message: str) -> Iterator[Promise]:
    if low is not None:
        yield Promise(Op(Bool, "ge", (variable, low)), message)
    if high is not None:
        yield Promise(Op(Bool, "le", (variable, high)), message)


def _sizes(buffer: Buffer) -> Iterator[Promise]:
    kind, name, _, dimensions = buffer
    for d, dimension in sorted(dimensions.known.items()):
        for part, value in dimension.given.items():
            what = "begin at" if part == "min" else "have extent"
            text = f"Dimension {d} of {kind} {name} must {what} {value}, as its definition says."
            yield from _limits(size_variable(name, part, d), value, value, text)


def _range(param: Param) -> Iterator[Promise]:
    low, high = param.lowest, param.highest
    if low is None and high is None:
        return
    least, most = (None if v is None else constant(v, param.type) for v in (low, high))
    shown = (
        f"at most {high}" if low is None else f"at least {low}" if high is None else
        f"between {low} and {high}"
    )  # fmt: skip
    text = f"Parameter {param.name} must be {shown}, as its definition says."
    yield from _limits(Variable(param.type, param.name), least, most, text)


def _strides(buffer: Buffer) -> Strides | None:
    _, name, count, dimensions = buffer
    given = {d: k.stride for d, k in dimensions.known.items() if k.stride is not None}
    if not given:
        return None
    steps = tuple(given.get(d, 1 if d == 0 else None) for d in range(count))
    known = [s for s in steps if s is not None]
    if len(set(known)) < len(known):
        raise DefinitionError(
            f"Two dimensions of {name} have the same stride ({', '.join(map(str, steps))}; the "
            "first dimension has 1 by default). Different elements would share an address; give "
            "each dimension its own stride."
        )
    return Strides(name, steps)
