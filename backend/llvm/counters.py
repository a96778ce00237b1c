"""Counters of a profiled program: visits and times of its Funcs, and the bytes of their storage.

A *region* is the statement that computes a Func, inside that of another Func. Its counters lie in a
table that all threads share. A function keeps its own sums, and adds them to the table when it
ends: a region ends often, a function seldom. The names of the table's words are a part of the
program, so that whoever reads the table finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, TypeAlias

from attrs import define, field, frozen
from llvmlite import ir

from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Allocate, Statement, Timed
from spaces.backend.llvm.runtime.blocks import I32, I64, POINTER, Value, i32, i64
from spaces.machine_code import host_target

WHOLE = ""
"""The Func around the regions that are inside no other one."""


class CounterKind(StrEnum):
    """What a counter counts.

    ``VISITS`` and ``TIMED``: how often the region ran, and how many of these runs were timed.
    ``TICKS``: the time of the latter. ``WAITED``: the time of the calls that run its parallel
    loops, and ``TASKS``: the time of the iterations of these loops, in all threads. ``BYTES`` and
    ``ALLOCATIONS``: those of the storage of a Func.
    """

    VISITS = "visits"
    TIMED = "timed"
    TICKS = "ticks"
    WAITED = "waited"
    TASKS = "tasks"
    BYTES = "bytes"
    ALLOCATIONS = "allocations"


@frozen
class Region:
    """The computation of ``func`` inside that of ``parent``."""

    func: str
    parent: str


CounterKey: TypeAlias = tuple[Region | str, CounterKind]
"""What a word of a table counts: a kind of count of a region, or of the storage of a Func."""

_OF_STORAGE = (CounterKind.BYTES, CounterKind.ALLOCATIONS)
_OF_REGIONS = tuple(kind for kind in CounterKind if kind not in _OF_STORAGE)


@frozen
class CounterTable:
    """The words of the table of a program: a number for each region, or Func, and kind of count."""

    words: Mapping[CounterKey, int]

    @staticmethod
    def of(program: LoopProgram) -> CounterTable:
        """The table of a program; without words if nothing in it is timed."""
        regions = dict.fromkeys(_regions(program.body, WHOLE))
        funcs = {region.func for region in regions}
        stored = (one.partition(".")[0] for one in _allocated(program.body))
        storage = dict.fromkeys(func for func in stored if func in funcs)
        keys: list[CounterKey] = [(r, c) for r in regions for c in _OF_REGIONS]
        keys += [(func, count) for func in storage for count in _OF_STORAGE]
        return CounterTable({key: number for number, key in enumerate(keys)})

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the program."""
        return tuple(dict.fromkeys(r for r, _ in self.words if isinstance(r, Region)))


def _regions(root: Statement, parent: str) -> Iterator[Region]:
    stack = [(root, parent)]
    while stack:
        statement, around = stack.pop()
        if isinstance(statement, Timed):
            yield Region(statement.func, around)
            around = statement.func
        stack += [(child, around) for child in reversed(statement.children)]


def _allocated(root: Statement) -> Iterator[str]:
    stack = [root]
    while stack:
        statement = stack.pop()
        if isinstance(statement, Allocate) and not statement.within:
            yield statement.buffer
        stack += statement.children


def table_name(entry: str) -> str:
    """The name of the function that gives the address of the table of a module."""
    return f"{entry}.counters"


def clock_name(entry: str) -> str:
    """The name of the function that reads the clock of a module."""
    return f"{entry}.clock"


@define
class ModuleCounters:
    """The table of a module, and its clock."""

    table: CounterTable
    module: Any
    _memory: Value = field(init=False)

    def __attrs_post_init__(self) -> None:
        if self.table.words:
            kind = ir.ArrayType(I64, len(self.table.words))
            self._memory = ir.GlobalVariable(self.module, kind, "counters")
            self._memory.linkage = "internal"
            self._memory.initializer = ir.Constant(kind, None)
            self._memory.align = 64

    def export(self, entry: str) -> None:
        """Defines the functions by which a caller finds the table and reads the clock."""
        build = self._function(table_name(entry), POINTER)
        build.ret(build.bitcast(self._memory, POINTER))
        build = self._function(clock_name(entry), I64)
        build.ret(self.now(build))

    def _function(self, name: str, result: Any) -> Any:
        """The body of a new function without arguments."""
        function = ir.Function(self.module, ir.FunctionType(result, ()), name)
        return ir.IRBuilder(function.append_basic_block("entry"))

    def now(self, build: Any) -> Value:
        """The clock: the cycles of an x86-64, else nanoseconds. LLVM takes reading it for a change
        of all memory: what is loaded before is loaded again after.
        """
        if host_target().triple.startswith("x86_64"):
            return build.call(self._declared("llvm.readcyclecounter", I64), [])
        place = build.alloca(ir.ArrayType(I64, 2))
        clock = self._declared("clock_gettime", I32, I32, POINTER)
        build.call(clock, [i32(1), build.bitcast(place, POINTER)])  # CLOCK_MONOTONIC of Linux
        parts = [
            build.load(build.gep(place, [i32(0), i32(n)], source_etype=None), typ=I64)
            for n in (0, 1)
        ]
        return build.add(build.mul(parts[0], i64(10**9)), parts[1])

    def _declared(self, name: str, result: Any, *arguments: Any) -> Value:
        known = self.module.globals.get(name)
        return known or ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def add(self, build: Any, key: CounterKey, amount: Value) -> None:
        """Adds to a word of the table, which other threads may change at the same time."""
        kind = ir.ArrayType(I64, len(self.table.words))
        path = [i32(0), i32(self.table.words[key])]
        place = build.gep(self._memory, path, inbounds=True, source_etype=kind)
        build.atomic_rmw("add", place, amount, "monotonic")


@define
class FunctionCounters:
    """The sums of one function.

    Attributes:
        of_module: the table to which they go.
        entry: the end of the first block, where they begin at 0.
        region: the innermost region around the code that is emitted now.
        phase: how many visits each region seems to have had, so that functions that run a few
            visits each time different ones.
    """

    of_module: ModuleCounters
    entry: Any
    region: Region | None = None
    phase: Value | None = None
    _sums: dict[CounterKey, Value] = field(factory=dict)
    _turns: dict[Region, Value] = field(factory=dict)

    @contextmanager
    def timing(self, build: Any, func: str, every: int) -> Iterator[None]:
        """Code emitted inside computes ``func``: counts its visits, and times one in ``every``."""
        around = self.region
        region = Region(func, WHOLE if around is None else around.func)
        self._add(build, (region, CounterKind.VISITS), i64(1))
        self.region = region
        if every == 1:
            start = self.of_module.now(build)
            yield
            self._end(build, region, start)
        else:
            is_timed = self._is_turn(build, region, every)
            begun = self.entry.alloca(I64)
            with build.if_then(is_timed):
                build.store(self.of_module.now(build), begun)
            yield
            with build.if_then(is_timed):
                self._end(build, region, build.load(begun, typ=I64))
        self.region = around

    def _end(self, build: Any, region: Region, start: Value) -> None:
        self._add(build, (region, CounterKind.TICKS), build.sub(self.of_module.now(build), start))
        self._add(build, (region, CounterKind.TIMED), i64(1))

    @contextmanager
    def waiting(self, build: Any) -> Iterator[None]:
        """The call emitted inside runs a parallel loop of the region."""
        with self._lasting(build, CounterKind.WAITED):
            yield

    @contextmanager
    def task(self, build: Any) -> Iterator[None]:
        """Code emitted inside is an iteration of a parallel loop of the region."""
        with self._lasting(build, CounterKind.TASKS):
            yield

    @contextmanager
    def _lasting(self, build: Any, count: CounterKind) -> Iterator[None]:
        if self.region is None:
            yield
            return
        start = self.of_module.now(build)
        yield
        lasted = build.sub(self.of_module.now(build), start)
        self._add(build, (self.region, count), lasted)

    def allocated(self, build: Any, buffer: str, size: Value) -> None:
        """Counts an allocation of that many bytes, if its Func is one of those that are timed."""
        func = buffer.partition(".")[0]
        if (func, CounterKind.BYTES) in self.of_module.table.words:
            self._add(build, (func, CounterKind.BYTES), size)
            self._add(build, (func, CounterKind.ALLOCATIONS), i64(1))

    def _add(self, build: Any, key: CounterKey, amount: Value) -> None:
        """Adds to a sum of this function."""
        if key not in self._sums:
            self._sums[key] = self._local(i64(0))
        place = self._sums[key]
        build.store(build.add(build.load(place, typ=I64), amount), place)

    def _is_turn(self, build: Any, region: Region, every: int) -> Value:
        """Whether this visit of a region is one of those that are timed."""
        if region not in self._turns:
            self._turns[region] = self._local(i64(0) if self.phase is None else self.phase)
        place = self._turns[region]
        turn = build.load(place, typ=I64)
        build.store(build.add(turn, i64(1)), place)
        return build.icmp_unsigned("==", build.urem(turn, i64(every)), i64(0))

    def _local(self, start: Value) -> Value:
        place = self.entry.alloca(I64)
        self.entry.store(start, place)
        return place

    def close(self, build: Any) -> None:
        """Adds the sums to the table, where the function ends."""
        for key, place in self._sums.items():
            self.of_module.add(build, key, build.load(place, typ=I64))
