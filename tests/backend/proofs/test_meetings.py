"""Which accesses meet between two barriers, on kernels written by hand."""

from __future__ import annotations

import pytest

from spaces import Int32, Proven, Refuted
from spaces.backend.ir.statements import EMPTY, Barrier, If, Statement, Store, block
from spaces.backend.proofs import barrier_obligations
from spaces.backend.proofs.meetings import passable
from spaces.constraints.obligations.decide import decide
from spaces.model.expressions.expr import Variable
from tests.backend.cuda.written_kernels import (
    ROUND,
    THREADS,
    B,
    T,
    each,
    number,
    outlined,
    read,
    rounds,
    write,
)

WAIT = Barrier()
FEW = B < number(3)
MANY = Variable(Int32, "n")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (EMPTY, True),
        (WAIT, False),
        (write("s"), True),
        (block(write("s"), WAIT), False),
        (If(FEW, WAIT), True),
        (If(FEW, WAIT, write("s")), True),
        (If(FEW, WAIT, WAIT), False),
        (If(FEW, write("s"), WAIT), True),
        (rounds(WAIT), False),
        (rounds(WAIT, extent=number(0)), True),
        (rounds(WAIT, extent=MANY), True),
        (rounds(If(FEW, WAIT)), True),
    ],
)
def test_a_barrier_is_passed_where_it_is_in_every_way_through(
    statement: Statement, expected: bool
) -> None:
    assert passable(statement) is expected


def is_safe(*body: Statement) -> bool:
    """Whether all obligations about the barriers of a kernel are proven; else one is refuted."""
    outcomes = [decide(o) for o in barrier_obligations(outlined(*body))]
    proven = all(isinstance(o, Proven) for o in outcomes)
    assert proven is not any(isinstance(o, Refuted) for o in outcomes)
    return proven


OTHERS = write("s", number(THREADS - 1) - T)
HALVES = each(Store("s", ROUND % 2 * THREADS + (T + ROUND / 2) % THREADS, T))
"""Neighboring rounds write different halves; other rounds write the places of other threads."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((write("s"), read("s")), False),
        ((write("s"), WAIT, read("s")), True),
        ((read("s"), write("s")), False),
        ((read("s"), WAIT, write("s")), True),
        ((write("s"), OTHERS), False),
        ((write("s"), WAIT, OTHERS), True),
        # Kernels have no barrier under a guard: all threads run it.
        ((write("s"), If(FEW, WAIT), read("s")), True),
        ((write("s"), rounds(WAIT, extent=number(0)), read("s")), False),
        ((write("s"), rounds(WAIT), read("s")), True),
        ((rounds(write("s"), WAIT, read("s")),), False),
        ((rounds(write("s"), WAIT, read("s"), WAIT),), True),
        ((rounds(HALVES),), False),
        ((rounds(HALVES, WAIT),), True),
        ((each(Store("s", number(0), T)),), False),
        ((each(Store("s", number(0), number(7))),), True),
    ],
)
def test_threads_that_meet_in_memory_are_kept_apart(
    body: tuple[Statement, ...], expected: bool
) -> None:
    assert is_safe(*body) is expected
