"""The launches of kernels, and the conditions that hold there."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.backend.ir.host import (
    BLOCK,
    DeviceFunction,
    GlobalArray,
    GpuProgram,
    HostBlock,
    HostIf,
    HostLoop,
    HostNode,
    HostPart,
    Launch,
)
from spaces.constraints.reasoning.formulas import within
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import never_wraps

_ZERO = constant(0, Int32)


@frozen
class LaunchSite:
    """A launch of a kernel.

    Attributes:
        known: conditions that hold there: on sizes, on the loops of the host around it, and on the
            place of a block in its grid.
        uniform: the variables with one value for all threads of a block: places of blocks, host
            loops.
    """

    kernel: DeviceFunction
    known: tuple[Expr, ...]
    uniform: tuple[str, ...]


def launches(program: GpuProgram) -> tuple[LaunchSite, ...]:
    """All launches of a program, in order. Each knows the size checks of the program and the
    assumptions of its case. Proofs need no conditions on images, and promises about numbers that
    wrap are not formulas.
    """
    images = {b.name for b in program.buffers if not b.is_output}
    conditions = (*program.assumptions, *(r.condition for r in program.size_checks))
    known = tuple(
        c
        for c in conditions
        if never_wraps(c) and not images & {name.split(".")[0] for name in variables(c)}
    )
    return tuple(_launches(program.body, known, ()))


def _launches(
    node: HostNode, known: tuple[Expr, ...], loops: tuple[str, ...]
) -> Iterator[LaunchSite]:
    match node:
        case HostBlock(body=body):
            for part in body:
                yield from _launches(part, known, loops)
        case HostLoop(var=var, min=low, extent=extent, body=inside):
            rounds = within(var, low, low + extent - 1)
            yield from _launches(inside, (*known, *rounds), (*loops, var.name))
        case HostIf(condition=condition, body=inside):
            yield from _launches(inside, (*known, condition), loops)
        case GlobalArray(body=inside):
            yield from _launches(inside, known, loops)
        case Launch(kernel=kernel):
            places = [
                condition
                for place, extent in zip(BLOCK, kernel.grid, strict=True)
                for condition in within(place, _ZERO, extent - 1)
            ]
            names = tuple(place.name for place in BLOCK)
            yield LaunchSite(kernel, (*known, *places), (*loops, *names))
        case HostPart():
            return
