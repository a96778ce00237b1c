"""The kernels of a schedule for a GPU: their blocks, what they keep where, and what they move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spaces.backend.cuda.nvrtc import KernelResources
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.devices.occupancy import occupancy
from spaces.cost.gpu.transactions import TRANSACTION_BYTES
from spaces.markup.element import Child, Markup, joined, table, tag
from spaces.markup.quantities import shown_bytes, shown_count, shown_share
from spaces.pages.counted_kernels import CountedKernels
from spaces.pages.facts import Amount, KernelFact, ScheduleFacts


def kernel_view(facts: ScheduleFacts, counted: CountedKernels | None) -> Markup:
    """Tables of the kernels: their blocks and resources, and the transactions with memory.

    Args:
        facts: the numbers of the schedule.
        counted: what the compiler counts; None if it was not asked.
    """
    known: Mapping[tuple[str, int], KernelResources] = {}
    if counted is not None and facts.features is not None:
        known = counted.by_stage(facts.features)
    rows = [_resources(one, known.get((one.name, one.stage)), facts) for one in facts.kernels]
    columns = (
        "kernel", "blocks", "threads of a block", "shared memory", "each thread keeps",
        "registers", "spills", "occupancy", "limited by",
    )  # fmt: skip
    moved = [_moved(one) for one in facts.kernels]
    headers = ("kernel", "loads, global", "stores, global", "local memory", "loads, shared")
    return joined(
        tag("div", table(columns, rows, "packed"), class_="scroll"),
        [tag("p", one, class_="quiet") for one in _notes(counted, bool(known))],
        tag("h3", "Transactions with memory, counted by the model"),
        tag("div", table(headers, moved, "packed"), class_="scroll"),
        tag("p", _TRANSACTIONS, class_="quiet"),
    )


_TRANSACTIONS = (
    "The cost model occupancy counts them from the index expressions; no kernel ran. A transaction "
    f"serves up to {TRANSACTION_BYTES} bytes for the threads of a warp. Local memory has what a "
    "thread keeps and registers do not hold. Loads from shared memory are those of single threads."
)


def _resources(
    kernel: KernelFact, counted: KernelResources | None, facts: ScheduleFacts
) -> list[Child]:
    row: list[Child] = [
        tag("span", kernel.name, data_func=kernel.name),
        shown_count(kernel.blocks),
        " × ".join(map(shown_count, kernel.block)),
        shown_bytes(kernel.shared_bytes),
        shown_bytes(kernel.private_bytes),
    ]
    if counted is None:
        assumed = "" if kernel.occupancy is None else shown_share(kernel.occupancy)
        return [*row, "", "", assumed, ""]
    spills = counted.spill_store_bytes
    spilled = shown_bytes(spills) if spills else "none"
    return [*row, shown_count(counted.registers), spilled, *_occupancy(kernel, counted, facts)]


def _occupancy(
    kernel: KernelFact, counted: KernelResources, facts: ScheduleFacts
) -> tuple[str, str]:
    """With the registers that the compiler counts, and what limits it."""
    if not isinstance(facts.device, GpuDevice):
        return "", ""
    threads = int(kernel.block[0] * kernel.block[1] * kernel.block[2])
    shared = int(kernel.shared_bytes)
    found = occupancy(facts.device, max(threads, 1), counted.registers, shared)
    return shown_share(found.fraction), str(found.limiter)


def _notes(counted: CountedKernels | None, is_known: bool) -> Iterator[str]:
    held = "Occupancy: the warps that a multiprocessor holds, of the most that it can hold"
    if is_known:
        yield f"{held}. Registers and spilled bytes of a thread: as NVIDIA's compiler counts them."
        return
    yield f"{held}, if a thread takes 64 registers (fewer in large blocks)."
    if counted is None:
        return
    if counted.missing:
        yield f"Registers and spills are not counted: {counted.missing}"
        return
    many = "; ".join(
        f"{name} takes {one.registers} registers and spills {shown_bytes(one.spill_store_bytes)}"
        for name, one in counted.kernels.items()
    )
    yield f"NVIDIA's compiler counts by the kernels of the code: {many or 'there are none'}."


def _moved(kernel: KernelFact) -> list[Child]:
    found = kernel.transactions
    row: list[Child] = [tag("span", kernel.name, data_func=kernel.name)]
    if found is None:
        return [*row, "", "", "", ""]
    moved = (found.loads, found.stores, found.local)
    return [*row, *map(_with_bytes, moved), shown_count(found.shared_loads)]


def _with_bytes(transactions: Amount) -> str:
    if not transactions:
        return "none"
    return f"{shown_count(transactions)} ({shown_bytes(transactions * TRANSACTION_BYTES)})"
