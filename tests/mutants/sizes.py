"""Bugs in how much memory is asked for."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SIZES = ("tests/backend/test_sizes.py",)
_HARDENED = ("tests/backend/test_hardened.py",)
_GPU = ("tests/backend/cuda/test_gpu_hardened.py",)
_ACCESSES = "backend/llvm/accesses.py"
_STATEMENTS = "backend/llvm/statements.py"
_BY_FACTOR = 'f for s in {} for f in (s.args if getattr(s, "name", "") == "mul" else (s,))'

SIZES = (
    Mutant(
        "sizes-clamped-by-factor",
        _STATEMENTS,
        "for size in node.sizes:",
        f"for size in ({_BY_FACTOR.format('node.sizes')}):",
        "Each factor of a size is taken to be at least 0, not the size.",
        _HARDENED,
    ),
    Mutant(
        "device-sizes-clamped-by-factor",
        "backend/cuda/host.py",
        "elements(node.sizes, ",
        f"elements(({_BY_FACTOR.format('node.sizes')}), ",
        "Device memory has no elements where a factor of a size is negative.",
        _SIZES,
    ),
    Mutant(
        "sizes-halved",
        _STATEMENTS,
        "return build.select(beyond, i64(2**63 - 1), total)",
        "return build.select(beyond, i64(2**63 - 1), build.ashr(total, i64(1)))",
        "Memory is obtained for half of the values.",
        _HARDENED,
    ),
    Mutant(
        "sizes-of-32-bits",
        _STATEMENTS,
        "return build.select(beyond, i64(2**63 - 1), total)",
        "return build.and_(total, i64(2**32 - 1))",
        "Of 2**32 bytes none are obtained.",
        _SIZES,
    ),
    Mutant(
        "sizes-one-element-short",
        _STATEMENTS,
        "return build.select(beyond, i64(2**63 - 1), total)",
        "return build.select(beyond, i64(2**63 - 1), build.sub(total, i64(node.type.bytes)))",
        "The last value has no room.",
        _HARDENED,
    ),
    Mutant(
        "stack-one-element-short",
        _STATEMENTS,
        "size = None if elements is None else elements * node.type.bytes",
        "size = None if elements is None else (elements - 1) * node.type.bytes",
        "The last value on the stack has no room.",
        _HARDENED,
    ),
    Mutant(
        "sizes-of-the-first-dimension",
        "backend/lowering/simplify.py",
        "for e in node.extents):\n            return node.extents",
        "for e in node.extents):\n            return node.extents[:1]",
        "Memory whose size varies is obtained for the first dimension only.",
        _HARDENED,
    ),
    Mutant(
        "accesses-before-memory",
        _ACCESSES,
        "return build.or_(before, behind)",
        "return behind",
        "Nothing is said of what lies before memory.",
        _HARDENED,
    ),
    Mutant(
        "accesses-that-end-behind-memory",
        _ACCESSES,
        'build.icmp_signed(">", offset, build.sub(held.nbytes, nbytes))',
        'build.icmp_signed(">=", offset, held.nbytes)',
        "A vector may begin with the last element.",
        _HARDENED,
    ),
    Mutant(
        "lanes-not-kept-are-tested",
        _ACCESSES,
        "if kept is not None:",
        "if kept is None and kept is not None:",
        "Lanes that touch nothing are said to leave memory.",
        _HARDENED,
    ),
    Mutant(
        "no-poison",
        _ACCESSES,
        "self._here.call(fill, [block, I8(POISON), nbytes, I1(0)])",
        "self._here.call(fill, [block, I8(POISON), i64(0), I1(0)])",
        "What is not written reads as anything.",
        _HARDENED,
    ),
    Mutant(
        "updates-not-tested",
        "backend/llvm/memory.py",
        """        self.touch(Access.WRITE, buffer, address, type)
        instruction""",
        "        instruction",
        "Updates in one step touch anything.",
        _HARDENED,
    ),
    Mutant(
        "sizes-that-wrap",
        "backend/lowering/sizes.py",
        "return prod(max(number(size), 0) for size in sizes)",
        "return prod(max(number(size), 0) for size in sizes) % 2**32",
        "Of 2**32 elements of device memory none are allocated.",
        _SIZES,
    ),
    Mutant(
        "device-memory-halved",
        "backend/cuda/host.py",
        "yield AllocStep(node.buffer, ctype(node.type), total)",
        "yield AllocStep(node.buffer, ctype(node.type), total // 2)",
        "Device memory is allocated for half of the values.",
        _GPU,
    ),
    Mutant(
        "shared-memory-one-element-short",
        "backend/lowering/kernels.py",
        "return SharedArray(buffer, type, elements)",
        "return SharedArray(buffer, type, elements - 1)",
        "The last value of shared memory has no room.",
        _GPU,
    ),
    Mutant(
        "dynamic-shared-memory-halved",
        "backend/cuda/printer.py",
        "dynamic_shared_bytes=self._dynamic_bytes() if is_dynamic",
        "dynamic_shared_bytes=self._dynamic_bytes() // 2 if is_dynamic",
        "A launch asks for half of the shared memory.",
        _GPU,
    ),
    Mutant(
        "registers-one-element-short",
        "backend/cuda/printer.py",
        "yield from self._memory.own(name, type, elements)",
        "yield from self._memory.own(name, type, elements - 1)",
        "The last value of a thread has no room.",
        _GPU,
    ),
    Mutant(
        "kernel-extents-one-short",
        "backend/lowering/kernel_sizes.py",
        "sizes.append(max(int(extent.value), 0))",
        "sizes.append(max(int(extent.value) - 1, 0))",
        "Memory inside kernels lacks the last place along each dimension.",
        _GPU,
    ),
    Mutant(
        "text-tests-one-too-far",
        "backend/cuda/declarations.py",
        'f"GIVEN_BYTES({number})"',
        'f"GIVEN_BYTES({number}) + 4"',
        "An element behind memory may be touched.",
        _GPU,
    ),
    Mutant(
        "registers-not-poisoned",
        "backend/cuda/declarations.py",
        'yield f"POISONED({self.memory(buffer)});"',
        "pass",
        "What a thread has not written reads as anything.",
        _GPU,
    ),
    Mutant(
        "fused-loops-counted-by-nobody",
        "backend/lowering/requirements.py",
        "if not simplify.at_most(iterations, most):",
        "if iterations is None:",
        "A parallel loop of 2**32 iterations has none.",
        _SIZES,
    ),
    Mutant(
        "empty-dimensions-taken-for-granted",
        "backend/llvm/statements.py",
        'build.icmp_unsigned("<", build.sub(extent, i64(1)), most)',
        'build.icmp_signed("<", build.sub(extent, i64(1)), most)',
        "C programs may give dimensions without values to code that takes one for granted.",
        ("tests/backend/test_c_interface.py",),
    ),
)
