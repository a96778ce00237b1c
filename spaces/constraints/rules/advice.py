"""Advice: what a schedule says without effect. Legal, but hardly what its author meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from spaces.constraints.devices import GpuDevice
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import GPU_KINDS, Records
from spaces.model.schedule import DomainOrder, Loop, Memory


@frozen
class Advice:
    """Something without effect.

    Attributes:
        id: the kind of advice.
        func: the Func it is about.
        message: what has no effect, and why.
    """

    id: str
    func: str
    message: str

    def __str__(self) -> str:
        return f"{self.id}: {self.message}"


def advice(records: Records) -> tuple[Advice, ...]:
    """All advice on a legal schedule."""
    return tuple(item for find in _FINDERS for item in find(records))


def _no_kernel(records: Records) -> Iterator[Advice]:
    loops = (
        loop
        for func in records.computed
        for order in records.entry(func).stages
        for loop in order.loops
    )
    if isinstance(records.device, GpuDevice) and all(loop.kind not in GPU_KINDS for loop in loops):
        output = records.pipeline.outputs[-1]
        yield Advice(
            "advice.no-kernel",
            output,
            f"No loop runs on the GPU {records.device.name}: all is computed by the CPU. Map loops "
            f"of {output} to the GPU with gpu_tile.",
        )


def _order_of_inlined(records: Records) -> Iterator[Advice]:
    for function in records.pipeline.functions:
        if not records.is_inlined(function.name):
            continue
        plain = DomainOrder(loops=tuple(Loop(d) for d in reversed(function.stages[0].dimensions)))
        if records.entry(function.name).stages[0] != plain:
            yield Advice(
                "advice.inlined-order",
                function.name,
                f"The loops of {stage_name(function.name, 0)} are scheduled, but it is inlined and "
                "has none. Compute it somewhere, or leave these directives out.",
            )


def _storage_of_inlined(records: Records) -> Iterator[Advice]:
    for function in records.pipeline.functions:
        entry = records.entry(function.name)
        if records.is_inlined(function.name) and (entry.folds or entry.memory is not Memory.AUTO):
            yield Advice(
                "advice.inlined-storage",
                function.name,
                f"The storage of {function.name} is scheduled, but it is inlined and has none. "
                "Compute it somewhere, or leave fold_storage and store_in out.",
            )


_FINDERS: tuple[Callable[[Records], Iterator[Advice]], ...] = (
    _no_kernel,
    _order_of_inlined,
    _storage_of_inlined,
)
