"""Allocations move out of loops where only the time and the number of calls can tell."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, TypeAlias

import pytest
from attrs import define, field
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Int32, LoopKind, MemoryType, UInt32
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    For,
    If,
    Invoke,
    Statement,
    Store,
    block,
)
from spaces.backend.ir.vectors import Load
from spaces.backend.llvm.codegen import entry_name, llvm_module
from spaces.backend.llvm.module import OUT_OF_MEMORY
from spaces.backend.lowering.cpu.hoist import hoist
from spaces.machine_code import compile_module
from spaces.model.expressions.expr import Expr, Variable, cast, constant
from spaces.model.expressions.message import Message, text
from spaces.model.schedules.schedule import AUTO_STACK_BYTES
from tests.backend.counted_memory import CountedMemory
from tests.backend.lowering.program_interpreter import run_program
from tests.draw_counts import examples

VAR, AROUND, ONCE = (Variable(Int32, name) for name in ("i", "j", "k"))
N, M = Variable(Int32, "n"), Variable(Int32, "m")
ZERO, ONE = constant(0, Int32), constant(1, Int32)
PLACES = 4
"""The elements of the output."""

Sizes: TypeAlias = dict[str, Expr]
"""Buffers and how many elements each has."""

OUT = BufferParameter("out", UInt32, 1, is_output=True)


def program(body: Statement) -> LoopProgram:
    scalars = (ScalarParameter("n", Int32), ScalarParameter("m", Int32))
    return LoopProgram("p", (OUT,), scalars, (), body)


def loop(
    body: Statement, var: Variable = VAR, extent: Expr = N, kind: LoopKind = LoopKind.SERIAL
) -> For:
    return For(var, ZERO, extent, kind, body)


def storage(
    name: str,
    body: Statement,
    size: Expr = M,
    memory: MemoryType = MemoryType.AUTO,
    within: str = "",
) -> Allocate:
    return Allocate(name, UInt32, memory, (size, ONE), body, within=within)


def copy(source: str, target: str) -> Statement:
    """Element 0 of one buffer is written to another one."""
    return Store(target, ZERO, Load(UInt32, source, ZERO))


def written(*names: str) -> Statement:
    """One statement that uses all of these buffers."""
    total = sum((Load(UInt32, name, ZERO) for name in names), constant(0, UInt32))
    return For(ONCE, ZERO, ONE, LoopKind.SERIAL, block(*(Store(n, ZERO, total) for n in names)))


CONST = {"small": constant(4, Int32), "large": constant(AUTO_STACK_BYTES // 4 + 1, Int32)}
LOADED = cast(Int32, Load(UInt32, "out", ZERO))
CHAIN = block(written("a"), copy("a", "b"), copy("b", "c"), copy("c", "out"))
FAILING = If(N > 5, Assert(Message.of((text("n is too large"),))))
CALL = Invoke("f", ("out",), (UInt32,), (1,), 1, (ZERO,), (ONE,), (ONE,), (ZERO,))

MOVING = {
    "one": (loop(storage("a", written("a"))), {"a"}),
    "a size that varies with a loop around": (
        loop(loop(storage("a", written("a"), M + AROUND)), AROUND), {"a"},
    ),
    "a pair": (loop(storage("a", storage("b", written("a", "b")))), {"a", "b"}),
    "one is computed from the other": (
        loop(storage("a", storage("b", block(written("a"), copy("a", "b"), copy("b", "out"))))),
        {"a", "b"},
    ),
    "all but what lies on the stack": (
        loop(storage("a", storage("s", written("a", "s"), CONST["small"]))), {"a"},
    ),
    "memory of another one stays": (
        loop(storage("a", storage("b", written("b"), within="a"))), {"a"},
    ),
    "under a condition": (loop(If(M > 2, storage("a", written("a")))), {"a"}),
    "more memory in the statement that uses both": (
        loop(storage("a", storage("b", block(
            written("a"),
            storage("c", block(written("c"), written("a", "b", "c"))),
            copy("b", "out"),
        )))),
        {"a", "b"},
    ),
    "more memory on the stack": (
        loop(storage("a", storage("b", block(
            storage("s", block(written("s"), copy("s", "a")), CONST["small"]),
            copy("a", "b"),
        )))),
        {"a", "b"},
    ),
    "memory of another one elsewhere": (
        loop(storage("a", storage("b", block(
            storage("c", written("c"), within="a"), copy("a", "b"),
        )))),
        {"a", "b"},
    ),
    "an assert when all is there": (
        loop(storage("a", storage("b", block(written("a", "b"), FAILING)))), {"a", "b"},
    ),
}  # fmt: skip

STAYING = {
    "a size that varies": loop(storage("a", written("a"), M + VAR)),
    "one of two sizes varies": loop(storage("a", storage("b", written("a", "b"), M + VAR))),
    "a size from memory": loop(storage("a", written("a"), LOADED)),
    "a known size": loop(storage("a", written("a"), CONST["large"])),
    "a known size on the heap": loop(storage("a", written("a"), ONE, MemoryType.HEAP)),
    "memory of another one": storage(
        "pool", loop(storage("a", block(written("a"), copy("a", "out")), within="pool"))
    ),
    "a condition that varies": loop(If(VAR > 2, storage("a", written("a")))),
    "a condition from memory": loop(If(LOADED > 2, storage("a", written("a")))),
    "one of two cases": loop(If(M > 2, storage("a", written("a")), written("out"))),
    "a loop whose length is in memory": loop(storage("a", written("a")), extent=LOADED),
    "a chain that needs memory of two": loop(storage("a", storage("b", storage("c", CHAIN)))),
    "memory elsewhere": loop(storage("a", storage("b", block(
        storage("c", block(written("c"), copy("c", "a"))), copy("a", "b"),
    )))),
    "large memory elsewhere": loop(storage("a", storage("b", block(
        storage("c", block(written("c"), copy("c", "a")), CONST["large"]), copy("a", "b"),
    )))),
    "memory of the heap elsewhere": loop(storage("a", storage("b", block(
        storage("c", block(written("c"), copy("c", "a")), ONE, MemoryType.HEAP), copy("a", "b"),
    )))),
    "memory elsewhere that is not moved": loop(storage("a", storage("b", storage("c", block(
        written("a", "b"), copy("b", "c"), copy("c", "out"),
    ), CONST["large"])))),
    "an assert before all is there": loop(storage("a", storage("b", block(
        block(FAILING, written("a")), copy("a", "b"),
    )))),
    "foreign code before all is there": loop(storage("a", storage("b", block(
        block(CALL, written("a")), copy("a", "b"),
    )))),
    "another statement before": loop(block(written("out"), storage("a", written("a")))),
    **{
        f"a {kind.value} loop": loop(storage("a", written("a")), kind=kind)
        for kind in LoopKind
        if kind is not LoopKind.SERIAL
    },
}  # fmt: skip


def allocated(statement: Statement) -> set[str]:
    return {s.buffer for s in walk_nodes(statement) if isinstance(s, Allocate)}


def allocated_along(var: Variable, statement: Statement) -> set[str]:
    """The buffers that are allocated in the loop over ``var``."""
    loops = (s for s in walk_nodes(statement) if isinstance(s, For) and s.var is var)
    return set().union(*map(allocated, loops))


@pytest.mark.parametrize("name", MOVING)
def test_allocations_that_do_not_vary_move_out(name: str) -> None:
    body, moved = MOVING[name]
    after = hoist(program(body)).body
    before = allocated(body)
    assert moved <= allocated_along(VAR, body)
    assert allocated_along(VAR, after) == before - moved
    assert allocated(after) == before


def test_allocations_move_out_of_as_many_loops_as_they_can() -> None:
    for size, left in ((M, set()), (M + AROUND, {"a"})):
        after = hoist(program(loop(loop(storage("a", written("a"), size)), AROUND))).body
        assert allocated(after) == {"a"}
        assert allocated_along(VAR, after) == set()
        assert allocated_along(AROUND, after) == left


def test_allocations_stay_in_their_order() -> None:
    inside = storage("s", storage("t", written("a", "b", "s", "t"), ONE), ONE)
    after = hoist(program(loop(storage("a", storage("b", inside)))))
    assert after.body == If(N > 0, storage("a", storage("b", loop(inside))))


@pytest.mark.parametrize("name", STAYING)
def test_others_stay(name: str) -> None:
    body = STAYING[name]
    assert hoist(program(body)).body == body


@define
class Drawn:
    """Statements of a random flat program, in which no read is outside or before a write."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    numbers: count[int] = field(factory=count)

    def one_of(self, *options: Expr) -> Expr:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def variable(self) -> Variable:
        return Variable(Int32, f"v{next(self.numbers)}")

    def statement(self, depth: int, filled: Sizes, around: tuple[Variable, ...]) -> Statement:
        """Loops, storage and conditions, ``depth`` of them around reads of what is ``filled``."""
        kind = self.draw(st.sampled_from(("loop", "loop", "storage", "storage", "condition")))
        if not depth:
            return block(*(self.read(name, size) for name, size in filled.items()))
        if kind == "storage":
            return self.storage(depth, filled, around)
        if kind == "condition":
            condition = self.one_of(N, *around) > 1
            return If(condition, self.statement(depth - 1, filled, around))
        var = self.variable()
        extent = self.one_of(N, M, M - 2, ZERO, constant(2, Int32), *around)
        return loop(self.statement(depth - 1, filled, (*around, var)), var, extent)

    def storage(self, depth: int, filled: Sizes, around: tuple[Variable, ...]) -> Statement:
        """One buffer in the other, around statements that fill and use them in any order."""
        sizes = (M, M, N + M, M - 2, constant(3, Int32), *(v + 1 for v in around))
        own: Sizes = {}
        for _ in range(self.draw(st.integers(1, 3))):
            own[f"b{next(self.numbers)}"] = self.one_of(*sizes)
        known = dict(filled)
        parts: list[Statement] = []
        for name, size in own.items():
            sources = {n: s for n, s in known.items() if self.draw(st.booleans())}
            parts.append(self.fill(name, size, sources))
            known[name] = size
            if self.draw(st.booleans()):
                ends = self.draw(st.sets(st.sampled_from(sorted(own.keys() & known.keys()))))
                left = {n: s for n, s in known.items() if n not in ends}
                parts.append(self.statement(depth - 1, left, around))
        result = block(*parts)
        for name, size in reversed(own.items()):
            result = storage(name, result, size)
        return result

    def fill(self, name: str, size: Expr, sources: Sizes) -> Statement:
        """Each element of a buffer is computed from those of others at the same place."""
        at = self.variable()
        value = cast(UInt32, at) + constant(next(self.numbers), UInt32)
        steps: list[Statement] = [Store(name, at, value)]
        for other, length in sources.items():
            both = Load(UInt32, name, at) * 3 + Load(UInt32, other, at)
            steps.append(If(at < length, Store(name, at, both)))
        return loop(block(*steps), at, size)

    def read(self, name: str, size: Expr) -> Statement:
        """An element of the output is computed from all elements of a buffer."""
        at = self.variable()
        place = constant(self.draw(st.integers(0, PLACES - 1)), Int32)
        value = Load(UInt32, "out", place) * 3 + Load(UInt32, name, at)
        return loop(Store("out", place, value), at, size)


Outcome: TypeAlias = tuple[int, dict[int, int]]
"""The status of compiled code, and the output."""


@contextmanager
def compiled(lowered: LoopProgram, memory: CountedMemory) -> Iterator[Callable[..., Outcome]]:
    """Calls compiled code that takes its scratch from ``memory``."""

    def call(n: int, m: int) -> Outcome:
        out = (ctypes.c_uint32 * PLACES)()
        words = (ctypes.c_int64 * 6)(ctypes.addressof(out), 0, PLACES, 1, n, m)
        status = entry(None, ctypes.addressof(words))
        assert memory.held == 0
        return status, dict(enumerate(out))

    with compile_module(llvm_module(lowered), memory.symbols) as module:
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
        entry = kind(module.address(entry_name(lowered.name)))
        yield call


@pytest.mark.parametrize("extent", [N, N - 3, ZERO], ids=str)
def test_a_loop_without_iterations_takes_nothing(extent: Expr) -> None:
    after = hoist(program(loop(storage("a", written("a")), extent=extent)))
    assert allocated_along(VAR, after.body) == set()
    memory = CountedMemory(limit=0)
    with compiled(after, memory) as call:
        assert call(n=0, m=2**31 - 1)[0] == 0
    assert not memory.requests


def test_a_loop_whose_condition_does_not_hold_takes_nothing() -> None:
    after = hoist(program(loop(If(M > 2, storage("a", written("a"))))))
    memory = CountedMemory()
    with compiled(after, memory) as call:
        call(n=3, m=2)
        assert not memory.requests
        call(n=3, m=3)
    assert memory.requests == [3 * 4]


def test_drawn_programs_compute_the_same_in_as_much_memory() -> None:
    """They take it as often or less often, and lack it where they lacked it before."""
    seen = {"fewer requests": 0, "no memory": 0, "no iteration": 0}

    @settings(max_examples=examples(120, fewest=30))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        drawn = Drawn(data.draw)
        var = drawn.variable()
        before = program(loop(drawn.statement(3, {}, (var,)), var))
        after = hoist(before)
        sizes = {"n": data.draw(st.integers(0, 4)), "m": data.draw(st.integers(-1, 4))}
        wanted = run_program(before, sizes, {"out": dict.fromkeys(range(PLACES), 0)})["out"]
        assert run_program(after, sizes, {"out": dict.fromkeys(range(PLACES), 0)})["out"] == wanted

        old, new = CountedMemory(), CountedMemory()
        with compiled(before, old) as call, compiled(after, new) as call_hoisted:
            assert call(**sizes) == call_hoisted(**sizes) == (0, wanted)
            assert len(new.requests) <= len(old.requests)
            assert new.most == old.most
            seen["fewer requests"] += len(new.requests) < len(old.requests)
            seen["no iteration"] += after != before and not new.requests
            if old.most:
                old.limit = new.limit = data.draw(st.integers(0, old.most - 1))
                assert call(**sizes)[0] == call_hoisted(**sizes)[0] == OUT_OF_MEMORY
                seen["no memory"] += after != before

    run()
    assert min(seen.values()) > 0, seen
