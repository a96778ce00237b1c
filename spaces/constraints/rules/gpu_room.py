"""Advice for a kernel whose shared memory does not fit."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from spaces.constraints.rules.phrases import listed
from spaces.constraints.sizes.kernels import Kernel, allocation_bytes, kernels
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import INTEGERS, read_all
from spaces.model.nest.bounds import Bounds
from spaces.model.schedules.domain_order import Split

_SMALLER = (
    "Choose a smaller tile, compute one of these Funcs inside the thread loops or inline, or store "
    "it outside the kernel."
)


def room_in_shared_memory(bounds: Bounds, kernel: Kernel, fits: Callable[[Kernel], Expr]) -> str:
    """A sentence on how the shared memory of a kernel can fit: a smaller tile, or where even a tile
    of one element does not fit, the Funcs to place elsewhere.
    """
    smallest = _of_one_element(bounds, kernel)
    if smallest is None or _holds(fits(smallest)) is not False:
        return _SMALLER
    kept = sorted(smallest.shared, key=lambda a: _number(allocation_bytes(a)) or 0)
    moved = []
    while kept and not _holds(fits(evolve(smallest, shared=tuple(kept)))):
        moved.append(kept.pop().func)
    tile = f"Even a tile of 1 element needs {_number(smallest.shared_bytes)} bytes. "
    where = "outside the kernel (compute_root), inside the thread loops or inline"
    return f"{tile}Compute {listed(moved)} {where}."


def _of_one_element(bounds: Bounds, kernel: Kernel) -> Kernel | None:
    """The kernel when each split of its stage has factor 1; None where that is another kernel."""
    schedule = bounds.schedule
    order = schedule.of(kernel.func).stages[kernel.stage]
    splits = tuple(evolve(r, factor=1) if isinstance(r, Split) else r for r in order.splits)
    smaller = schedule.with_stage(kernel.func, kernel.stage, evolve(order, splits=splits))
    found = kernels(Bounds(bounds.pipeline, smaller, bounds.assumptions))
    return next((k for k in found if (k.func, k.stage) == (kernel.func, kernel.stage)), None)


def _holds(condition: Expr) -> bool | None:
    """Whether a condition holds; None where it depends on what is not known."""
    number = _number(condition)
    return None if number is None else bool(number)


def _number(expr: Expr) -> int | None:
    return None if expr.names else int(read_all((expr,), {}, INTEGERS)[0])
