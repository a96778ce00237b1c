"""Small device functions for operators that C does not have. A text contains those that it
calls.
"""

from __future__ import annotations

from collections.abc import Mapping

from spaces.model.expressions.intrinsics import BIT_COUNTS

HELPERS: Mapping[str, str] = {
    "euclid_div": """\
// Rounds so that the remainder is never negative; 0 for a zero divisor. U is the unsigned T.
template <class T, class U> static __device__ inline T euclid_div(T a, T b) {
    if (b == 0) return 0;
    if (b == (T)-1) return (T)((U)0 - (U)a);
    T quotient = a / b;
    return a % b < 0 ? (b > 0 ? quotient - 1 : quotient + 1) : quotient;
}
""",
    "euclid_mod": """\
// The remainder of euclid_div: from 0 up to the magnitude of the divisor; 0 for a zero divisor.
template <class T> static __device__ inline T euclid_mod(T a, T b) {
    if (b == 0 || b == (T)-1) return 0;
    T rest = a % b;
    return rest < 0 ? (b > 0 ? rest + b : rest - b) : rest;
}
""",
    "unsigned_div": """\
// Of numbers that are not negative; 0 for a zero divisor.
template <class T> static __device__ inline T unsigned_div(T a, T b) { return b == 0 ? 0 : a / b; }
""",
    "unsigned_mod": """\
// Of numbers that are not negative; 0 for a zero divisor.
template <class T> static __device__ inline T unsigned_mod(T a, T b) { return b == 0 ? 0 : a % b; }
""",
    "magnitude": """\
// The magnitude of the least integer does not fit its own type T, but it fits U.
template <class T, class U> static __device__ inline U magnitude(T a) {
    return a < 0 ? (U)0 - (U)a : (U)a;
}
""",
    "lesser": """\
#ifdef FAST_FLOATS
static __device__ inline float lesser(float a, float b) { return fminf(a, b); }
static __device__ inline double lesser(double a, double b) { return fmin(a, b); }
#else
// The second operand where either is NaN, unlike fmin.
template <class T> static __device__ inline T lesser(T a, T b) { return a < b ? a : b; }
#endif
""",
    "greater": """\
#ifdef FAST_FLOATS
static __device__ inline float greater(float a, float b) { return fmaxf(a, b); }
static __device__ inline double greater(double a, double b) { return fmax(a, b); }
#else
// The second operand where either is NaN, unlike fmax.
template <class T> static __device__ inline T greater(T a, T b) { return a > b ? a : b; }
#endif
""",
    "float_mod": """\
static __device__ inline float float_mod(float a, float b) { return a - b * floorf(a / b); }
static __device__ inline double float_mod(double a, double b) { return a - b * floor(a / b); }
""",
    "to_int": """\
// Toward zero; a value out of range gives the nearest integer, NaN gives 0.
static __device__ inline int to_int(float x) { return __float2int_rz(x); }
static __device__ inline int to_int(double x) { return x != x ? 0 : __double2int_rz(x); }
""",
    "to_uint": """\
// Toward zero; a value out of range gives the nearest integer, NaN gives 0.
static __device__ inline unsigned int to_uint(float x) { return __float2uint_rz(x); }
static __device__ inline unsigned int to_uint(double x) {
    return x != x ? 0u : __double2uint_rz(x);
}
""",
    "to_llong": """\
// Toward zero; a value out of range gives the nearest integer, NaN gives 0.
static __device__ inline long long to_llong(float x) { return x != x ? 0ll : __float2ll_rz(x); }
static __device__ inline long long to_llong(double x) { return x != x ? 0ll : __double2ll_rz(x); }
""",
    "to_ullong": """\
// Toward zero; a value out of range gives the nearest integer, NaN gives 0.
static __device__ inline unsigned long long to_ullong(float x) {
    return x != x ? 0ull : __float2ull_rz(x);
}
static __device__ inline unsigned long long to_ullong(double x) {
    return x != x ? 0ull : __double2ull_rz(x);
}
""",
    "shift_left": """\
// Shifts by an amount of type A, to the right if it is negative; too large an amount leaves 0.
// U is the unsigned T.
template <class T, class U, class A> static __device__ inline T shift_left(T a, A by) {
    const int bits = 8 * sizeof(T);
    if (by >= 0) return by >= (A)bits ? (T)0 : (T)((U)a << (int)by);
    if (by <= (A)-bits) return a < 0 ? (T)-1 : (T)0;
    return a >> -(int)by;
}
""",
    "shift_right": """\
// Shifts by an amount of type A, to the left if it is negative; too large an amount leaves only
// sign bits. U is the unsigned T.
template <class T, class U, class A> static __device__ inline T shift_right(T a, A by) {
    const int bits = 8 * sizeof(T);
    if (by < 0) return by <= (A)-bits ? (T)0 : (T)((U)a << -(int)by);
    if (by >= (A)bits) return a < 0 ? (T)-1 : (T)0;
    return a >> (int)by;
}
""",
    "change": """\
// Changes an element in one atomic step; W has as many bits as T.
template <class T, class W, class F> static __device__ inline void change(T* at, F changed) {
    union Word {
        W bits;
        T value;
    } now, next;
    now.bits = atomicCAS((W*)at, (W)0, (W)0);
    for (;;) {
        next.value = changed(now.value);
        const W found = atomicCAS((W*)at, now.bits, next.bits);
        if (found == now.bits) return;
        now.bits = found;
    }
}
""",
    "change_part": """\
// Changes an element that is a part of a word of 32 bits, in one atomic step. The rest of the word
// keeps its value: if another thread has changed the word in between, the step repeats.
template <class T, class F> static __device__ inline void change_part(T* at, F changed) {
    const unsigned long long address = (unsigned long long)at;
    unsigned int* const word = (unsigned int*)(address & ~3ull);
    const unsigned int shift = (unsigned int)(address & 3ull) * 8u;
    const unsigned int mask = (sizeof(T) == 1 ? 0xFFu : 0xFFFFu) << shift;
    unsigned int now = atomicCAS(word, 0u, 0u);
    for (;;) {
        const unsigned int part = (unsigned int)changed((T)((now & mask) >> shift));
        const unsigned int found = atomicCAS(word, now, (now & ~mask) | (part << shift & mask));
        if (found == now) return;
        now = found;
    }
}
""",
    **{name: one.cuda for name, one in BIT_COUNTS.items()},
}
"""The text of each helper by its name."""
