"""Bodies of parallel loops, as native code and in Python, and functions that run them."""

import ctypes

from spaces.backend.llvm.runtime.helpers import runtime_symbols

# Loop bodies as native code. A closure is {pool, counts, extent, outer index}.
BODIES = """
%closure = type { ptr, ptr, i32, i32 }
declare i32 @spaces_par_for(ptr, ptr, i32, i32, ptr)

; counts[i] += 1
define i32 @count(ptr %c, i32 %i) {
  %place = getelementptr %closure, ptr %c, i32 0, i32 1
  %counts = load ptr, ptr %place
  %slot = getelementptr i32, ptr %counts, i32 %i
  atomicrmw add ptr %slot, i32 1 monotonic
  ret i32 0
}

; counts[i] += 1, and then fail with the status i when i is at least the extent
define i32 @fail_from(ptr %c, i32 %i) {
  call i32 @count(ptr %c, i32 %i)
  %place = getelementptr %closure, ptr %c, i32 0, i32 2
  %limit = load i32, ptr %place
  %bad = icmp sge i32 %i, %limit
  %status = select i1 %bad, i32 %i, i32 0
  ret i32 %status
}

; counts[outer * extent + i] += 1
define i32 @count_inner(ptr %c, i32 %i) {
  %e = getelementptr %closure, ptr %c, i32 0, i32 2
  %extent = load i32, ptr %e
  %o = getelementptr %closure, ptr %c, i32 0, i32 3
  %outer = load i32, ptr %o
  %base = mul i32 %outer, %extent
  %at = add i32 %base, %i
  %status = call i32 @count(ptr %c, i32 %at)
  ret i32 %status
}

define i32 @nested(ptr %c, i32 %i) {
  %inner = alloca %closure
  %all = load %closure, ptr %c
  %mine = insertvalue %closure %all, i32 %i, 3
  store %closure %mine, ptr %inner
  %pool = extractvalue %closure %all, 0
  %extent = extractvalue %closure %all, 2
  %status = call i32 @spaces_par_for(ptr %pool, ptr @count_inner, i32 0, i32 %extent, ptr %inner)
  ret i32 %status
}

; counts[0] += (depth of the extent's binary recursion, as the number of leaves)
define i32 @recursive(ptr %c, i32 %i) {
  %inner = alloca %closure
  %all = load %closure, ptr %c
  %depth = extractvalue %closure %all, 2
  %leaf = icmp eq i32 %depth, 0
  br i1 %leaf, label %bottom, label %deeper
bottom:
  %s0 = call i32 @count(ptr %c, i32 0)
  ret i32 %s0
deeper:
  %less = sub i32 %depth, 1
  %mine = insertvalue %closure %all, i32 %less, 2
  store %closure %mine, ptr %inner
  %pool = extractvalue %closure %all, 0
  %s1 = call i32 @spaces_par_for(ptr %pool, ptr @recursive, i32 0, i32 3, ptr %inner)
  ret i32 %s1
}
"""


BODY = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


class Closure(ctypes.Structure):
    _fields_ = (
        ("pool", ctypes.c_void_p),
        ("counts", ctypes.c_void_p),
        ("extent", ctypes.c_int32),
        ("outer", ctypes.c_int32),
    )


def par_for(pool, body, low, extent, closure=None):
    run = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int32,
        ctypes.c_void_p,
    )(runtime_symbols()["spaces_par_for"])
    return run(pool.address, body, low, extent, ctypes.addressof(closure) if closure else None)


def closure_over(pool, counts, low=0, extent=0):
    # counts[i - low] is what index i counts in
    return Closure(pool.address, counts.ctypes.data - 4 * low, extent, 0)
