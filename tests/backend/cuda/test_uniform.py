"""What the host computes for kernels: the same values, and no arithmetic on sizes is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given

from spaces.backend.cuda.number_ends import NumberEnds
from spaces.backend.cuda.uniform import with_block_numbers, with_host_numbers
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import For, If, Store
from spaces.backend.ir.vectors import Load
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, cast, constant, walk
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from tests.backend.cuda.coordinates import (
    LOOP,
    MOVING,
    SIZES,
    accessing,
    arithmetic,
    far,
    kernel,
    launches,
    near,
    wrapped,
)

MIN, EXTENT, STRIDE = SIZES


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


def operators(exprs: Iterable[Expr]) -> Counter[str]:
    """How often each operator occurs."""
    return Counter(one.name for one in walk(*exprs) if isinstance(one, Op))


def stored(function: DeviceFunction) -> Expr:
    """The value that a kernel of one store stores."""
    (value,) = (node.value for node in walk_nodes(function.body) if isinstance(node, Store))
    return value


def changed(
    function: DeviceFunction,
) -> tuple[DeviceFunction, Mapping[str, Expr], DeviceFunction, Mapping[str, Expr]]:
    """The kernel with numbers of the host and their formulas, then with those of blocks, too."""
    ends = NumberEnds.of(function)
    with_host, of_host = with_host_numbers(function, ends)
    with_both, of_blocks = with_block_numbers(with_host, ends.beside(of_host))
    return with_host, of_host, with_both, of_blocks


@given(index=arithmetic(near), limit=arithmetic(near), values=launches())
def test_coordinates_keep_their_values(index: Expr, limit: Expr, values: dict[str, int]) -> None:
    function = kernel(accessing(index, index < limit))
    wanted = [evaluate(one, values) for one in parts(function)]
    with_host, of_host, with_both, of_blocks = changed(function)
    known = dict(values)
    for now, formulas in ((with_host, of_host), (with_both, of_blocks)):
        known |= {name: evaluate(formula, known) for name, formula in formulas.items()}
        assert [evaluate(one, known) for one in parts(now)] == wanted


@given(value=arithmetic(far), other=arithmetic(far), values=launches())
def test_values_wrap_as_before(value: Expr, other: Expr, values: dict[str, int]) -> None:
    """The host wraps its numbers. A kernel computes those of a block as coordinates, which never
    wrap.
    """
    function = kernel(Store("f", LOOP, Op(Int32, "add", (value, other))))
    wanted = wrapped(stored(function), values)
    with_host, of_host, with_both, of_blocks = changed(function)
    known = dict(values)
    known |= {name: Int32.wrap(evaluate(e, values)) for name, e in of_host.items()}
    assert wrapped(stored(with_host), known) == wanted
    for name, formula in of_blocks.items():
        known[name] = evaluate(formula, known)
        assert Int32.holds(known[name])
    assert wrapped(stored(with_both), known) == wanted


@given(index=arithmetic(near), limit=arithmetic(near))
def test_no_arithmetic_on_sizes_is_left(index: Expr, limit: Expr) -> None:
    with_host, of_host, with_both, of_blocks = changed(
        kernel(accessing(index + MIN + 1, index < limit))
    )
    moving = {one.name for one in MOVING}
    for one in walk(*parts(with_host)):
        if isinstance(one, Op) and one.names:
            assert one.names & moving, one
    for formula in of_host.values():
        assert formula.names
        assert not formula.names & moving
    for one in walk(*parts(with_both)):
        if isinstance(one, Op) and one.names:
            assert one.names & {THREAD[0].name, LOOP.name}, one
    for formula in of_blocks.values():
        assert formula.names & moving == {BLOCK[0].name}


def test_terms_of_a_sum_are_one_number_and_constants_come_last() -> None:
    index = THREAD[0] + MIN * STRIDE + 3 + LOOP - EXTENT
    function, formulas, _, _ = changed(kernel(accessing(index, LOOP < 5)))
    ((name, formula),) = formulas.items()
    assert evaluate(formula, {MIN.name: 2, STRIDE.name: 10, EXTENT.name: 4}) == 16
    place = next(one for one in parts(function) if one.names > {LOOP.name})
    assert isinstance(place, Op)
    assert place.args[1] is constant(3, Int32)
    assert sum(isinstance(one, Op) for one in walk(place)) == 3
    assert name in place.names


def test_neighbours_in_memory_have_one_number() -> None:
    """Their addresses differ by constants, which instructions that access memory can add."""
    near_by = [Load(Float32, "image", THREAD[0] + (MIN * STRIDE + k)) for k in range(-2, 3)]
    total = sum(near_by[1:], near_by[0])
    function, formulas, _, _ = changed(kernel(Store("f", THREAD[0], total)))
    assert len(formulas) == 1
    bases = {one.index.names for one in walk(stored(function)) if isinstance(one, Load)}
    assert bases == {frozenset({THREAD[0].name, *formulas})}


def test_conditions_among_values_are_computed_once() -> None:
    """A boundary condition compares coordinates where a value stands."""
    inside = (MIN - 1 <= LOOP) & (LOOP < EXTENT + MIN + 2)
    load = Load(Float32, "image", LOOP)
    function, formulas, _, _ = changed(
        kernel(Store("f", LOOP, Op(Float32, "select", (inside, load, load + 1.0))))
    )
    assert set(formulas.values()) == {MIN - 1, EXTENT + MIN + 2}
    for one in walk(stored(function)):
        if isinstance(one, Op) and one.type is Int32:
            assert LOOP.name in one.names


def test_what_depends_on_data_stays_in_the_kernel() -> None:
    data = Load(Int32, "table", MIN + EXTENT)
    index = data + MIN * EXTENT
    function, formulas, _, _ = changed(kernel(accessing(index, LOOP < 5)))
    assert set(formulas.values()) == {MIN + EXTENT, MIN * EXTENT}
    assert "mul" not in operators(parts(function))


def test_what_may_wrap_stays_in_the_kernel() -> None:
    """Compiled code wraps values of int32; formulas of the host don't."""
    product = MIN * EXTENT / STRIDE
    condition = cast(UInt8, product) < cast(UInt8, LOOP)
    function, formulas, _, _ = changed(kernel(accessing(LOOP, condition)))
    assert set(formulas.values()) == {MIN * EXTENT}
    assert operators(parts(function))["div"] == 1


@pytest.mark.parametrize("name", ["add", "mul"])
@pytest.mark.parametrize("of", [LOOP - EXTENT, MIN + EXTENT])
def test_shared_parts_are_looked_at_once(name: str, of: Expr) -> None:
    """A chain of doublings or squares has more terms and factors than any computer has time for,
    and its last number may have more digits.
    """
    number = of
    for _ in range(60):
        number = Op(Int32, name, (number, number))
    index = number if name == "add" else LOOP
    function = kernel(Store("f", LOOP, fn.max(Load(Int32, "table", index), number)))
    values = {MIN.name: 2, EXTENT.name: 5, LOOP.name: 3, THREAD[0].name: 1, BLOCK[0].name: 0}
    after, formulas, _, _ = changed(function)
    known = values | {n: Int32.wrap(evaluate(e, values)) for n, e in formulas.items()}
    (now,) = (one for one in stored(after).children if not isinstance(one, Load))
    assert wrapped(now, known) == wrapped(number, values)
