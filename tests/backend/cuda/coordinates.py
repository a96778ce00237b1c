"""Random arithmetic on sizes, places and loops, and values for it at which int may wrap."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from spaces import Expr, Float32, Int32, LoopKind
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.statements import For, If, Statement, Store
from spaces.backend.ir.vectors import Load
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Op, Variable, constant
from spaces.model.formulas.algebra import INTEGERS, Reading, read

SIZES = tuple(Variable(Int32, f"f.{part}.0") for part in ("min", "extent", "stride"))
LOOP = Variable(Int32, "f.s0.x")
MOVING = (BLOCK[0], THREAD[0], LOOP)
ONE = constant(1, Int32)
THREADS, ITERATIONS = 64, 9


def arithmetic(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Expr]:
    """Expressions of int over sizes, places, a loop and some numbers."""
    constants = numbers.map(lambda value: constant(value, Int32))
    return st.recursive(
        st.one_of(st.sampled_from((*SIZES, *MOVING)), constants),
        lambda inner: st.builds(
            lambda combine, a, b: combine(a, b),
            st.sampled_from(
                [
                    *(partial(_op, name) for name in ("add", "sub", "mul", "div", "mod")),
                    fn.min,
                    fn.max,
                    lambda a, b: fn.select(a < b, b, a),
                ]
            ),
            inner,
            inner,
        ),
        max_leaves=12,
    )


def _op(name: str, a: Expr, b: Expr) -> Expr:
    """An operator as it is, without the simplifications of expressions that users write."""
    return Op(Int32, name, (a, b))


near = st.integers(-9, 9)
"""Numbers with which sums stay small."""

far = st.one_of(near, st.sampled_from([-(2**31), -(2**30), 2**29, 2**30, 2**31 - 1]))
"""Numbers with which sums may wrap."""


@st.composite
def launches(draw: st.DrawFn) -> dict[str, int]:
    """Values that the variables may have in a launch of :func:`kernel`."""
    ends = st.one_of(st.integers(-20, 20), st.sampled_from([-(2**30), 2**30 - 1, 2**30]))
    low, end = sorted((draw(ends), draw(ends)))
    extent = min(end - low, 2**30)
    blocks = -(-extent // THREADS)
    return {
        SIZES[0].name: low,
        SIZES[1].name: extent,
        SIZES[2].name: draw(st.one_of(st.integers(0, 99), st.just(2**31 - 1))),
        BLOCK[0].name: draw(st.sampled_from([0, max(blocks // 2, 0), max(blocks - 1, 0)])),
        THREAD[0].name: draw(st.integers(0, THREADS - 1)),
        LOOP.name: draw(st.integers(0, ITERATIONS - 1)),
    }


def kernel(body: Statement) -> DeviceFunction:
    """A kernel of a loop around ``body``, with threads along the first dimension."""
    grid = ((SIZES[1] + (THREADS - 1)) / THREADS, ONE, ONE)
    loop = For(LOOP, constant(0, Int32), constant(ITERATIONS, Int32), LoopKind.SERIAL, body)
    return DeviceFunction("kernel", grid, (THREADS, 1, 1), (), loop)


def accessing(index: Expr, condition: Expr) -> Statement:
    """Tests, reads and writes at coordinates."""
    return If(condition, Store("f", index, Load(Float32, "image", index) + 1.0))


STEPWISE = Reading(
    literal=int,
    convert=lambda type, value: type.wrap(value),
    operators={
        name: lambda *operands, apply=apply: Int32.wrap(int(apply(*operands)))
        for name, apply in INTEGERS.operators.items()
    },
)


def wrapped(expr: Expr, values: dict[str, int]) -> int:
    """The value of an expression in int, where each step wraps."""
    return read(expr, values, STEPWISE)
