"""Bugs in how much memory is asked for."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REGRESSIONS = ("test_regressions.py",)
_ENDS = ("test_coordinate_ends.py",)
_SIZES = ("lowering/test_sizes.py",)
_HARDENED = ("test_hardened.py",)
_GPU = ("test_gpu_hardened.py",)
_BY_FACTOR = 'f for s in {} for f in (s.args if getattr(s, "name", "") == "mul" else (s,))'

SIZES = (
    Mutant(
        "coordinates-of-32-bits",
        "coordinates_of",
        "not node.loads",
        "node.loads",
        "Quotients and minima of coordinates wrap where their values are wanted.",
        _ENDS,
    ),
    Mutant(
        "all-numbers-limit",
        "_useful",
        "Int32.min_value < end.value < Int32.max_value",
        "Int32.min_value <= end.value <= Int32.max_value",
        "All int32 numbers are a region that an array may have.",
        _ENDS,
    ),
    Mutant(
        "most-beyond-int32",
        "VariableRanges.ends",
        "None if high is None or not Int32.holds(high) else high",
        "high",
        "The most values of an array are a number that int32 cannot hold, such as 0.",
        _REGRESSIONS,
    ),
    Mutant(
        "vars-in-two-coordinates-round",
        "repeated_vars",
        "1",
        "2",
        "More iterations run over a Var that two coordinates are written at.",
        _REGRESSIONS,
    ),
    Mutant(
        "typed-size-conditions-forgotten",
        "size_preconditions",
        "_is_typed(r) and not r.condition.has_floats",
        "False",
        "What a schedule requires in unsigned numbers is not asked of calls.",
        _REGRESSIONS,
    ),
    Mutant(
        "sizes-clamped-by-factor",
        "Statements._bytes",
        "node.sizes",
        """
        (f for s in node.sizes for f in (s.args if getattr(s, "name", "") == "mul" else (s,)))
        """,
        "Each factor of a size is taken to be at least 0, not the size.",
        _HARDENED,
    ),
    Mutant(
        "device-sizes-clamped-by-factor",
        "_elements",
        "node.sizes",
        """
        (f for s in node.sizes for f in (s.args if getattr(s, "name", "") == "mul" else (s,)))
        """,
        "Device memory has no elements where a factor of a size is negative.",
        _SIZES,
    ),
    Mutant(
        "sizes-halved",
        "Statements._bytes",
        "build.select(beyond, i64(2**63 - 1), total)",
        "build.select(beyond, i64(2**63 - 1), build.ashr(total, i64(1)))",
        "Memory is obtained for half of the values.",
        _HARDENED,
    ),
    Mutant(
        "sizes-of-32-bits",
        "Statements._bytes",
        "build.select(beyond, i64(2**63 - 1), total)",
        "build.and_(total, i64(2**32 - 1))",
        "Of 2**32 bytes none are obtained.",
        _SIZES,
    ),
    Mutant(
        "sizes-one-element-short",
        "Statements._bytes",
        "build.select(beyond, i64(2**63 - 1), total)",
        "build.select(beyond, i64(2**63 - 1), build.sub(total, i64(node.type.bytes)))",
        "The last value has no room.",
        _HARDENED,
    ),
    Mutant(
        "stack-one-element-short",
        "Statements._storage",
        "elements * node.type.bytes",
        "(elements - 1) * node.type.bytes",
        "The last value on the stack has no room.",
        _HARDENED,
    ),
    Mutant(
        "sizes-of-the-first-dimension",
        "_Simplification._sizes",
        """
        if ...:
            return node.extents
        total = 1
        """,
        """
        if ...:
            return node.extents[:1]
        total = 1
        """,
        "Memory whose size varies is obtained for the first dimension only.",
        _HARDENED,
    ),
    Mutant(
        "accesses-before-memory",
        "HardenedAccesses.is_outside",
        "build.or_(before, behind)",
        "behind",
        "Nothing is said of what lies before memory.",
        _HARDENED,
    ),
    Mutant(
        "accesses-that-end-behind-memory",
        "HardenedAccesses.is_outside",
        'build.icmp_signed(">", offset, build.sub(held.nbytes, nbytes))',
        'build.icmp_signed(">=", offset, held.nbytes)',
        "A vector may begin with the last element.",
        _HARDENED,
    ),
    Mutant(
        "lanes-not-kept-are-tested",
        "CheckedMemory.touch_lanes",
        "kept is not None",
        "kept is None and kept is not None",
        "Lanes that touch nothing are said to leave memory.",
        _HARDENED,
    ),
    Mutant(
        "no-poison",
        "HardenedAccesses._poison",
        "nbytes",
        "i64(0)",
        "What is not written reads as anything.",
        _HARDENED,
    ),
    Mutant(
        "updates-not-tested",
        "AccessEmitter.update",
        "self.touch(AccessKind.WRITE, buffer, address, type)",
        "",
        "Updates in one step touch anything.",
        _HARDENED,
    ),
    Mutant(
        "sizes-that-wrap",
        "elements",
        "prod(max(number(size), 0) for size in sizes)",
        "prod(max(number(size), 0) for size in sizes) % 2**32",
        "Of 2**32 elements of device memory none are allocated.",
        _SIZES,
    ),
    Mutant(
        "device-memory-halved",
        "_Host._allocated",
        "AllocStep(node.buffer, ctype(node.type), total)",
        "AllocStep(node.buffer, ctype(node.type), total // 2)",
        "Device memory is allocated for half of the values.",
        _GPU,
    ),
    Mutant(
        "shared-memory-one-element-short",
        "_shared_array",
        "SharedArray(buffer, type, elements)",
        "SharedArray(buffer, type, elements - 1)",
        "The last value of shared memory has no room.",
        _GPU,
    ),
    Mutant(
        "dynamic-shared-memory-halved",
        "_KernelPrinter.kernel",
        "self._dynamic_bytes()",
        "self._dynamic_bytes() // 2",
        "A launch asks for half of the shared memory.",
        _GPU,
    ),
    Mutant(
        "registers-one-element-short",
        "_KernelPrinter._statement",
        "self._memory.own(name, type, elements)",
        "self._memory.own(name, type, elements - 1)",
        "The last value of a thread has no room.",
        _GPU,
    ),
    Mutant(
        "kernel-extents-one-short",
        "KernelSizes.storage",
        "int(extent.value)",
        "int(extent.value) - 1",
        "Memory inside kernels lacks the last place along each dimension.",
        _GPU,
    ),
    Mutant(
        "text-tests-one-too-far",
        "CheckedDeclarations.given",
        '")"',
        '") + 4"',
        "An element behind memory may be touched.",
        _GPU,
    ),
    Mutant(
        "registers-not-poisoned",
        "CheckedDeclarations.own",
        'yield f"POISONED({self.memory(buffer)});"',
        "pass",
        "What a thread has not written reads as anything.",
        _GPU,
    ),
    Mutant(
        "fused-loops-counted-by-nobody",
        "_fused",
        "not simplify.at_most(iterations, most)",
        "iterations is None",
        "A parallel loop of 2**32 iterations has none.",
        _SIZES,
    ),
    Mutant(
        "empty-dimensions-taken-for-granted",
        "Statements.dimensions",
        "build.icmp_unsigned",
        "build.icmp_signed",
        "C programs may give dimensions without values to code that takes one for granted.",
        ("test_c_interface.py",),
    ),
)
