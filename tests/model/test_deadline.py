"""Deadlines: work inside asks the clock and ends; nothing half done stays behind."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import pytest
import z3

from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Unknown
from spaces.constraints.proofs.prove import prove
from spaces.constraints.repairs.repair import repair
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.var import Var
from spaces.model.deadline import NO_DEADLINE, Deadline, OutOfTime, ask_clock, time_left
from spaces.model.expressions.expr import Expr, Variable, constant, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.smt import answer, new_context
from spaces.model.recursion import deeper
from spaces.model.schedules.schedule import Schedule
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain
from tests.small_space import small_space

CPU = FOUR_CORES


def test_work_ends_at_the_deadline_and_not_before(clock: Clock) -> None:
    limit = Deadline.after(2.0)
    with limit.kept():
        clock.now = 1.9
        ask_clock()
        assert (limit.left, limit.is_past) == (pytest.approx(0.1), False)
        clock.now = 2.0
        with pytest.raises(OutOfTime):
            ask_clock()
    assert (limit.left, limit.is_past) == (0.0, True)
    ask_clock()


def test_the_earlier_of_two_deadlines_counts(clock: Clock) -> None:
    with Deadline.after(1.0).kept():
        with Deadline.after(5.0).kept():
            assert time_left() == 1.0
        with Deadline.after(0.5).kept():
            assert time_left() == 0.5
        assert time_left() == 1.0
    assert not NO_DEADLINE.is_past


def test_work_after_the_deadline_does_not_even_begin(clock: Clock) -> None:
    with pytest.raises(OutOfTime), Deadline.after(0.0).kept():
        pytest.fail("the work began")


def test_handlers_of_errors_let_the_end_of_the_time_pass() -> None:
    assert not issubclass(OutOfTime, Exception)


def test_threads_for_deep_recursion_keep_the_deadline(clock: Clock) -> None:
    def descend(levels: int) -> float:
        return deeper(descend, levels - 1) if levels else time_left()

    with Deadline.after(3.0).kept():
        assert descend(sys.getrecursionlimit()) == 3.0


def _sum(terms: int) -> Expr:
    total: Expr = constant(0, Int32)
    for number in range(terms):
        total = total + Variable(Int32, f"v{number}")
    return total


def _new_variables(_: Expr) -> list[Expr]:
    return [Variable(Int32, f"new{number}") for number in range(100)]


@pytest.mark.parametrize("work", [walk, _new_variables])
def test_walks_and_new_expressions_ask_the_clock(
    clock: Clock, work: Callable[[Expr], Iterable[Expr]]
) -> None:
    big = _sum(2_000)
    limit = Deadline.after(1.0)
    clock.step = 0.1
    with pytest.raises(OutOfTime), limit.kept():
        list(work(big))


def test_a_verdict_that_ran_out_of_time_spoils_no_later_one(clock: Clock) -> None:
    """The time is up once at every third look; what is kept until then stays right."""
    expected = verify(blur(), Schedule.default(blur()), CPU)
    fresh = blur(width=1031)
    ends, clock.step = 0, 1.0
    while True:
        try:
            with Deadline(clock.now + 3 * ends + 1).kept():
                found = verify(fresh, Schedule.default(fresh), CPU)
            break
        except OutOfTime:
            ends += 1
    assert ends > 1
    assert found.legal
    assert found.size_conditions == expected.size_conditions


def test_the_solver_stops_at_the_deadline() -> None:
    context = new_context()
    solver = z3.Solver(ctx=context)
    a, b, c = z3.Ints("a b c", context)
    solver.add(a > 2, b > 2, c > 2, a**3 + b**3 == c**3 + 1234567)
    with pytest.raises(OutOfTime), Deadline.after(0.05).kept():
        answer(solver)
    assert answer(solver, timeout_ms=10) == z3.unknown


def test_proofs_without_time_stand_for_what_is_not_listed(clock: Clock) -> None:
    checked = verify(blur(), Schedule.default(blur()), CPU)
    clock.step = 0.05
    report = prove(checked, seconds=0.5)
    last = report.proofs[-1]
    assert "which the time did not suffice to list" in last.obligation.statement
    assert isinstance(last.outcome, Unknown)


def test_repair_without_time_for_a_verdict_is_unknown(clock: Clock) -> None:
    clock.step = 0.4
    assert repair(blur(), Schedule.default(blur()), CPU, seconds=0).answer == "unknown"


def test_an_explanation_without_time_is_unknown(clock: Clock) -> None:
    space = small_space(chain(3), CPU)
    clock.step = 0.4
    assert explain_empty(space, seconds=1).answer == "unknown"


def test_a_pipeline_made_inside_a_deadline_is_whole(clock: Clock) -> None:
    with Deadline.after(1.0).kept():
        x = Var("x")
        f = Func("f")
        f[x] = x + 1
        made = pipeline(f, estimates={"f": [64]})
    assert verify(made, Schedule.default(made), CPU).legal
