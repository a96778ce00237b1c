"""Halide's Funcs, their schedules, and all the rest of a pipeline, as a file keeps them.

The fields are the slots of Halide's tables, in order (``src/halide_ir.fbs`` of Halide 18 to 21).
"""

from __future__ import annotations

from attrs import frozen

from spaces.backend.halide.file import wire
from spaces.backend.halide.file.nodes import (
    EXPRESSIONS,
    STATEMENTS,
    AssertNode,
    HalideNode,
    StatementNode,
    TypeTable,
)

_MEMORY = (
    *("Auto", "Heap", "Stack", "Register", "GPUShared"),
    *("GPUTexture", "LockedCache", "VTCM", "AMXTile"),
)

_LOOPS = (
    *("Serial", "Parallel", "Vectorized", "Unrolled", "Extern"),
    *("GPUBlock", "GPUThread", "GPULane"),
)

_DEVICES = (
    *("None", "Host", "Default_GPU", "CUDA", "OpenCL", "Metal", "Hexagon", "HexagonDma"),
    *("D3D12Compute", "Vulkan", "WebGPU"),
)

_TAILS = (
    *("RoundUp", "GuardWithIf", "Predicate", "PredicateLoads", "PredicateStores"),
    *("ShiftInwards", "ShiftInwardsAndBlend", "RoundUpAndBlend", "Auto"),
)


def _expression() -> tuple[type[HalideNode] | None, ...]:
    return EXPRESSIONS


def _statement() -> tuple[type[AssertNode | StatementNode] | None, ...]:
    return STATEMENTS


@frozen(eq=False)
class ReductionVariableTable:
    """One dimension of a reduction domain."""

    var: str = wire.text()
    min: HalideNode | None = wire.union(_expression)
    extent: HalideNode | None = wire.union(_expression)


@frozen(eq=False)
class PrefetchDirectiveTable:
    """What is loaded ahead, at which loop, and how far ahead in another loop."""

    name: str = wire.text()
    at: str = wire.text()
    origin: str = wire.text()
    offset: HalideNode | None = wire.union(_expression)
    strategy: str = wire.choice("Clamp", "GuardWithIf", "NonFaulting")
    param_name: str = wire.text()


@frozen(eq=False)
class BoundTable:
    """What is said of the range of a Var; each part may be missing."""

    var: str = wire.text()
    min: HalideNode | None = wire.union(_expression)
    extent: HalideNode | None = wire.union(_expression)
    modulus: HalideNode | None = wire.union(_expression)
    remainder: HalideNode | None = wire.union(_expression)


@frozen(eq=False)
class StorageDimTable:
    """How one dimension lies in memory."""

    var: str = wire.text()
    alignment: HalideNode | None = wire.union(_expression)
    bound: HalideNode | None = wire.union(_expression)
    fold_factor: HalideNode | None = wire.union(_expression)
    fold_forward: bool = wire.flag()


@frozen(eq=False)
class LoopLevelTable:
    """A place in the loops: inline with both names empty, root with the loop ``__root``."""

    func_name: str = wire.text()
    stage_index: int = wire.number()
    var_name: str = wire.text()
    is_rvar: bool = wire.flag()
    locked: bool = wire.flag()


@frozen(eq=False)
class WrapperRefTable:
    """Calls by the Func ``func_name`` go to another Func; an empty name stands for all Funcs."""

    func_name: str = wire.text()
    func_index: int = wire.number()


@frozen(eq=False)
class FuncScheduleTable:
    """What is scheduled about a whole Func."""

    store_level: LoopLevelTable | None = wire.table(lambda: LoopLevelTable)
    compute_level: LoopLevelTable | None = wire.table(lambda: LoopLevelTable)
    hoist_storage_level: LoopLevelTable | None = wire.table(lambda: LoopLevelTable)
    storage_dims: tuple[StorageDimTable, ...] = wire.tables(lambda: StorageDimTable)
    bounds: tuple[BoundTable, ...] = wire.tables(lambda: BoundTable)
    estimates: tuple[BoundTable, ...] = wire.tables(lambda: BoundTable)
    wrappers: tuple[WrapperRefTable, ...] = wire.tables(lambda: WrapperRefTable)
    memory_type: str = wire.choice(*_MEMORY)
    memoized: bool = wire.flag()
    is_async: bool = wire.flag()
    ring_buffer: HalideNode | None = wire.union(_expression)
    memoize_eviction_key: HalideNode | None = wire.union(_expression)


@frozen(eq=False)
class SpecializationTable:
    """A definition of its own where a condition holds."""

    condition: HalideNode | None = wire.union(_expression)
    definition: DefinitionTable | None = wire.table(lambda: DefinitionTable)
    failure_message: str = wire.text()


@frozen(eq=False)
class SplitTable:
    """A loop split or renamed, or two fused. ``old_var`` is the loop that fusing makes."""

    old_var: str = wire.text()
    outer: str = wire.text()
    inner: str = wire.text()
    factor: HalideNode | None = wire.union(_expression)
    exact: bool = wire.flag()
    tail: str = wire.choice(*_TAILS)
    split_type: str = wire.choice("SplitVar", "RenameVar", "FuseVars", "PurifyRVar")


@frozen(eq=False)
class DimTable:
    """One loop."""

    var: str = wire.text()
    for_type: str = wire.choice(*_LOOPS)
    device_api: str = wire.choice(*_DEVICES)
    dim_type: str = wire.choice("PureVar", "PureRVar", "ImpureRVar")
    partition_policy: str = wire.choice("Auto", "Never", "Always")


@frozen(eq=False)
class FuseLoopLevelTable:
    """The loop of another stage down to which loops are shared, and how they are aligned."""

    fuse_level: LoopLevelTable | None = wire.table(lambda: LoopLevelTable)
    align_dimension_names: tuple[str, ...] = wire.texts()
    align_strategies: tuple[str, ...] = wire.choices("AlignStart", "AlignEnd", "NoAlign", "Auto")


@frozen(eq=False)
class FusedPairTable:
    """Two stages that share loops; the fuse level of the second tells the same."""

    func_1: str = wire.text()
    func_2: str = wire.text()
    stage_1: int = wire.number()
    stage_2: int = wire.number()
    var_name: str = wire.text()


@frozen(eq=False)
class StageScheduleTable:
    """What is scheduled about one stage. ``dims`` go from the inner to the outer loop."""

    rvars: tuple[ReductionVariableTable, ...] = wire.tables(lambda: ReductionVariableTable)
    splits: tuple[SplitTable, ...] = wire.tables(lambda: SplitTable)
    dims: tuple[DimTable, ...] = wire.tables(lambda: DimTable)
    prefetches: tuple[PrefetchDirectiveTable, ...] = wire.tables(lambda: PrefetchDirectiveTable)
    fuse_level: FuseLoopLevelTable | None = wire.table(lambda: FuseLoopLevelTable)
    fused_pairs: tuple[FusedPairTable, ...] = wire.tables(lambda: FusedPairTable)
    touched: bool = wire.flag()
    allow_race_conditions: bool = wire.flag()
    atomic: bool = wire.flag()
    override_atomic_associativity_test: bool = wire.flag()


@frozen(eq=False)
class DefinitionTable:
    """One stage: values stored at coordinates where the predicate holds, and its schedule."""

    is_init: bool = wire.flag()
    predicate: HalideNode | None = wire.union(_expression)
    values: tuple[HalideNode | None, ...] = wire.unions(_expression)
    args: tuple[HalideNode | None, ...] = wire.unions(_expression)
    stage_schedule: StageScheduleTable | None = wire.table(lambda: StageScheduleTable)
    specializations: tuple[SpecializationTable, ...] = wire.tables(lambda: SpecializationTable)
    source_location: str = wire.text()


@frozen(eq=False)
class BufferConstraintTable:
    """What is known of one dimension of an array."""

    min: HalideNode | None = wire.union(_expression)
    extent: HalideNode | None = wire.union(_expression)
    stride: HalideNode | None = wire.union(_expression)
    min_estimate: HalideNode | None = wire.union(_expression)
    extent_estimate: HalideNode | None = wire.union(_expression)


@frozen(eq=False)
class ParameterTable:
    """The array of an output, with what is known of it; or a scalar of no call."""

    defined: bool = wire.flag()
    is_buffer: bool = wire.flag()
    type: TypeTable | None = wire.table(lambda: TypeTable)
    dimensions: int = wire.number()
    name: str = wire.text()
    host_alignment: int = wire.number()
    buffer_constraints: tuple[BufferConstraintTable, ...] = wire.tables(
        lambda: BufferConstraintTable
    )
    memory_type: str = wire.choice(*_MEMORY)
    scalar_data: int | None = wire.number(wire.UINT64, None)
    scalar_default: HalideNode | None = wire.union(_expression)
    scalar_min: HalideNode | None = wire.union(_expression)
    scalar_max: HalideNode | None = wire.union(_expression)
    scalar_estimate: HalideNode | None = wire.union(_expression)


@frozen(eq=False)
class ExternalParameterTable:
    """An ImageParam or a Param; a file has neither its limits nor its estimates."""

    is_buffer: bool = wire.flag()
    type: TypeTable | None = wire.table(lambda: TypeTable)
    dimensions: int = wire.number()
    name: str = wire.text()


@frozen(eq=False)
class ExternFuncArgumentTable:
    """An argument of a stage that foreign code computes."""

    arg_type: str = wire.choice("Undefined", "Func", "Buffer", "Expr", "ImageParam")
    func_index: int = wire.number()
    buffer_name: str = wire.text()
    expr: HalideNode | None = wire.union(_expression)
    image_param_name: str = wire.text()


@frozen(eq=False)
class BufferDimensionTable:
    """The range of one dimension of an array inside the file, and its stride in elements."""

    min: int = wire.number()
    extent: int = wire.number()
    stride: int = wire.number()


@frozen(eq=False)
class BufferTable:
    """An array inside the file; ``data`` has no gaps, and the first dimension is the innermost."""

    defined: bool = wire.flag()
    name: str = wire.text()
    type: TypeTable | None = wire.table(lambda: TypeTable)
    dimensions: int = wire.number()
    dims: tuple[BufferDimensionTable, ...] = wire.tables(lambda: BufferDimensionTable)
    data: bytes = wire.octets()


@frozen(eq=False)
class FuncTable:
    """A Func with all of its stages."""

    name: str = wire.text()
    origin_name: str = wire.text()
    output_types: tuple[TypeTable, ...] = wire.tables(lambda: TypeTable)
    required_types: tuple[TypeTable, ...] = wire.tables(lambda: TypeTable)
    required_dims: int = wire.number()
    args: tuple[str, ...] = wire.texts()
    func_schedule: FuncScheduleTable | None = wire.table(lambda: FuncScheduleTable)
    init_def: DefinitionTable | None = wire.table(lambda: DefinitionTable)
    updates: tuple[DefinitionTable, ...] = wire.tables(lambda: DefinitionTable)
    debug_file: str = wire.text()
    output_buffers_names: tuple[str, ...] = wire.texts()
    extern_arguments: tuple[ExternFuncArgumentTable, ...] = wire.tables(
        lambda: ExternFuncArgumentTable
    )
    extern_function_name: str = wire.text()
    extern_mangling: str = wire.choice("Default", "C", "CPlusPlus")
    extern_function_device_api: str = wire.choice(*_DEVICES)
    extern_proxy_expr: HalideNode | None = wire.union(_expression)
    trace_loads: bool = wire.flag()
    trace_stores: bool = wire.flag()
    trace_realizations: bool = wire.flag()
    trace_tags: tuple[str, ...] = wire.texts()
    no_profiling: bool = wire.flag()
    frozen: bool = wire.flag()


@frozen(eq=False)
class Contents:
    """The pipeline of a file. Its last two slots tell its version."""

    funcs: tuple[FuncTable, ...] = wire.tables(lambda: FuncTable)
    output_names: tuple[str, ...] = wire.texts()
    requirements: tuple[AssertNode | StatementNode | None, ...] = wire.unions(_statement)
    func_names_in_order: tuple[str, ...] = wire.texts()
    parameters: tuple[ParameterTable, ...] = wire.tables(lambda: ParameterTable)
    external_parameters: tuple[ExternalParameterTable, ...] = wire.tables(
        lambda: ExternalParameterTable
    )
    buffers: tuple[BufferTable, ...] = wire.tables(lambda: BufferTable)
    halide_version: str = wire.text()
    serialization_version: str = wire.text()
