"""Barriers of kernels written by hand: rounds of loops, conditions, equal values."""

from __future__ import annotations

import pytest

from spaces.backend.ir.host import THREAD, DeviceFunction, GpuProgram, Launch, SharedArray
from spaces.backend.ir.program import BufferParameter
from spaces.backend.ir.statements import Barrier, For, If, Statement, Store, block
from spaces.backend.ir.vectors import Load
from spaces.backend.proofs import barrier_obligations, prove_barriers
from spaces.constraints.obligations.decide import decide
from spaces.constraints.obligations.records import Obligation, Outcome, Proven, Refuted, Unknown
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr, Variable, constant
from spaces.model.expressions.functions import min as least
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind

X = THREAD[0]
ROUND, SIZE = Variable(Int32, "round"), Variable(Int32, "out.extent.0")
THREADS = 8


def number(value: int) -> Expr:
    return constant(value, Int32)


def write(index: Expr, value: Expr = X) -> Statement:
    return Store("a", index, value)


def read(index: Expr) -> Statement:
    return Store("out", X, Load(Int32, "a", index))


def rounds(*body: Statement, extent: Expr | None = None) -> Statement:
    times = number(6) if extent is None else extent
    return For(ROUND, number(0), times, LoopKind.SERIAL, block(*body))


def program(*body: Statement) -> GpuProgram:
    """A program of one block whose threads share ``a``."""
    one = number(1)
    shared = (SharedArray("a", Int32, 256),)
    kernel = DeviceFunction("kernel", (one, one, one), (THREADS, 1, 1), shared, block(*body))
    out = BufferParameter("out", Int32, 1, is_output=True)
    return GpuProgram("p", (out,), (), (), (kernel,), Launch(kernel))


def about_reads(*body: Statement) -> tuple[Obligation, Outcome]:
    """The only obligation about reads of ``a``, and its outcome."""
    obligations = barrier_obligations(program(*body))
    (found,) = [o for o in obligations if o.buffer == "a" and "others that read it" in o.statement]
    return found, decide(found)


NEIGHBOR = number(THREADS - 1) - X


def rows_before(count: int) -> Expr:
    """The element that another thread wrote ``count`` rounds before."""
    return (ROUND - count) * THREADS + NEIGHBOR


@pytest.mark.parametrize(
    ("body", "holds"),
    [
        ([write(X), read(NEIGHBOR)], False),
        ([write(X), Barrier(), read(NEIGHBOR)], True),
        ([write(X), read(X)], True),
        ([read(NEIGHBOR), write(X)], False),
        # Within a round there is a barrier, but none before the next one.
        ([rounds(write(X), Barrier(), read(NEIGHBOR))], False),
        ([rounds(write(X), Barrier(), read(NEIGHBOR), Barrier())], True),
        ([rounds(Barrier(), write(X), Barrier(), read(NEIGHBOR))], True),
        # Each round writes its own places; the reads are of an earlier round.
        ([rounds(write(ROUND * THREADS + X), read(rows_before(1)))], False),
        ([rounds(write(ROUND * THREADS + X), read(rows_before(2)))], False),
        ([rounds(read(rows_before(2)), write(ROUND * THREADS + X))], False),
        ([rounds(write(ROUND * THREADS + X), read(rows_before(1)), Barrier())], True),
        ([rounds(write(ROUND * THREADS + X), Barrier(), read(rows_before(2)))], True),
        # A loop that may have no round separates nothing.
        ([write(X), rounds(Barrier()), read(NEIGHBOR)], True),
        ([write(X), rounds(Barrier(), extent=SIZE - 1), read(NEIGHBOR)], False),
        # Nor does a barrier under a condition, unless both ways have one.
        ([write(X), If(number(5) < SIZE, Barrier()), read(NEIGHBOR)], False),
        ([write(X), If(number(5) < SIZE, Barrier(), Barrier()), read(NEIGHBOR)], True),
        # Branches of one condition are taken by different threads.
        ([If(number(4) < X, write(number(9)), read(number(9)))], False),
        ([If(number(4) < X, write(number(9)), read(X))], True),
    ],
)
def test_reads_are_separated_from_writes(body: list[Statement], holds: bool) -> None:
    _, outcome = about_reads(*body)
    assert isinstance(outcome, Proven if holds else Refuted)


def test_conditions_and_bounds_of_loops_read() -> None:
    chosen = Load(Int32, "a", NEIGHBOR)
    for reader in (
        If(number(0) < chosen, Store("out", X, X)),
        For(ROUND, number(0), chosen, LoopKind.SERIAL, Store("out", X, X)),
    ):
        assert isinstance(about_reads(write(X), reader)[1], Refuted)
        assert isinstance(about_reads(write(X), Barrier(), reader)[1], Proven)


def test_a_loop_reads_its_bounds_before_each_round() -> None:
    bound = Load(Int32, "a", NEIGHBOR)
    inside = For(ROUND, number(0), bound, LoopKind.SERIAL, block(Barrier(), write(X)))
    assert not isinstance(about_reads(inside)[1], Proven)


@pytest.mark.parametrize(
    ("index", "value", "holds"),
    [
        (X, X, True),
        (number(0), number(7), True),
        (number(0), X, False),
        (X / 2, X / 2, False),
        (X / 2, Load(Int32, "out", X / 2), True),
        (X / 2, Load(Int32, "out", X), False),
    ],
)
def test_writes_of_one_place_have_one_value(index: Expr, value: Expr, holds: bool) -> None:
    obligations = barrier_obligations(program(write(index, value)))
    (found,) = [o for o in obligations if o.buffer == "a"]
    assert isinstance(decide(found), Proven if holds else Refuted)
    assert not found.exact


def test_a_condition_that_suffices_is_refuted_only_by_a_run() -> None:
    """Different threads write values that look different: a run shows whether they are."""
    x, out = Var("x"), Func("out")
    out[x] = x
    nest = loop_nest(pipeline(out), schedule(pipeline(out)).schedule)
    for value, expected in ((least(X, 0), Unknown), (X, Refuted)):
        proofs = prove_barriers(nest, program(write(number(0), value)))
        assert [type(p.outcome) for p in proofs] == [expected]


def test_whether_an_obligation_is_exact() -> None:
    barrier_for_some = If(number(5) < SIZE, Barrier())
    assert about_reads(write(X), Barrier(), read(NEIGHBOR))[0].exact
    assert about_reads(rounds(write(X), Barrier(), read(NEIGHBOR)))[0].exact
    assert not about_reads(write(X), barrier_for_some, read(NEIGHBOR))[0].exact
    assert not about_reads(write(X), rounds(Barrier(), extent=SIZE), read(NEIGHBOR))[0].exact
