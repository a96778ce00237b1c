"""GPU programs with barriers removed, moved or put at wrong places."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from spaces import Directives, LoopNest, Pipeline, Schedule, loop_nest
from spaces.backend.ir.host import DeviceFunction, GpuProgram, HostBlock, HostNode, HostPart, Launch
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.statements import EMPTY, Barrier, Statement
from spaces.backend.lowering.gpu.passes import lower_gpu

Change = Callable[[Statement], Statement]


def lowered(pipeline: Pipeline, scheduled: Schedule | Directives) -> tuple[LoopNest, GpuProgram]:
    plain = scheduled if isinstance(scheduled, Schedule) else scheduled.schedule
    nest = loop_nest(pipeline, plain)
    return nest, lower_gpu(nest)


def barrier_places(program: GpuProgram) -> list[tuple[str, int]]:
    """Each barrier: its kernel's name, and its number there."""
    return [
        (kernel.name, number)
        for kernel in program.kernels
        for number in range(sum(isinstance(s, Barrier) for s in walk_nodes(kernel.body)))
    ]


def changed(program: GpuProgram, name: str, change: Change) -> GpuProgram:
    """The program with the body of the kernel ``name`` changed."""

    def host(node: HostNode) -> HostNode:
        match node:
            case HostBlock(body=body):
                return HostBlock(tuple(map(host, body)))
            case Launch(kernel=kernel):
                return Launch(device(kernel))
            case HostPart():
                return node
        return evolve(node, body=host(node.body))

    def device(kernel: DeviceFunction) -> DeviceFunction:
        return evolve(kernel, body=change(kernel.body)) if kernel.name == name else kernel

    return evolve(program, body=host(program.body), kernels=tuple(map(device, program.kernels)))


def at_barrier(number: int, change: Change) -> Change:
    """A change of only the barrier with that number in a body."""
    seen = 0

    def visit(statement: Statement) -> Statement:
        nonlocal seen
        if not isinstance(statement, Barrier):
            return map_children(statement, visit)
        seen += 1
        return change(statement) if seen == number + 1 else statement

    return visit


def without(program: GpuProgram, kernel: str, number: int) -> GpuProgram:
    """The program without one of its barriers."""
    return changed(program, kernel, at_barrier(number, lambda _: EMPTY))
