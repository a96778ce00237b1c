"""The steps of a GPU program: the host's steps run in order, the blocks of a launch concurrently,
and the threads of a block from barrier to barrier.
"""

from __future__ import annotations

import itertools

from attrs import define

from spaces.backend.ir.host import (
    BLOCK,
    THREAD,
    DeviceFunction,
    GlobalArray,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
)
from spaces.backend.ir.sizes import elements
from spaces.backend.ir.statements import Barrier
from spaces.backend.replay.machine import MOST_WORK, Frame, Machine, TooMuchWorkError
from spaces.backend.replay.memory import ReplayBuffer, WrongAccess
from spaces.backend.replay.orders import TaskSteps, scheduled
from spaces.backend.replay.report import FaultKind


def host_steps(machine: Machine, node: HostNode, frame: Frame) -> TaskSteps:
    """The steps of the host and of all kernels that it launches."""
    match node:
        case HostBlock(body=body):
            for part in body:
                yield from host_steps(machine, part, frame)
        case HostLoop(var=var, body=inside):
            low, extent = machine.value(node.min, frame), machine.value(node.extent, frame)
            for i in range(low, low + extent):
                frame.loops[var.name] = i
                yield from host_steps(machine, inside, frame)
        case HostIf(condition=condition, body=inside):
            if machine.value(condition, frame):
                yield from host_steps(machine, inside, frame)
        case GlobalArray(buffer=name, type=type, body=inside):
            total = elements(node.sizes, lambda size: machine.value(size, frame))
            frame.buffers[name] = ReplayBuffer(name, type, ((0, total),), (None,))
            yield from host_steps(machine, inside, frame)
            del frame.buffers[name]
        case Launch(kernel=kernel):
            yield from _launch(machine, kernel, frame)
        case HostPart(body=statement):
            yield from machine.run(statement, frame)


def _launch(machine: Machine, kernel: DeviceFunction, frame: Frame) -> TaskSteps:
    x, y, z = (machine.value(extent, frame) for extent in kernel.grid)
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    if x * y * z * threads > MOST_WORK:
        raise TooMuchWorkError
    blocks = [
        (dict(zip((v.name for v in BLOCK), place[::-1], strict=True)), f"block {place[::-1]}")
        for place in itertools.product(range(z), range(y), range(x))
    ]

    def block(task: Frame) -> TaskSteps:
        return _Block(machine, kernel, task).steps()

    yield from machine.concurrently(blocks, block, frame)


@define
class _Thread:
    """One thread of a block.

    Attributes:
        waits: the barrier at which it waits; None if it waits at none.
        is_done: whether it has ended.
    """

    frame: Frame
    steps: TaskSteps
    waits: Barrier | None = None
    is_done: bool = False

    def to_barrier(self) -> TaskSteps:
        """Runs to the next barrier, or to the end."""
        self.waits = None
        for step in self.steps:
            if step is not None:
                self.waits = step
                return
            yield None
        self.is_done = True

    @property
    def place(self) -> tuple[object, ...]:
        """The barrier at which it waits, and the round of each loop around it."""
        own = {v.name for v in THREAD}
        rounds = {name: i for name, i in self.frame.loops.items() if name not in own}
        return id(self.waits), rounds


@define
class _Block:
    """The threads of one block and their shared memory."""

    machine: Machine
    kernel: DeviceFunction
    frame: Frame

    def steps(self) -> TaskSteps:
        for array in self.kernel.shared:
            storage = ReplayBuffer(array.buffer, array.type, ((0, array.elements),), (None,))
            self.frame.buffers[array.buffer] = storage
        threads = self._threads()
        while threads:
            self._begin_interval(threads)
            yield from scheduled([t.to_barrier() for t in threads], self.machine.order)
            self._check(threads)
            threads = [t for t in threads if not t.is_done]

    def _threads(self) -> list[_Thread]:
        x, y, z = self.kernel.block
        threads = []
        for place in itertools.product(range(z), range(y), range(x)):
            names = dict(zip((v.name for v in THREAD), place[::-1], strict=True))
            frame = self.frame.task(0, names, f"thread {place[::-1]}")
            threads.append(_Thread(frame, self.machine.run(self.kernel.body, frame)))
        return threads

    def _begin_interval(self, threads: list[_Thread]) -> None:
        """Starts a new interval: steps after a barrier are not concurrent with steps before it."""
        interval = self.machine.next_loop()
        for thread in threads:
            *outer, (_, words) = thread.frame.path
            thread.frame.path = (*outer, (interval, words))

    def _check(self, threads: list[_Thread]) -> None:
        """Checks that all threads wait at the same barrier, or that all have ended."""
        waiting = [t for t in threads if not t.is_done]
        if not waiting:
            return
        parted = next((t for t in threads if t.is_done or t.place != waiting[0].place), None)
        if parted is None:
            return
        where = "ends without it" if parted.is_done else "waits at another one"
        detail = f"{parted.frame.path[-1][1]} {where}"
        finding = WrongAccess(FaultKind.DIVERGED, detail)
        self.machine.report("barrier", self.kernel.name, (), finding, waiting[0].frame)
