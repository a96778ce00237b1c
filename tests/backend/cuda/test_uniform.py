"""What the host computes for kernels: the same values, and no arithmetic on sizes is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.cuda.uniform import with_block_numbers, with_host_numbers
from backend.ir.host import BLOCK, THREAD, DeviceFunction
from backend.ir.node import walk_nodes
from backend.ir.statements import For, If, Store
from backend.ir.vectors import Load
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, Variable, cast, constant, walk
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.schedules.domain_order import LoopKind

SIZES = tuple(Variable(Int32, f"f.{part}.0") for part in ("min", "extent", "stride"))
LOOP = Variable(Int32, "f.s0.x")
MOVING = (BLOCK[0], THREAD[0], LOOP)
ONE = constant(1, Int32)

numbers = st.integers(-9, 9).map(lambda value: constant(value, Int32))
leaves = st.one_of(st.sampled_from((*SIZES, *MOVING)), numbers)
coordinates = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda combine, a, b: combine(a, b),
        st.sampled_from(
            [
                lambda a, b: a + b,
                lambda a, b: a - b,
                lambda a, b: a * b,
                lambda a, b: a / b,
                lambda a, b: a % b,
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


def kernel(low: Expr, index: Expr, condition: Expr) -> DeviceFunction:
    """A kernel whose threads loop, test, read and write at coordinates."""
    value = Load(Float32, "image", index) + 1.0
    body = If(condition, Store("f", index, value))
    loop = For(LOOP, low, SIZES[1], LoopKind.SERIAL, body)
    return DeviceFunction("kernel", (ONE, ONE, ONE), (1, 1, 1), (), loop)


def parts(function: DeviceFunction) -> list[Expr]:
    """Its coordinates, in order."""
    found: list[Expr] = []
    for node in walk_nodes(function.body):
        match node:
            case For(min=low, extent=extent):
                found += [low, extent]
            case If(condition=condition):
                found.append(condition)
            case Store(index=index, value=value):
                reads = (one.index for one in walk(value) if isinstance(one, Load))
                found += [index, *reads]
    return found


@given(
    low=st.sampled_from((*SIZES, SIZES[0] - SIZES[2] * 3)),
    index=coordinates,
    limit=coordinates,
    values=st.lists(st.integers(-20, 20), min_size=6, max_size=6),
)
def test_coordinates_keep_their_values(
    low: Expr, index: Expr, limit: Expr, values: list[int]
) -> None:
    function = kernel(low, index, index < limit)
    known = {v.name: n for v, n in zip((*SIZES, *MOVING), values, strict=True)}
    wanted = [evaluate(one, known) for one in parts(function)]
    for change in (with_host_numbers, with_block_numbers):
        function, formulas = change(function)
        known |= {name: evaluate(formula, known) for name, formula in formulas.items()}
        assert [evaluate(one, known) for one in parts(function)] == wanted


@given(index=coordinates, limit=coordinates)
def test_no_arithmetic_on_sizes_is_left(index: Expr, limit: Expr) -> None:
    changed, formulas = with_host_numbers(kernel(SIZES[0] + 1, index, index < limit))
    moving = {one.name for one in MOVING}
    for one in walk(*parts(changed)):
        if isinstance(one, Op) and one.names:
            assert one.names & moving, one
    for formula in formulas.values():
        assert formula.names
        assert not formula.names & moving
    changed, formulas = with_block_numbers(changed)
    for one in walk(*parts(changed)):
        if isinstance(one, Op) and one.names:
            assert one.names & {THREAD[0].name, LOOP.name}, one
    for formula in formulas.values():
        assert formula.names & moving == {BLOCK[0].name}


def test_terms_of_a_sum_are_one_number() -> None:
    low, extent, stride = SIZES
    index = THREAD[0] + low * stride + LOOP - extent + 3
    changed, formulas = with_host_numbers(kernel(constant(0, Int32), index, LOOP < 5))
    (formula,) = formulas.values()
    assert evaluate(formula, {low.name: 2, stride.name: 10, extent.name: 4}) == 19
    place = next(one for one in parts(changed) if one.names > {LOOP.name})
    assert sum(isinstance(one, Op) for one in walk(place)) == 2


def test_what_depends_on_data_stays_in_the_kernel() -> None:
    data = Load(Int32, "table", SIZES[0] + SIZES[1])
    index = data + SIZES[0] * SIZES[1]
    changed, formulas = with_host_numbers(kernel(constant(0, Int32), index, LOOP < 5))
    (formula,) = formulas.values()
    assert formula is SIZES[0] + SIZES[1]
    assert any(isinstance(one, Op) and one.name == "mul" for one in walk(*parts(changed)))


def test_what_may_wrap_stays_in_the_kernel() -> None:
    """Compiled code wraps values of int32; formulas of the host don't."""
    product = SIZES[0] * SIZES[1] / SIZES[2]
    condition = cast(UInt8, product) < cast(UInt8, LOOP)
    changed, formulas = with_host_numbers(kernel(constant(0, Int32), LOOP, condition))
    assert not formulas
    assert parts(changed) == parts(kernel(constant(0, Int32), LOOP, condition))
