"""Bugs in the places of values: strides, sizes, lanes and masks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ABOUT_MEMORY = (
    "test_tails.py",
    "lowering/test_structure.py",
    "lowering/test_passes.py",
    "test_compile.py",
    "test_codegen.py",
)
"""The tests that are asked about several of these bugs."""

MEMORY = (
    Mutant(
        "memory-order-inverted",
        "_allocated",
        "node.order",
        "range(len(node.extents))",
        "Storage is laid out in the order of the arguments, reordered or not.",
        ("test_hoisting.py",),
    ),
    Mutant(
        "strides-not-multiplied",
        "_allocated",
        "times(node.extents[d], stride)",
        "node.extents[d]",
        "The stride of a third dimension is the extent of the second.",
        (
            "lowering/test_structure.py",
            "lowering/test_passes.py",
            "test_compile.py",
            "test_scratch.py",
        ),
    ),
    Mutant(
        "host-parts-see-any-strides",
        "_Buffer.of",
        "array if array.flags.c_contiguous else np.ascontiguousarray(array)",
        "array",
        "Host parts compute on the caller's arrays as if these had no gaps.",
        ("test_gpu_host_strides.py", "test_missed.py"),
    ),
    Mutant(
        "hoisted-out-of-parallel-loops",
        "hoist_level",
        "levels[shared[-1] + 1 if shared else 0 :]",
        "levels",
        "Iterations that run at once share hoisted memory.",
        ("rules/test_examples.py",),
    ),
    Mutant(
        "hoisted-for-one-iteration",
        "Bounds._hoisted_extents",
        "largest(e, loops, self.simplify)",
        "-largest(-e, loops, self.simplify)",
        "Hoisted memory is as large as the smallest of all that it is for.",
        ("test_hoisting.py",),
    ),
    Mutant(
        "sizes-that-wrap",
        "elements",
        "prod(max(number(size), 0) for size in sizes)",
        "prod(max(number(size), 0) for size in sizes) % 2**32",
        "Of 2**32 elements of device memory none are allocated.",
        ("lowering/test_sizes.py",),
    ),
    Mutant(
        "accesses-before-memory",
        "HardenedAccesses.is_outside",
        "build.or_(before, behind)",
        "behind",
        "Nothing is said of what lies before memory.",
        ("test_hardened.py",),
    ),
    Mutant(
        "stores-without-mask",
        "_Lanes._store",
        "Store(*..., self.mask)",
        "Store(*...)",
        "Lanes beyond a guard store.",
        ABOUT_MEMORY,
    ),
    Mutant(
        "backwards-mask-forwards",
        "AccessEmitter.load_masked",
        "self._pick(mask, None, lanes[::-1])",
        "self._pick(mask, None, lanes)",
        "A vector that is read backwards is masked as if it were read forwards.",
        ABOUT_MEMORY,
    ),
)
