// The functions that CUDA C text may call without any include, as CPU functions.
//
// Functions of C's math library (expf, sinf, floorf, fmaf, ...) come from <math.h>:
// correctly rounded ones agree with a GPU bit for bit, others may differ in the last place. The mixed
// overloads of min and max that CUDA has (int with unsigned and the like) are left out, so that a
// text that relies on them does not build.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SHIM_MIN_MAX(type)                                             \
    static inline type min(type a, type b) { return b < a ? b : a; }   \
    static inline type max(type a, type b) { return a < b ? b : a; }
SHIM_MIN_MAX(int)
SHIM_MIN_MAX(unsigned)
SHIM_MIN_MAX(long)
SHIM_MIN_MAX(unsigned long)
SHIM_MIN_MAX(long long)
SHIM_MIN_MAX(unsigned long long)
#undef SHIM_MIN_MAX
// For floats, CUDA's min and max are fmin and fmax: a NaN loses against a number.
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

#define SHIM_ROUNDED(suffix, type, root)                                    \
    static inline type __##suffix##add_rn(type a, type b) { return a + b; } \
    static inline type __##suffix##sub_rn(type a, type b) { return a - b; } \
    static inline type __##suffix##mul_rn(type a, type b) { return a * b; } \
    static inline type __##suffix##div_rn(type a, type b) { return a / b; } \
    static inline type __##suffix##sqrt_rn(type a) { return root(a); }
SHIM_ROUNDED(f, float, sqrtf)
SHIM_ROUNDED(d, double, sqrt)
#undef SHIM_ROUNDED
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

#define SHIM_BITS(name, to, from)        \
    static inline to name(from value) {  \
        to result;                       \
        memcpy(&result, &value, sizeof result); \
        return result;                   \
    }
SHIM_BITS(__int_as_float, float, int)
SHIM_BITS(__uint_as_float, float, unsigned)
SHIM_BITS(__float_as_int, int, float)
SHIM_BITS(__float_as_uint, unsigned, float)
SHIM_BITS(__longlong_as_double, double, long long)
SHIM_BITS(__double_as_longlong, long long, double)
#undef SHIM_BITS

// A GPU's conversion saturates; a NaN becomes 0 from float to 32 bits, and otherwise the integer with
// only its top bit set (PTX ISA, cvt). A CPU's conversion is undefined in these cases.
#define SHIM_CONVERT(name, to, from, low, beyond, least, most, of_nan) \
    static inline to name(from x) {                                    \
        if (x != x) return of_nan;                                     \
        if (x <= (from)(low)) return least;                            \
        return x >= (from)(beyond) ? most : (to)x;                     \
    }
SHIM_CONVERT(__float2int_rz, int, float, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX, 0)
SHIM_CONVERT(__float2uint_rz, unsigned, float, 0, 0x1p32, 0, UINT32_MAX, 0)
SHIM_CONVERT(__float2ll_rz, long long, float, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX, INT64_MIN)
SHIM_CONVERT(__float2ull_rz, unsigned long long, float, 0, 0x1p64, 0, UINT64_MAX, 1ull << 63)
SHIM_CONVERT(__double2int_rz, int, double, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX, INT32_MIN)
SHIM_CONVERT(__double2uint_rz, unsigned, double, 0, 0x1p32, 0, UINT32_MAX, 1u << 31)
SHIM_CONVERT(__double2ll_rz, long long, double, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX, INT64_MIN)
SHIM_CONVERT(__double2ull_rz, unsigned long long, double, 0, 0x1p64, 0, UINT64_MAX, 1ull << 63)
#undef SHIM_CONVERT

static inline int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)(((unsigned long long)a * b) >> 32);
}
static inline long long __mul64hi(long long a, long long b) {
    return (long long)(((__int128)a * b) >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}

static inline int __clz(int a) { return a == 0 ? 32 : __builtin_clz((unsigned)a); }
static inline int __clzll(long long a) {
    return a == 0 ? 64 : __builtin_clzll((unsigned long long)a);
}
static inline int __ffs(int a) { return __builtin_ffs(a); }
static inline int __ffsll(long long a) { return __builtin_ffsll(a); }
static inline int __popc(unsigned a) { return __builtin_popcount(a); }
static inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }

template <class T> static inline T __ldg(const T* address) { return *address; }

// Atomic functions: the threads of a block run one at a time, and the thread sanitizer knows these.
#define SHIM_FETCH(type, name, fetch)                                                            \
    static inline type name(type* at, type a) { return fetch(at, a, __ATOMIC_RELAXED); }
#define SHIM_CHANGES(type)                                                                       \
    static inline type atomicCAS(type* at, type expected, type desired) {                        \
        __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED,             \
                                    __ATOMIC_RELAXED);                                           \
        return expected;                                                                         \
    }                                                                                            \
    SHIM_FETCH(type, atomicAdd, __atomic_fetch_add)                                              \
    SHIM_FETCH(type, atomicAnd, __atomic_fetch_and)                                              \
    SHIM_FETCH(type, atomicOr, __atomic_fetch_or)                                                \
    SHIM_FETCH(type, atomicXor, __atomic_fetch_xor)
SHIM_CHANGES(unsigned)
SHIM_CHANGES(unsigned long long)
#undef SHIM_CHANGES
#undef SHIM_FETCH
#define SHIM_BEST(type, name, better)                                                            \
    static inline type name(type* at, type a) {                                                  \
        type now = __atomic_load_n(at, __ATOMIC_RELAXED);                                        \
        while (a better now && !__atomic_compare_exchange_n(at, &now, a, false, __ATOMIC_RELAXED, \
                                                            __ATOMIC_RELAXED)) {                 \
        }                                                                                        \
        return now;                                                                              \
    }
#define SHIM_BESTS(type) SHIM_BEST(type, atomicMin, <) SHIM_BEST(type, atomicMax, >)
SHIM_BESTS(int)
SHIM_BESTS(unsigned)
SHIM_BESTS(long long)
SHIM_BESTS(unsigned long long)
#undef SHIM_BESTS
#undef SHIM_BEST
static inline float atomicAdd(float* at, float a) {
    unsigned now = __atomic_load_n((unsigned*)at, __ATOMIC_RELAXED), next;
    float value;
    do {
        memcpy(&value, &now, sizeof value);
        float sum = value + a;
        memcpy(&next, &sum, sizeof next);
    } while (!__atomic_compare_exchange_n((unsigned*)at, &now, next, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return value;
}
