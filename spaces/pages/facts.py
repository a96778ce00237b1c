"""The numbers of a schedule that a page shows, by Func: what is computed where, how often, in which
memory, and what it costs. Tables, pictures and JSON are all made of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from attrs import field, frozen

from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import Batch, BatchError
from spaces.cost.gpu.transactions import kernel_transactions
from spaces.cost.price import SchedulePrice, price
from spaces.features.features import Features
from spaces.features.in_kernels import kernel_of
from spaces.features.records import FuncFeatures, KernelFeatures, LoopKey, StageFeatures
from spaces.features.structure_features import occupancy_on, parallel_iterations
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.formulas.symbolic import SymbolicNumber, as_array
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType, Schedule

Amount: TypeAlias = int | float
"""A count, or the average of counts."""

Role: TypeAlias = Literal["output", "computed", "inlined"]
"""What a schedule does with a Func."""


@frozen
class LoopFact:
    """A loop of a stage.

    Attributes:
        trips: its iterations in a typical visit.
        runs: how often its body runs in all.
    """

    loop: str
    kind: LoopKind
    trips: Amount
    runs: Amount


@frozen
class StageFact:
    """One stage of a computed Func.

    Attributes:
        points: all evaluations, repeated ones included.
        reads: the values that one evaluation reads, by Func and image.
        operations: the operations of one evaluation.
        lanes: the iterations of its vectorized loops; 1 without any.
        loops: its own loops, outermost first.
    """

    index: int
    points: Amount
    reads: Mapping[str, Amount]
    operations: Amount
    lanes: Amount
    loops: tuple[LoopFact, ...]

    @property
    def steps(self) -> float:
        """The operations and reads of all evaluations; those of a vector count once."""
        return self.points * (self.operations + sum(self.reads.values())) / max(self.lanes, 1)


@frozen
class StorageFact:
    """The storage of a Func.

    Attributes:
        bytes: of one allocation; 0 for an output, whose memory is the caller's.
        extents: of one allocation, by dimension, innermost first.
        folded: the dimensions that are folded.
        allocations: how often it is allocated.
        memory: where it lies: ``the caller's``, ``heap``, ``stack``, ``shared`` ...
        fits: the nearest cache that holds one allocation, such as ``L2``; empty on a GPU.
    """

    bytes: Amount
    extents: tuple[Amount, ...]
    folded: tuple[str, ...]
    allocations: Amount
    memory: str
    fits: str


@frozen
class FuncFact:
    """One Func in a schedule.

    Attributes:
        compute: where it is computed, such as ``root`` or ``output.yi``.
        store: where it is stored.
        required: the extents that its readers need in a visit, innermost first; empty if inlined.
        computed: the extents that a visit computes: fewer if a window slides.
        window: whether a window slides, so that a visit keeps values of the one before.
        visits: how often it is computed.
        distinct: the values that are needed, each once.
        tasks: the parallel iterations around it; 1 without any.
        kernel: the Func that names the GPU kernel that computes it; empty on a CPU, or on the host.
        working_set: the bytes that a visit touches.
        costs: the parts of its price, by kind, the dearest first.
    """

    name: str
    types: str
    args: tuple[str, ...]
    role: Role
    compute: str
    store: str
    required: tuple[Amount, ...] = ()
    computed: tuple[Amount, ...] = ()
    window: bool = False
    visits: Amount = 0
    distinct: Amount = 0
    tasks: Amount = 1
    kernel: str = ""
    working_set: Amount = 0
    storage: StorageFact | None = None
    stages: tuple[StageFact, ...] = ()
    costs: Mapping[str, float] = field(factory=dict)

    @property
    def points(self) -> Amount:
        """The evaluations of its pure definition."""
        return self.stages[0].points if self.stages else 0

    @property
    def repeated(self) -> Amount:
        """Evaluations of values that were there before."""
        return max(self.points - self.distinct, 0)

    @property
    def cost(self) -> float:
        """Its price."""
        return math.fsum(self.costs.values())


@frozen
class TransactionFact:
    """What all threads of a kernel do with memory, as the model ``occupancy`` counts it.

    Attributes:
        loads: transactions that load from global memory.
        stores: transactions that store to global memory.
        local: transactions with local memory.
        shared_loads: loads of single threads from shared memory.
    """

    loads: Amount
    stores: Amount
    local: Amount
    shared_loads: Amount


@frozen
class KernelFact:
    """A GPU kernel, named by the stage whose block loops it has.

    Attributes:
        name: the Func of that stage.
        stage: 0 for its pure stage, n for its update n - 1.
        block: the threads of a block along x, y and z.
        blocks: the blocks of the grid.
        transactions: what it does with memory; None on a CPU.
        occupancy: the warps that a multiprocessor holds, as a share of the most; a thread is
            assumed to take 64 registers, fewer in large blocks. None on a CPU.
    """

    name: str
    stage: int
    blocks: Amount
    block: tuple[Amount, Amount, Amount]
    shared_bytes: Amount
    private_bytes: Amount
    occupancy: float | None = None
    transactions: TransactionFact | None = None


@frozen
class ScheduleFacts:
    """The numbers of a legal schedule at the estimates.

    Attributes:
        funcs: every Func of the pipeline, producers first.
        price: by the default model of the device; None if it cannot price the schedule.
        missing: why there are no numbers, as a sentence; empty if there are.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    funcs: tuple[FuncFact, ...]
    kernels: tuple[KernelFact, ...] = ()
    price: SchedulePrice | None = None
    features: Features | None = field(default=None, eq=False, repr=False)
    missing: str = ""

    @cached_property
    def by_name(self) -> Mapping[str, FuncFact]:
        """The facts of each Func."""
        return {func.name: func for func in self.funcs}

    @cached_property
    def trips(self) -> Mapping[LoopKey, Amount]:
        """The iterations of each loop in a typical visit."""
        return {
            (func.name, stage.index, loop.loop): loop.trips
            for func in self.funcs
            for stage in func.stages
            for loop in stage.loops
        }


def schedule_facts(checked: CheckedSchedule) -> ScheduleFacts:
    """The numbers of a legal schedule at the estimates. Of a specialized schedule these are the
    numbers of the case that applies there.
    """
    pipeline, schedule, device = checked.pipeline, checked.schedule, checked.device
    try:
        batch = Batch.of(pipeline, schedule)
        features, followed = batch.features, batch.schedule
        priced = price(checked)
    except BatchError as error:
        bare = tuple(_bare(one, pipeline, schedule) for one in pipeline.functions)
        return ScheduleFacts(pipeline, schedule, device, bare, missing=str(error))
    funcs = tuple(
        _func(one, pipeline, followed, device, features, priced) for one in pipeline.functions
    )
    kernels = tuple(_kernel(one, features, device) for one in features.kernels)
    return ScheduleFacts(pipeline, followed, device, funcs, kernels, priced, features)


def _kernel(kernel: KernelFeatures, features: Features, device: Device) -> KernelFact:
    held, moved = None, None
    if isinstance(device, GpuDevice):
        held = number(occupancy_on(device, kernel)) / 100
        found = kernel_transactions(features, kernel, device)
        moved = TransactionFact(
            number(found.loads),
            number(found.stores),
            number(found.local),
            number(found.shared_loads),
        )
    return KernelFact(
        kernel.func,
        kernel.stage,
        number(kernel.blocks),
        (number(kernel.block[0]), number(kernel.block[1]), number(kernel.block[2])),
        number(kernel.shared_bytes),
        number(kernel.private_bytes),
        held,
        moved,
    )


def number(value: SymbolicNumber) -> Amount:
    """A number of features as a plain one."""
    read = float(as_array(value))
    return int(read) if read.is_integer() else read


def _role(name: str, pipeline: Pipeline, schedule: Schedule) -> Role:
    if name in pipeline.outputs:
        return "output"
    return "inlined" if schedule.of(name).compute.is_inline else "computed"


def _bare(function: Function, pipeline: Pipeline, schedule: Schedule) -> FuncFact:
    """What is known of a Func without numbers."""
    entry = schedule.of(function.name)
    types = ", ".join(map(str, function.types))
    role = _role(function.name, pipeline, schedule)
    return FuncFact(function.name, types, function.args, role, str(entry.compute), str(entry.store))


def _func(
    function: Function,
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    features: Features,
    priced: SchedulePrice,
) -> FuncFact:
    bare = _bare(function, pipeline, schedule)
    found = features.computed(function.name)
    if found is None:
        return bare
    costs: dict[str, float] = {}
    for part in priced.parts:
        if part.func == function.name and part.cost:
            costs[part.what] = costs.get(part.what, 0.0) + part.cost
    return FuncFact(
        bare.name,
        bare.types,
        bare.args,
        bare.role,
        bare.compute,
        bare.store,
        required=_numbers(found.required),
        computed=_numbers(found.computed),
        window=found.slides,
        visits=number(found.visits),
        distinct=number(found.distinct),
        tasks=number(parallel_iterations(found.stages[0])),
        kernel=(kernel_of(found.stages[0]) or ("", 0))[0],
        working_set=number(features.working_set(found.name)),
        storage=_storage(found, schedule, device),
        stages=tuple(_stage(stage) for stage in found.stages),
        costs=costs,
    )


def _numbers(values: tuple[SymbolicNumber, ...]) -> tuple[Amount, ...]:
    return tuple(map(number, values))


def _stage(stage: StageFeatures) -> StageFact:
    reads: dict[str, Amount] = {}
    for access in stage.work.accesses:
        reads[access.buffer] = reads.get(access.buffer, 0) + number(access.reads)
    return StageFact(
        stage.index,
        number(stage.points),
        reads,
        number(stage.work.operations.total),
        number(stage.lanes),
        tuple(
            LoopFact(loop.loop, loop.kind, number(loop.trips), number(loop.runs))
            for loop in stage.own
        ),
    )


def _storage(found: FuncFeatures, schedule: Schedule, device: Device) -> StorageFact:
    size = number(found.allocation_bytes)
    pairs = zip(found.args, found.allocated, found.stored, strict=True)
    folded = tuple(arg for arg, kept, stored in pairs if number(kept) < number(stored))
    return StorageFact(
        size,
        _numbers(found.allocated),
        folded,
        number(found.allocations),
        _memory(found, schedule),
        "" if found.is_output else nearest_cache(size, device),
    )


_INSIDE = {LoopKind.GPU_BLOCK: "shared", LoopKind.GPU_THREAD: "registers"}
"""Where a Func without a ``store_in`` lies in a kernel, by the innermost loop around its storage
that makes a kernel.
"""


def _memory(found: FuncFeatures, schedule: Schedule) -> str:
    if found.is_output:
        return "the caller's"
    chosen = schedule.of(found.name).memory
    if chosen is not MemoryType.AUTO:
        return str(chosen)
    around = {loop.kind for loop in found.stages[0].loops[: found.store_depth]}
    for kind in (LoopKind.GPU_THREAD, LoopKind.GPU_BLOCK):
        if kind in around:
            return _INSIDE[kind]
    return "memory"


def caches(device: Device) -> Iterator[tuple[str, int]]:
    """The caches that one core sees, the nearest first, with their bytes; none of a GPU."""
    if isinstance(device, CpuDevice):
        for name, size in (
            ("L1", device.l1_bytes),
            ("L2", device.l2_bytes),
            ("L3", device.l3_bytes),
        ):
            if size:
                yield name, size


def nearest_cache(size: Amount, device: Device) -> str:
    """The nearest cache that holds that many bytes; ``memory`` if none does, nothing for a GPU."""
    known = tuple(caches(device))
    return next((name for name, room in known if size <= room), "memory" if known else "")
