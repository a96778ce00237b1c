"""Schedules of array pipelines as values: enumerate, count, rank, verify and compile them.

Some names are those of Python's builtins (``min``, ``sum``, ``abs`` ...), as they are Halide's:
import what you need by name, or the package, never everything.
"""

import importlib
from typing import Any

from spaces.constraints.devices import Device, device, device_names
from spaces.constraints.findings import Advice, Violation
from spaces.constraints.lattice import legal_mask
from spaces.constraints.preconditions import Precondition, size_preconditions
from spaces.constraints.proofs.records import (
    Counterexample,
    Obligation,
    Proof,
    ProofReport,
    Proven,
    Refuted,
    Unknown,
)
from spaces.constraints.repairs.edit import Edit
from spaces.constraints.repairs.repair import Repair, repair
from spaces.constraints.rules.rounding import Rounding
from spaces.constraints.universe import Decision, Universe
from spaces.constraints.verdict import CheckedSchedule, Illegal, Requirement, Verdict
from spaces.constraints.verify import verify, verify_rest
from spaces.cost.batch import Batch, BatchError
from spaces.cost.features import Features
from spaces.cost.measurer import Measurement, Measurer
from spaces.cost.model import CostModel
from spaces.cost.registry import UnknownModelError, cost_model, cost_model_names
from spaces.cost.registry import register as register_cost_model
from spaces.enumerate.beam import Beam
from spaces.enumerate.board import Limits
from spaces.enumerate.complete import Completions, complete, open_funcs
from spaces.enumerate.decisions import universe
from spaces.enumerate.events import Done, Event, Expanded, Found, Improved, Scored
from spaces.enumerate.options import Options, default_options
from spaces.enumerate.space import EmptySpaceError, ScheduleSpace, Structure
from spaces.enumerate.stagewise import Stagewise
from spaces.enumerate.strategies import (
    UnknownStrategyError,
    best,
    register_strategy,
    search,
    strategy_names,
)
from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func, Tuple
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import argmax, argmin, maximum, minimum, product, sum
from spaces.model.algorithm.require import require
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.directives.transformers import (
    ChangeLoopType,
    Deinline,
    Inline,
    Move,
    MoveCompute,
    MoveError,
    MoveStorage,
    ReorderLoops,
    SplitLoop,
    moves,
    replay,
)
from spaces.model.expressions.approximations import (
    fast_cos,
    fast_exp,
    fast_inverse,
    fast_inverse_sqrt,
    fast_log,
    fast_pow,
    fast_sin,
    random_float,
    random_int,
    random_uint,
)
from spaces.model.expressions.conversions import (
    f32,
    f64,
    i8,
    i8_sat,
    i16,
    i16_sat,
    i32,
    i32_sat,
    i64,
    i64_sat,
    u8,
    u8_sat,
    u16,
    u16_sat,
    u32,
    u32_sat,
    u64,
    u64_sat,
)
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    clamp,
    cos,
    cosh,
    exp,
    floor,
    fract,
    hypot,
    log,
    max,
    min,
    mux,
    pow,
    round,
    select,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from spaces.model.expressions.integer_functions import (
    absd,
    count_leading_zeros,
    count_trailing_zeros,
    halving_add,
    halving_sub,
    is_finite,
    is_inf,
    is_nan,
    lerp,
    likely,
    likely_if_innermost,
    mul_shift_right,
    popcount,
    reinterpret,
    rounding_halving_add,
    rounding_mul_shift_right,
    rounding_shift_left,
    rounding_shift_right,
    saturating_add,
    saturating_cast,
    saturating_sub,
    widen_right_add,
    widen_right_mul,
    widen_right_sub,
    widening_add,
    widening_mul,
    widening_shift_left,
    widening_shift_right,
    widening_sub,
)
from spaces.model.expressions.types import (
    Bool,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Type,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.nest.nest_text import format_nest
from spaces.model.nest.splits import OrderError
from spaces.model.nest.tree import format_tree, schedule_tree
from spaces.model.nest.well_formed import well_formed
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import LoopKind, Partition, PrefetchBound, Tail
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import LoopAlign, LoopLevel, Memory, Schedule, StageOf
from spaces.model.writing.chain import directive_calls
from spaces.model.writing.serialize import DocumentError, from_json, to_json
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import (
    format_schedule,
    parse_partial,
    parse_schedule,
    read_schedule,
)
from spaces.model.writing.written import WrittenSchedule

__all__ = [
    # Writing an algorithm down
    "Func",
    "Var",
    "RDom",
    "Tuple",
    "ImageParam",
    "Param",
    "Expr",
    "pipeline",
    "Partition",
    "Pipeline",
    "DefinitionError",
    # Element types
    "Type",
    "Bool",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float32",
    "Float64",
    # Functions on expressions
    "select",
    "undef",
    "require",
    "min",
    "max",
    "clamp",
    "cast",
    "abs",
    "sqrt",
    "exp",
    "log",
    "pow",
    "sin",
    "cos",
    "tan",
    "floor",
    "ceil",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cosh",
    "fract",
    "hypot",
    "mux",
    "round",
    "sinh",
    "tanh",
    "trunc",
    "absd",
    "count_leading_zeros",
    "count_trailing_zeros",
    "halving_add",
    "halving_sub",
    "is_finite",
    "is_inf",
    "is_nan",
    "fast_cos",
    "fast_exp",
    "fast_inverse",
    "fast_inverse_sqrt",
    "fast_log",
    "fast_pow",
    "fast_sin",
    "random_float",
    "random_int",
    "random_uint",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "i8_sat",
    "i16_sat",
    "i32_sat",
    "i64_sat",
    "u8_sat",
    "u16_sat",
    "u32_sat",
    "u64_sat",
    "f32",
    "f64",
    "lerp",
    "likely",
    "likely_if_innermost",
    "mul_shift_right",
    "popcount",
    "reinterpret",
    "rounding_halving_add",
    "rounding_mul_shift_right",
    "rounding_shift_left",
    "rounding_shift_right",
    "saturating_add",
    "saturating_cast",
    "saturating_sub",
    "widen_right_add",
    "widen_right_mul",
    "widen_right_sub",
    "widening_add",
    "widening_mul",
    "widening_shift_left",
    "widening_shift_right",
    "widening_sub",
    "sum",
    "maximum",
    "minimum",
    "product",
    "argmax",
    "argmin",
    "boundary",
    # Schedules, and the directives that make them
    "schedule",
    "Directives",
    "Schedule",
    "LoopAlign",
    "LoopKind",
    "LoopLevel",
    "Memory",
    "StageOf",
    "Tail",
    # Schedules and pipelines as text and documents
    "format_schedule",
    "parse_schedule",
    "parse_partial",
    "read_schedule",
    "WrittenSchedule",
    "ScheduleSyntaxError",
    "directive_calls",
    "derived",
    "to_json",
    "from_json",
    "DocumentError",
    # What a schedule means
    "loop_nest",
    "LoopNest",
    "LevelError",
    "OrderError",
    "format_nest",
    "schedule_tree",
    "format_tree",
    "well_formed",
    # Moves between schedules
    "moves",
    "replay",
    "Move",
    "MoveError",
    "SplitLoop",
    "ChangeLoopType",
    "ReorderLoops",
    "MoveCompute",
    "MoveStorage",
    "Inline",
    "Deinline",
    # Which schedules are legal
    "verify",
    "verify_rest",
    "repair",
    "Repair",
    "Edit",
    "size_preconditions",
    "Precondition",
    "legal_mask",
    "Verdict",
    "CheckedSchedule",
    "Illegal",
    "Violation",
    "Advice",
    "Requirement",
    "Rounding",
    "Device",
    "device",
    "device_names",
    "Decision",
    "Universe",
    # Proofs for all sizes
    "prove",
    "PrefetchBound",
    "ProofReport",
    "Proof",
    "Obligation",
    "Proven",
    "Refuted",
    "Unknown",
    "Counterexample",
    "write_certificates",
    "recheck",
    # What schedules cost
    "CostModel",
    "Batch",
    "BatchError",
    "Features",
    "cost_model",
    "cost_model_names",
    "register_cost_model",
    "UnknownModelError",
    "Measurer",
    "Measurement",
    # Spaces of schedules
    "ScheduleSpace",
    "Structure",
    "Options",
    "default_options",
    "universe",
    "EmptySpaceError",
    "explain_empty",
    "complete",
    "open_funcs",
    "Completions",
    # Searching them
    "search",
    "best",
    "Limits",
    "Beam",
    "Stagewise",
    "register_strategy",
    "strategy_names",
    "UnknownStrategyError",
    "Event",
    "Expanded",
    "Scored",
    "Improved",
    "Done",
    "Found",
]

_SOLVING = {
    "explain_empty": "spaces.enumerate.emptiness",
    "prove": "spaces.constraints.proofs.prove",
    "recheck": "spaces.constraints.proofs.certificates",
    "write_certificates": "spaces.constraints.proofs.certificates",
}
"""Names that need the solver, and their modules: imported where they are first asked for, for the
solver takes longer to import than all the rest.
"""


def __getattr__(name: str) -> Any:
    if name in _SOLVING:
        return getattr(importlib.import_module(_SOLVING[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
