"""Short names for conversions, as Halide has them: ``u8(x)`` wraps, ``u8_sat(x)`` saturates."""

from __future__ import annotations

from functools import partial

from spaces.model.expressions.expr import cast
from spaces.model.expressions.integer_functions import saturating_cast
from spaces.model.expressions.types import (
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

i8, i16, i32, i64 = (partial(cast, t) for t in (Int8, Int16, Int32, Int64))
u8, u16, u32, u64 = (partial(cast, t) for t in (UInt8, UInt16, UInt32, UInt64))
f32, f64 = (partial(cast, t) for t in (Float32, Float64))

i8_sat, i16_sat, i32_sat, i64_sat = (
    partial(saturating_cast, t) for t in (Int8, Int16, Int32, Int64)
)
u8_sat, u16_sat, u32_sat, u64_sat = (
    partial(saturating_cast, t) for t in (UInt8, UInt16, UInt32, UInt64)
)
