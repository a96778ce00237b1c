"""Programs over numbers of all types: every kind of operator, and functions of floats."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs.case import Case, pixels, program

x, y = hl.Var("x"), hl.Var("y")


def all_of(*values: object) -> object:
    return tuple(values)


@program
def fixed_point(rng: np.random.Generator, scheduled: bool) -> Case:
    """Operators of integers in one Func of many values."""
    a, b = hl.ImageParam(hl.Int(16), 1, "a"), hl.ImageParam(hl.Int(16), 1, "b")
    p, q = a[x], b[x]
    u, v = hl.reinterpret(hl.UInt(16), p), hl.u16(q)
    n = hl.u16(x % 16)
    out = hl.Func("fixed_point")
    out[x] = all_of(
        hl.saturating_add(p, q) - hl.saturating_sub(q, p),
        hl.widening_mul(p, q) + hl.widening_add(p, q) - hl.widening_sub(u, v),
        hl.halving_add(u, v) ^ hl.rounding_halving_add(u, v) | hl.halving_sub(u, v),
        hl.mul_shift_right(p, q, n) & hl.rounding_mul_shift_right(p, q, n),
        hl.rounding_shift_right(p, n) + hl.rounding_shift_left(q, hl.i16(n) - 4),
        hl.widening_shift_left(u, n) + hl.widening_shift_right(u, n),
        hl.count_leading_zeros(u) * 3 + hl.count_trailing_zeros(u) + hl.popcount(v),
        hl.concat_bits([u, v]),
        hl.extract_bits(hl.UInt(8), hl.u32(u) * v, n),
        hl.div_round_to_zero(p, hl.max(q, 1)) + hl.mod_round_to_zero(p, hl.max(q, 1)),
        hl.i8_sat(p) + hl.i8(q),
        hl.lerp(u, v, hl.u8(n * 17)),
        (p // hl.i16(x % 7 - 3)) + (q % hl.i16(x % 5 - 2)),
        ~p << n,
        hl.widen_right_add(hl.i32(p), q) * hl.widen_right_sub(hl.i32(q), p),
        hl.absd(p, q),
        hl.select((p < q) & ~((u == v) | (p != q)), u, hl.min(u, v) - hl.max(u, v)),
    )
    if scheduled:
        out.vectorize(x, 8)
    data = [(image, pixels(rng, "int16", 64)) for image in (a, b)]
    return Case([out], [[(0, 64)]], data)


@program
def whole_types(rng: np.random.Generator, scheduled: bool) -> Case:
    """Conversions between all types, and numbers of 64 bits."""
    wide = hl.ImageParam(hl.Int(64), 1, "wide")
    small = hl.ImageParam(hl.UInt(8), 1, "small")
    flags = hl.ImageParam(hl.Bool(), 1, "flags")
    step = hl.Param(hl.UInt(64), "step")
    w, s, f = wide[x], small[x], flags[x]
    out = hl.Func("whole_types")
    out[x] = all_of(
        hl.i8(w),
        hl.u16(s) << 9,
        hl.u32(w) + s,
        hl.i64(s) * w,
        hl.u64(w) // hl.max(step, 1),
        hl.f32(w),
        hl.f64(w) / 3,
        f & (w > 0) | (s == 3),
        hl.i32(f) + hl.i32(~f) * 2,
        hl.abs(w),
        hl.reinterpret(hl.Float(64), w >> 2),
        hl.select(f, hl.u8_sat(w), s),
        hl.i16(hl.f32(s) * 2.5 - 100),
    )
    if scheduled:
        out.vectorize(x, 4).unroll(x, 2)
    data = [(wide, pixels(rng, "int64", 48)), (small, pixels(rng, "uint8", 48))]
    data.append((flags, pixels(rng, "bool", 48)))
    return Case([out], [[(0, 48)]], data, [(step, 12345678901)])


@program
def curves(rng: np.random.Generator, scheduled: bool) -> Case:
    """Functions of floats, exact ones and Halide's own fast ones."""
    given = hl.ImageParam(hl.Float(32), 1, "given")
    v = given[x]
    positive = hl.abs(v) + hl.f32(0.01)
    out = hl.Func("curves")
    out[x] = all_of(
        hl.fast_exp(v),
        hl.fast_log(positive),
        hl.fast_pow(positive, v),
        hl.floor(v) + hl.ceil(v * 2) - hl.trunc(v * 3) + hl.round(v * 4),
        hl.sqrt(positive) + hl.fract(v),
        hl.select(hl.is_nan(hl.sqrt(v)), 1.0, hl.sqrt(v)),
        hl.pow(v, 3) + hl.hypot(v, positive),
        hl.lerp(v, positive, 0.25),
        hl.f64(v) * hl.f64(1e-3) + hl.pow(hl.f64(x), 2),
        hl.strict_float(v * 3 + 1),
    )
    if scheduled:
        out.vectorize(x, 8)
    return Case([out], [[(0, 50)]], [(given, pixels(rng, "float32", 50))])


@program
def library_functions(rng: np.random.Generator, scheduled: bool) -> Case:
    """Functions that both sides compute by series or libraries of their own."""
    given = hl.ImageParam(hl.Float(32), 1, "given")
    v = given[x] / 5
    out = hl.Func("library_functions")
    out[x] = all_of(
        hl.exp(v),
        hl.log(hl.abs(v) + 0.5),
        hl.pow(hl.abs(v) + 0.5, v),
        hl.sin(v) * hl.cos(v),
        hl.tan(v),
        hl.asin(v) * hl.acos(v),
        hl.atan(v) * hl.atan2(v, hl.f32(2)),
        hl.sinh(v) * hl.cosh(v) * hl.tanh(v),
        hl.asinh(v) * hl.atanh(v) * hl.acosh(hl.abs(v) + 1.5),
        hl.f64(hl.exp(hl.f64(v))),
    )
    if scheduled:
        out.compute_root()
    return Case([out], [[(0, 40)]], [(given, pixels(rng, "float32", 40))], ulps=8)


@program
def dithered(rng: np.random.Generator, scheduled: bool) -> Case:
    """Random numbers of all three types, which depend on coordinates and on RVars."""
    photo = hl.ImageParam(hl.Float(32), 2, "photo")
    r = hl.RDom([(0, 3)], "r")
    noise, out = hl.Func("noise"), hl.Func("dithered")
    noise[x, y] = hl.random_float(3) - 0.5
    noise[x, y] += hl.random_float() * hl.f32(r)
    out[x, y] = hl.u8(hl.clamp(photo[x, y] * 30 + noise[x, y], 0.0, 255.0))
    out[x, y] = out[x, y] ^ hl.u8(hl.random_uint(7) >> 28) + hl.u8(hl.random_int() & 3)
    noise.compute_root()
    if scheduled:
        noise.update().vectorize(x, 4)
        out.vectorize(x, 8).update().vectorize(x, 8)
    return Case([out], [[(0, 32), (0, 10)]], [(photo, pixels(rng, "float32", 32, 10))])
