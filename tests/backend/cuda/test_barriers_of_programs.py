"""The places of barriers in programs written by hand: under guards, around loops, after writes."""

from __future__ import annotations

import pytest

from spaces import Int32, LoopKind, MemoryType
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, Barrier, Block, For, If, Statement, Store, block
from spaces.backend.lowering.gpu.barriers import insert_barriers
from tests.backend.cuda.written_kernels import (
    THREADS,
    B,
    T,
    each,
    kernel,
    load,
    number,
    outlined,
    read,
    rounds,
    write,
)


def shape(statement: Statement) -> object:
    """The order of barriers and written buffers; loops and guards are lists."""
    match statement:
        case Barrier():
            return "wait"
        case Store(buffer=name):
            return name
        case Block(body=body):
            return [shape(s) for s in body]
        case For(kind=LoopKind.GPU_THREAD) | Allocate():
            return shape(statement.body)
        case For() | If():
            inner = shape(statement.body)
            return inner if isinstance(inner, list) else [inner]
    raise TypeError(str(statement))


FEW = B < number(3)
UPDATE = each(Store("s", T, load("s", T) + 1))
SHIFT = each(Store("s", T, load("s", T) + load("s", number(THREADS - 1) - T)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ((write("s"), read("s")), ["s", "wait", "out"]),
        ((write("s"), write("u"), read("s")), ["s", "u", "wait", "out"]),
        ((read("s"), write("s")), ["out", "wait", "s"]),
        ((write("s"), write("s", number(THREADS - 1) - T)), ["s", "wait", "s"]),
        ((write("s"), read("s"), read("s", "out2")), ["s", "wait", "out", "out2"]),
        ((write("s"), read("s"), write("s")), ["s", "wait", "out", "wait", "s"]),
        ((If(FEW, write("s")), read("s")), [["s"], "wait", "out"]),
        (
            (write("s"), If(FEW, block(write("u"), read("u"))), read("s", "out2")),
            ["s", ["u", "wait", "out"], "wait", "out2"],
        ),
        # The next round overwrites elements that this round still reads.
        ((rounds(write("s"), read("s")),), ["wait", "s", "wait", "out"]),
        ((write("s"), rounds(read("s"))), ["s", "wait", ["out"]]),
        ((rounds(write("s")), read("s")), [["s"], "wait", "out"]),
        ((write("n"), rounds(write("s"), extent=load("n", number(0)))), ["n", "wait", ["s"]]),
        ((write("s"), rounds(UPDATE)), ["s", "wait", ["s"]]),
    ],
)
def test_a_barrier_stands_where_threads_meet_in_memory(
    body: tuple[Statement, ...], expected: list[object]
) -> None:
    assert shape(insert_barriers(kernel(*body)).body) == expected


def test_an_update_of_other_threads_elements_waits_in_every_round() -> None:
    found = insert_barriers(kernel(rounds(SHIFT))).body
    assert "wait" in str(shape(found))


def test_private_memory_of_a_thread_needs_no_barrier() -> None:
    pair = block(
        Store("r", number(0), T),
        Store("r", number(1), T * T),
        Store("out", T, load("r", number(0)) + load("r", number(1))),
    )
    own = Allocate("r", Int32, MemoryType.REGISTER, (number(2),), pair)
    found = insert_barriers(kernel(rounds(each(own)))).body
    assert shape(found) == ["r", "r", "out"]


def test_a_guard_around_threads_holds_for_each_of_them() -> None:
    (one,) = outlined(If(FEW, write("out")), write("out2")).kernels
    guards = [s for s in walk_nodes(one.body) if isinstance(s, If)]
    assert [(str(g.condition)[-3:], shape(g.body)) for g in guards] == [("< 3", "out")]


def test_code_outside_of_threads_is_run_by_one_of_them() -> None:
    total = Store("s", number(0), load("s", number(0)) + 1)
    (one,) = outlined(write("s"), Barrier(), total).kernels
    assert one.block == (THREADS, 1, 1)
    (guard,) = [s for s in walk_nodes(one.body) if isinstance(s, If)]
    assert str(guard.condition).endswith("< 1")
    assert shape(guard.body) == "s"
