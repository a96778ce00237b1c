"""Records a run of a loop nest value by value: what is computed, stored and read, in order.

The record is for pictures of small sizes, such as [RK13] Figure 3 of any schedule. Concurrent
iterations run one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, field, frozen

from spaces.backend.arguments import Range
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, For, Statement
from spaces.backend.lowering.start import start
from spaces.backend.replay.inputs import inputs_for
from spaces.backend.replay.machine import Frame, Machine, TooMuchWorkError
from spaces.backend.replay.memory import Iterations, Picture, ReplayBuffer, WrongAccess
from spaces.backend.replay.orders import Order
from spaces.backend.replay.report import Coordinate
from spaces.model.expressions.expr import Const
from spaces.model.nest.loopnest import LoopNest
from spaces.model.schedules.domain_order import LoopKind


@frozen
class StorageBegins:
    """The storage of a buffer begins: what it held before is gone."""

    buffer: str


@define
class RecordedStep:
    """Elements that are computed at once: one, or those of the lanes of a vector.

    Attributes:
        buffer: the buffer that is written.
        written: the coordinates, innermost first.
        read: the buffers and coordinates that were read for them.
        lost: the coordinates whose places the new values took, in a folded buffer.
    """

    buffer: str
    written: list[Coordinate] = field(factory=list)
    read: dict[tuple[str, Coordinate], None] = field(factory=dict)
    lost: list[Coordinate] = field(factory=list)


@frozen
class Recording:
    """A run, or its beginning.

    Attributes:
        sizes: the sizes and parameters of the run.
        images: the (min, extent) of each dimension of each image, innermost first.
        events: what happened, in order.
        complete: whether the run came to its end.
    """

    sizes: Mapping[str, int]
    images: Mapping[str, tuple[Range, ...]]
    events: tuple[StorageBegins | RecordedStep, ...]
    complete: bool


class _EnoughError(Exception):
    """The record is as long as it may be."""


@define
class _Tape:
    """Takes down what the memory tells. Writes without reads between them are one step, up to
    ``lanes`` of them.
    """

    most: int
    lanes: int
    events: list[StorageBegins | RecordedStep] = field(factory=list)
    _read: dict[tuple[str, Coordinate], None] = field(factory=dict)
    _length: int = 0

    def read(self, buffer: str, at: Coordinate) -> None:
        self._read[buffer, at] = None

    def write(self, buffer: str, at: Coordinate, lost: Coordinate | None) -> None:
        last = self.events[-1] if self.events else None
        if isinstance(last, RecordedStep) and self._continues(last, buffer):
            step = last
        else:
            step = RecordedStep(buffer, read=self._read)
            self.events.append(step)
            self._length += len(self._read)
            self._read = {}
        step.written.append(at)
        if lost is not None and lost != at:
            step.lost.append(lost)
        self._length += 1
        if self._length > self.most:
            raise _EnoughError

    def _continues(self, step: RecordedStep, buffer: str) -> bool:
        return step.buffer == buffer and not self._read and len(step.written) < self.lanes

    def allocate(self, buffer: str) -> None:
        self.events.append(StorageBegins(buffer))


@define
class _WatchedPicture(Picture):
    tape: _Tape = field(kw_only=True)

    def read(self, at: Coordinate, path: Iterations) -> tuple[Any, WrongAccess | None]:
        self.tape.read(self.name, at)
        return Picture.read(self, at, path)


@define
class _WatchedBuffer(ReplayBuffer):
    tape: _Tape = field(kw_only=True)

    def read(self, at: Coordinate, path: Iterations) -> tuple[Any, WrongAccess | None]:
        self.tape.read(self.name, at)
        return ReplayBuffer.read(self, at, path)

    def write(
        self, at: Coordinate, value: Any, path: Iterations, unset: WrongAccess | None = None
    ) -> WrongAccess | None:
        place, outside = self._place(at)
        before = None if outside else self.cells.get(place)
        self.tape.write(self.name, at, None if before is None else before.owner)
        return ReplayBuffer.write(self, at, value, path, unset)


@define
class _RecordingMachine(Machine):
    tape: _Tape = field(kw_only=True)

    def storage(self, node: Allocate, frame: Frame) -> ReplayBuffer:
        made = Machine.storage(self, node, frame)
        self.tape.allocate(made.name)
        return _WatchedBuffer(made.name, made.type, made.ranges, made.folds, tape=self.tape)


def record_nest(nest: LoopNest, sizes: Mapping[str, int], most: int) -> Recording:
    """Runs a loop nest and takes down what it does.

    Args:
        nest: the loop nest of a schedule.
        sizes: sizes and parameters by name; sizes left out are chosen small.
        most: the record ends after so many values that are computed or read.

    Raises:
        TooLargeError: a buffer is too large to run value by value.
    """
    inputs = inputs_for(nest, sizes)
    program = start(nest)
    tape = _Tape(most, _widest(program.body))
    memory: dict[str, Picture | ReplayBuffer] = {}
    for image in nest.pipeline.images:
        ranges = inputs.ranges[image.name]
        array = inputs.images[image.name]
        memory[image.name] = _WatchedPicture(image.name, image.type, ranges, array, tape=tape)
    for name, type in nest.pipeline.output_arrays.items():
        ranges = inputs.ranges[name]
        memory[name] = _WatchedBuffer(name, type, ranges, (None,) * len(ranges), tape=tape)
    machine = _RecordingMachine(inputs.constants, Order.ASCENDING, tape=tape)
    complete = True
    try:
        with np.errstate(all="ignore"):
            for _ in machine.run(program.body, Frame({}, memory)):
                pass
    except (_EnoughError, TooMuchWorkError):
        complete = False
    images = {image.name: inputs.ranges[image.name] for image in nest.pipeline.images}
    return Recording(inputs.sizes, images, tuple(tape.events), complete)


def _widest(body: Statement) -> int:
    """The lanes of the widest vectors; 1 without vectors."""
    loops = (one for one in walk_nodes(body) if isinstance(one, For))
    vectors = (one.extent for one in loops if one.kind is LoopKind.VECTORIZED)
    return max((int(e.value) for e in vectors if isinstance(e, Const)), default=1)
