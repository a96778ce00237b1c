"""What z3 is told about threads."""

from __future__ import annotations

import multiprocessing
import threading

import z3

from spaces.model.formulas.smt import answer, new_context

ROUNDS, TERMS = 8, 4000


def drop_terms_while_a_solver_works() -> None:
    """As Python does when it looks for garbage in a thread that asks nothing. Without word of that,
    z3 ends or never ends in about every fifth round.
    """
    for _ in range(ROUNDS):
        context = new_context()
        solver = z3.Solver(ctx=context)
        a, b, c = z3.Ints("a b c", context)
        solver.add(a > 2, b > 2, c > 2, a**3 + b**3 == c**3 + 1234567)
        terms = [a + number for number in range(TERMS)]
        asking = threading.Thread(target=answer, args=(solver,), kwargs={"timeout_ms": 60})
        asking.start()
        terms.clear()
        asking.join()


def test_terms_may_be_collected_while_a_solver_works() -> None:
    """In a process of its own, because a fault in native code ends it."""
    process = multiprocessing.get_context("fork").Process(target=drop_terms_while_a_solver_works)
    process.start()
    process.join(60)
    process.kill()
    assert process.exitcode == 0
