"""A GPU program run thread by thread, over memory that knows who wrote what.

Threads of a block run to their next barrier one after the other; blocks run one after the other.
Nothing orders what two threads do between the same barriers, or what two blocks do at all. An
element that both touch holds garbage, unless both write the same value, or both change it in one
step by the same operator. A barrier that some threads of a block do not reach is wrong at once, as
is an access outside a buffer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from spaces.backend.ir.host import (
    BLOCK,
    THREAD,
    DeviceFunction,
    GlobalArray,
    GpuProgram,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
    SharedArray,
)
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import (
    Allocate,
    Barrier,
    Block,
    For,
    If,
    Prefetch,
    Statement,
    Store,
    TupleAssignment,
    Update,
    updated,
)
from spaces.backend.ir.vectors import Load
from spaces.model.expressions.expr import Expr, Op, Variable
from spaces.model.expressions.types import Type
from tests.differential.python_code import MEANINGS, Names, same, source, wrapped
from tests.differential.shadow import MOST_STEPS, ShadowMemory, TooLong, Trouble

Key = tuple[int, tuple[int, ...], int, tuple[int, ...]]
"""Launch, block, number of barriers passed, thread."""


@define
class Worker:
    """A thread of a kernel, or the host; ``key`` says when and where it runs."""

    key: Key = (-1, (), 0, ())


HOST = Worker()


def are_concurrent(a: Key, b: Key) -> bool:
    """Whether nothing orders two workers."""
    if a == b or a[0] != b[0]:
        return False
    return a[1] != b[1] or (a[2] == b[2] and a[3] != b[3])


@define
class Element:
    """A value, who wrote it and read it since, and the operator by which all of those who wrote it
    changed it in one step.
    """

    value: Any
    writers: list[Key]
    readers: list[Key] = field(factory=list)
    operator: str = ""


class Buffer:
    """Flat memory."""

    def __init__(self, name: str, type: Type, elements: int, memory: ShadowMemory) -> None:
        self.name, self.type, self.memory = name, type, memory
        self.elements: list[Element | None] = [None] * elements

    def _known(self, index: int) -> Element | None:
        if not 0 <= index < len(self.elements):
            raise Trouble("outside", f"{self.name}[{index}] of {len(self.elements)} elements")
        return self.elements[index]

    def store(self, index: int, value: Any, worker: Worker) -> None:
        """Store an element."""
        known, key = self._known(index), worker.key
        if known is not None:
            if same(known.value, value):
                if key not in known.writers:
                    known.writers.append(key)
                return
            value = self._ordered(known, index, key, value)
        self.elements[index] = Element(value, [key])

    def change(
        self, index: int, operator: str, change: Callable[[Any], Any], worker: Worker
    ) -> None:
        """Let an element become what ``change`` makes of it, in one step."""
        known, key = self._known(index), worker.key
        if known is None:
            message = f"{self.name}[{index}] is changed before it is computed"
            value = self.memory.garbage(self.type, "never computed", message)
            self.elements[index] = Element(change(value), [key], operator=operator)
            return
        value = change(known.value)
        if known.operator != operator:
            value = self._ordered(known, index, key, value)
            self.elements[index] = Element(value, [key], operator=operator)
            return
        if any(are_concurrent(other, key) for other in known.readers):
            raise Trouble("race", f"{self.name}[{index}] is read and set without a barrier")
        writers = [w for w in known.writers if are_concurrent(w, key)]
        self.elements[index] = Element(value, [*writers, key], operator=operator)

    def _ordered(self, known: Element, index: int, key: Key, value: Any) -> Any:
        """``value``, or garbage where another thread may set the element at the same time."""
        if any(are_concurrent(other, key) for other in known.readers):
            raise Trouble("race", f"{self.name}[{index}] is read and set without a barrier")
        if any(are_concurrent(other, key) for other in known.writers):
            message = f"{self.name}[{index}] is set by two threads"
            return self.memory.garbage(self.type, "race", message)
        return value

    def load(self, index: int, worker: Worker) -> Any:
        """An element."""
        known, key = self._known(index), worker.key
        if known is None:
            message = f"{self.name}[{index}] is read before it is computed"
            return self.memory.garbage(self.type, "never computed", message)
        one = any if known.operator else all
        if one(are_concurrent(other, key) for other in known.writers):
            message = f"{self.name}[{index}] is read without a barrier after it is set"
            return self.memory.garbage(self.type, "race", message)
        if not known.readers or known.readers[-1] != key:
            known.readers.append(key)
        return known.value


@define
class Source:
    """The flat memory of an image."""

    name: str
    values: Sequence[Any]

    def load(self, index: int, worker: Worker) -> Any:
        """An element."""
        if not 0 <= index < len(self.values):
            raise Trouble("image", f"{self.name}[{index}] of {len(self.values)} elements")
        return self.values[index]


class Machine:
    """What the generated host calls."""

    def __init__(self, memory: ShadowMemory) -> None:
        self.memory = memory
        self.launches = itertools.count()
        self.left = MOST_STEPS

    def spend(self, steps: int) -> int:
        """Take ``steps`` from what is left."""
        self.left -= max(1, steps)
        if self.left < 0:
            raise TooLong
        return steps

    def buffer(self, name: str, type: Type, elements: int) -> Buffer:
        """New memory."""
        return Buffer(name, type, elements, self.memory)

    def launch(
        self,
        kernel: Callable[..., Iterator[None]],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared: tuple[SharedArray, ...],
        buffers: Mapping[str, Buffer | Source],
    ) -> None:
        """Run a kernel."""
        number = next(self.launches)
        for place in itertools.product(*(range(n) for n in grid)):
            local = dict(buffers)
            for array in shared:
                local[array.buffer] = self.buffer(array.buffer, array.type, array.elements)
            workers = [
                Worker((number, place, 0, thread))
                for thread in itertools.product(*(range(n) for n in block))
            ]
            self.spend(len(workers))
            self._block([(w, kernel(dict(local), w, *w.key[3], *place)) for w in workers])

    def _block(self, threads: list[tuple[Worker, Iterator[None]]]) -> None:
        """Run the threads of a block from barrier to barrier, the last one first."""
        waiting = threads
        while waiting:
            reached = []
            for worker, thread in reversed(waiting):
                for _ in thread:
                    reached.append((worker, thread))
                    break
            if reached and len(reached) < len(threads):
                raise Trouble("barrier", f"{len(reached)} of {len(threads)} threads reach it")
            waiting = reached[::-1]
            for worker, _ in waiting:
                launch, place, passed, thread_place = worker.key
                worker.key = (launch, place, passed + 1, thread_place)


class GpuMachine:
    """A GPU program as a Python function."""

    def __init__(self, program: GpuProgram) -> None:
        self.program = program
        self.names = Names()
        self._lines: list[str] = []
        self._bound: set[str] = {v.name for v in (*THREAD, *BLOCK)}
        self._constants: dict[str, Any] = dict(MEANINGS)
        self._host(program.body, "    ")
        head = ["def run(E, M, B, HOST):", "    W = HOST"]
        head += [
            f"    {python} = E[{name!r}]"
            for name, python in self.names.items()
            if name not in self._bound
        ]
        text = "\n".join((*head, *self._lines, "    return B"))
        exec(compile(text, "<gpu program>", "exec"), self._constants)
        self._run: Callable[..., None] = self._constants["run"]

    def run(
        self,
        values: Mapping[str, int | float],
        images: Mapping[str, Sequence[Any]],
        elements: Mapping[str, int],
        memory: ShadowMemory,
    ) -> dict[str, list[Any]]:
        """The elements of the outputs after a run; None where nothing was stored.

        Args:
            values: size variables, strides included, and scalar parameters.
            images: the elements of each image.
            elements: how many elements each output has.
            memory: what to note reads of garbage in.

        Raises:
            Trouble: something is wrong with the program.
            TooLong: it takes too many steps.
        """
        outputs = {
            b.name: Buffer(b.name, b.type, elements[b.name], memory)
            for b in self.program.buffers
            if b.is_output
        }
        sources = {name: Source(name, held) for name, held in images.items()}
        self.start(values, Machine(memory), {**sources, **outputs})
        return {
            name: [None if e is None else e.value for e in output.elements]
            for name, output in outputs.items()
        }

    def start(
        self,
        values: Mapping[str, int | float],
        machine: Machine,
        buffers: Mapping[str, Any],
    ) -> None:
        """Run over memory that is there: objects with the methods of :class:`Buffer`."""
        self._run(values, machine, dict(buffers), HOST)

    def _constant(self, value: Any) -> str:
        name = f"K{len(self._constants)}"
        self._constants[name] = value
        return name

    def _host(self, node: HostNode, pad: str) -> None:
        match node:
            case HostBlock(body=()):
                self._lines.append(f"{pad}pass")
            case HostBlock(body=body):
                for part in body:
                    self._host(part, pad)
            case HostLoop():
                self._for(node.var, node.min, node.extent, pad)
                self._host(node.body, pad + "    ")
            case HostIf():
                self._lines.append(f"{pad}if {self._value(node.condition, pad)}:")
                self._host(node.body, pad + "    ")
            case GlobalArray():
                self._allocate(node.buffer, node.type, node.sizes, pad)
                self._host(node.body, pad)
            case HostPart():
                self._statement(node.body, pad)
            case Launch(kernel=kernel):
                self._launch(kernel, pad)

    def _launch(self, kernel: DeviceFunction, pad: str) -> None:
        grid = ", ".join(self._value(e, pad) for e in kernel.grid)
        axes = ", ".join(self.names(v.name) for v in (*THREAD, *BLOCK))
        name = f"kernel{len(self._lines)}"
        self._lines.append(f"{pad}def {name}(B, W, {axes}):")
        self._statement(kernel.body, pad + "    ")
        if not any(isinstance(s, Barrier) for s in walk_nodes(kernel.body)):
            self._lines += [f"{pad}    if False:", f"{pad}        yield"]
        shared = self._constant(kernel.shared)
        self._lines.append(f"{pad}M.launch({name}, ({grid},), {kernel.block}, {shared}, B)")

    def _statement(self, node: Statement, pad: str) -> None:
        match node:
            case Block(body=()):
                self._lines.append(f"{pad}pass")
            case Block(body=body):
                for part in body:
                    self._statement(part, pad)
            case For():
                self._for(node.var, node.min, node.extent, pad)
                self._statement(node.body, pad + "    ")
            case Allocate():
                self._allocate(node.buffer, node.type, node.sizes, pad)
                self._statement(node.body, pad)
            case If():
                self._lines.append(f"{pad}if {self._value(node.condition, pad)}:")
                self._statement(node.body, pad + "    ")
                if node.otherwise is not None:
                    self._lines.append(f"{pad}else:")
                    self._statement(node.otherwise, pad + "    ")
            case Store(update=Update(operator=operator, shared=True)):
                self._change(node, operator, pad)
            case Store():
                self._stores([updated(node)], pad)
            case TupleAssignment(body=parts):
                self._stores([part for part in parts if isinstance(part, Store)], pad)
            case Prefetch():
                self._lines.append(f"{pad}pass")
            case Barrier():
                self._lines.append(f"{pad}yield")
            case _:
                raise TypeError(f"{type(node).__name__} is no statement of a GPU program")

    def _stores(self, stores: list[Store], pad: str) -> None:
        """Values and places of all of them are found before any changes."""
        found = [f"({self._value(s.index, pad)}, {self._value(s.value, pad)})" for s in stores]
        names = [f"new{len(self._lines)}_{number}" for number in range(len(stores))]
        self._lines.append(f"{pad}{', '.join(names)}, = {', '.join(found)},")
        for store, name in zip(stores, names, strict=True):
            self._lines.append(f"{pad}B[{store.buffer!r}].store(*{name}, W)")

    def _change(self, store: Store, operator: str, pad: str) -> None:
        """An element is read, changed and stored in one step."""
        type, number = store.value.type, len(self._lines)
        now, by = Variable(type, "update.now"), Variable(type, "update.value")
        self._bound |= {now.name, by.name}
        index, operand = self._value(store.index, pad), self._value(store.value, pad)
        self._lines.append(f"{pad}{self.names(by.name)} = {operand}")
        self._lines.append(f"{pad}def change{number}({self.names(now.name)}):")
        changed = self._value(Op(type, operator, (now, by)), pad + "    ")
        self._lines.append(f"{pad}    return {wrapped(type, changed)}")
        where = f"{index}, {operator!r}, change{number}"
        self._lines.append(f"{pad}B[{store.buffer!r}].change({where}, W)")

    def _for(self, var: Variable, low: Expr, extent: Expr, pad: str) -> None:
        start, count = self._value(low, pad), self._value(extent, pad)
        self._bound.add(var.name)
        name = self.names(var.name)
        first = f"first{len(self._lines)}"
        self._lines.append(f"{pad}{first} = {start}")
        self._lines.append(f"{pad}for {name} in range({first}, {first} + M.spend({count})):")

    def _allocate(self, buffer: str, type: Type, sizes: Sequence[Expr], pad: str) -> None:
        count = " * ".join(("1", *(f"max({self._value(size, pad)}, 0)" for size in sizes)))
        made = f"M.buffer({buffer!r}, {self._constant(type)}, {count})"
        self._lines.append(f"{pad}B[{buffer!r}] = {made}")

    def _value(self, expr: Expr, pad: str) -> str:
        return source(expr, self.names, self._load, self._lines, pad)

    @staticmethod
    def _load(node: Expr, parts: list[str]) -> str:
        if not isinstance(node, Load):
            raise TypeError(f"{node!r} is no expression of a GPU program")
        return f"B[{node.buffer!r}].load({parts[0]}, W)"
