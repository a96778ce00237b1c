"""Runs a loop program one statement at a time, in plain Python: the oracle of the lowering passes.

Every access must be inside its buffer: within the extents of an allocation, or after flattening
within the product of its sizes. In an array of the caller, it must be at one of its places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    Barrier,
    Block,
    For,
    If,
    ParallelFor,
    Prefetch,
    Provide,
    Recall,
    Statement,
    Store,
    TupleAssignment,
    updated,
)
from tests.backend.lowering.expression_interpreter import Buffer, Cells, Values, raise_outside


class Stopped(Exception):
    """An assert of a program failed, with a message and values."""


def run_program(
    program: LoopProgram,
    sizes: Mapping[str, Any],
    memory: Mapping[str, Cells],
    places: Mapping[str, Collection[Any]] | None = None,
    negative: bool = False,
) -> dict[str, Cells]:
    """The contents of the caller's arrays after a run that begins with ``memory``.

    Args:
        program: a program; after flattening it has :class:`~spaces.backend.ir.statements.Store`.
        sizes: the values of its free variables.
        memory: the cells of each of the caller's arrays.
        places: the places at which the program may write each array; an array without places may be
            written anywhere.
        negative: which of the two garbage values memory holds.

    Raises:
        OutsideError: it reads or writes outside of its memory.
        Stopped: a requirement of its values does not hold.
    """
    types = {buffer.name: buffer.type for buffer in program.buffers}
    outputs = {buffer.name for buffer in program.buffers if buffer.is_output}
    buffers = {}
    for name, cells in memory.items():
        allowed = None if places is None else places.get(name)
        holds = allowed.__contains__ if allowed is not None else lambda at: True
        is_image = name not in outputs and name in types
        own = cells if is_image else dict(cells)
        buffers[name] = Buffer(name, types.get(name), own, holds, is_complete=is_image)
    run = _Run(dict(sizes), buffers, negative, is_flat(program))
    run.statement(program.body)
    return {name: run.buffers[name].cells for name in memory}


def is_flat(program: LoopProgram) -> bool:
    """Whether its memory is flat."""
    return not any(isinstance(s, Provide) for s in walk_nodes(program.body))


class _Run(Values):
    """A run of one program."""

    def __init__(
        self,
        variables: dict[str, Any],
        buffers: dict[str, Buffer],
        negative: bool,
        is_flat: bool,
    ) -> None:
        super().__init__(variables, buffers, negative)
        self.is_flat = is_flat

    def statement(self, node: Statement) -> None:
        match node:
            case Block(body=body):
                for part in body:
                    self.statement(part)
            case For() | ParallelFor():
                self._loop(node)
            case If():
                taken = node.body if self.condition(node.condition) else node.otherwise
                if taken is not None:
                    self.statement(taken)
            case Allocate():
                self._allocate(node)
            case Provide() | Store():
                self._stored([updated(node)])
            case TupleAssignment(body=parts):
                self._stored(parts)
            case Prefetch(at=at):
                for place in at:
                    self.index(place)  # the element need not exist
            case Recall(key=key, extents=extents, body=body):
                for number in (*key, *extents):
                    self.value(number)
                self.statement(body)  # nothing is kept
            case Barrier():
                pass  # threads run one after another
            case Assert(message=message, values=values):
                raise Stopped(message, tuple(self.value(v) for v in values))
            case _:
                raise TypeError(f"{node} is no statement of a loop program")

    def _loop(self, loop: For | ParallelFor) -> None:
        low, extent = self.index(loop.min), self.index(loop.extent)
        hidden: dict[str, Any] = {}
        absent: dict[str, Buffer] = {}
        if isinstance(loop, ParallelFor):  # its body sees only the names that it declares
            unused = set(self.variables) - {v.name for v in loop.variables}
            hidden = {name: self.variables.pop(name) for name in unused}
            others = set(self.buffers) - set(loop.buffers)
            absent = {name: self.buffers.pop(name) for name in others}
        shadowed = self.variables.get(loop.var.name)
        iterations = range(low, low + extent)
        for i in reversed(iterations) if isinstance(loop, ParallelFor) else iterations:
            self.variables[loop.var.name] = i
            self.statement(loop.body)
        self.variables.pop(loop.var.name, None)
        if shadowed is not None:
            self.variables[loop.var.name] = shadowed
        self.variables.update(hidden)
        self.buffers.update(absent)

    def _allocate(self, node: Allocate) -> None:
        kept = self.buffers.get(node.buffer)
        self.buffers[node.buffer] = self._storage(node)
        self.statement(node.body)
        del self.buffers[node.buffer]
        if kept is not None:
            self.buffers[node.buffer] = kept

    def _storage(self, node: Allocate) -> Buffer:
        """New memory, full of garbage; memory of another buffer if it lies within one."""
        if not self.is_flat:
            return self._box(node)
        width = node.type.bytes
        size = prod(max(0, self.index(size)) for size in node.sizes) * width
        if node.within:
            size = self.buffers[node.within].bytes

        def holds(at: int) -> bool:
            return at >= 0 and (at + 1) * width <= size

        return Buffer(node.buffer, node.type, {}, holds, bytes=size)

    def _box(self, node: Allocate) -> Buffer:
        """Memory by coordinates; along a folded dimension, by coordinates modulo the fold."""
        lows, extents = (tuple(map(self.index, ends)) for ends in (node.mins, node.extents))
        folds = tuple(None if fold is None else self.index(fold) for fold in node.folds)

        def place(at: Sequence[int]) -> tuple[int, ...]:
            folded = zip(at, lows, folds, strict=True)
            return tuple(x - low if fold is None else x % fold for x, low, fold in folded)

        def holds(at: tuple[int, ...]) -> bool:
            return all(0 <= x < extent for x, extent in zip(at, extents, strict=True))

        return Buffer(node.buffer, node.type, {}, holds, place)

    def _stored(self, stores: Sequence[Provide | Store]) -> None:
        """Stores several values; evaluates all values and places before the first store."""
        found: list[tuple[Buffer, list[Any], list[Any]]] = []
        for node in stores:
            value = self.value(node.value)
            if isinstance(node, Provide):
                buffer = self.buffers[node.func]
                found.append((buffer, [buffer.place([self.index(a) for a in node.args])], [value]))
                continue
            places = self.places(node.index)
            if node.index.type.lanes == 1:
                places, value = [places], [value]
            elif not isinstance(value, list):
                raise TypeError(f"{node} stores a scalar in lanes")
            kept = [True] * len(places) if node.mask is None else self.value(node.mask)
            lanes = [at for at, keep in zip(places, kept, strict=True) if keep]
            values = [v for v, keep in zip(value, kept, strict=True) if keep]
            found.append((self.buffers[node.buffer], lanes, values))
        for buffer, places, values in found:
            for at, value in zip(places, values, strict=True):
                if not buffer.holds(at):
                    raise_outside(buffer, at)
                buffer.cells[at] = value
