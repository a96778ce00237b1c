"""Where barriers stand in programs written by hand: under guards, around loops, after writes."""

from __future__ import annotations

import pytest

from backend.gpu_program import GpuProgram
from backend.lowering.barriers import insert_barriers
from backend.lowering.kernel_sizes import KernelSizes
from backend.lowering.kernels import carve_kernels
from backend.lowering.statements import block, walk_statements
from backend.program import Allocate, Barrier, Block, For, If, Load, LoopProgram, Statement, Store
from spaces.model.expr import Expr, Variable, constant
from spaces.model.schedule import LoopKind, Memory
from spaces.model.types import Int32

THREADS = 8
T, B = Variable(Int32, "t"), Variable(Int32, "b")


def number(value: int) -> Expr:
    return constant(value, Int32)


def loop(var: Variable, extent: Expr, kind: LoopKind, body: Statement) -> For:
    return For(var, number(0), extent, kind, body)


def each(body: Statement) -> For:
    """By every thread."""
    return loop(T, number(THREADS), LoopKind.GPU_THREAD, body)


def rounds(*body: Statement, extent: Expr | None = None) -> For:
    count = number(5) if extent is None else extent
    return loop(Variable(Int32, "i"), count, LoopKind.SERIAL, block(*body))


def load(buffer: str, index: Expr) -> Load:
    return Load(Int32, buffer, index)


def write(buffer: str, index: Expr = T) -> For:
    return each(Store(buffer, index, T * 3))


def read(buffer: str, into: str = "out") -> For:
    """Another thread's element."""
    return each(Store(into, T, load(buffer, number(THREADS - 1) - T)))


def kernel(*body: Statement) -> LoopProgram:
    return LoopProgram("p", (), (), (), loop(B, number(4), LoopKind.GPU_BLOCK, block(*body)))


def shape(statement: Statement) -> object:
    """The order of barriers and what is written, loops and guards as lists."""
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
        # The next round overwrites what this one still reads.
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


def test_what_a_thread_keeps_for_itself_needs_no_barrier() -> None:
    pair = block(
        Store("r", number(0), T),
        Store("r", number(1), T * T),
        Store("out", T, load("r", number(0)) + load("r", number(1))),
    )
    own = Allocate("r", Int32, Memory.REGISTER, number(2), pair)
    found = insert_barriers(kernel(rounds(each(own)))).body
    assert shape(found) == ["r", "r", "out"]


def carved(*body: Statement) -> GpuProgram:
    return carve_kernels(kernel(*body), KernelSizes({}, {}))


def test_a_guard_around_threads_holds_for_each_of_them() -> None:
    (one,) = carved(If(FEW, write("out")), write("out2")).kernels
    guards = [s for s in walk_statements(one.body) if isinstance(s, If)]
    assert [(str(g.condition)[-3:], shape(g.body)) for g in guards] == [("< 3", "out")]


def test_code_outside_of_threads_is_run_by_one_of_them() -> None:
    total = Store("s", number(0), load("s", number(0)) + 1)
    (one,) = carved(write("s"), Barrier(), total).kernels
    assert one.block == (THREADS, 1, 1)
    (guard,) = [s for s in walk_statements(one.body) if isinstance(s, If)]
    assert str(guard.condition).endswith("< 1")
    assert shape(guard.body) == "s"
