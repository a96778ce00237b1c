"""Bugs in how vectors are put together, in casts of floats, and in what C programs are told."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SHUFFLES = ("tests/backend/test_interleave.py", "tests/backend/test_lowering_passes.py")
_CASTS = ("tests/backend/test_conversions.py", "tests/backend/test_limits.py")

SHUFFLES = (
    Mutant(
        "one-part-for-all-turns",
        "backend/lowering/cpu/turns.py",
        "part = expr.parts[place % own]",
        "part = expr.parts[0]",
        "Of a vector whose lanes take turns, every other lane is read from the first part.",
        _SHUFFLES,
    ),
    Mutant(
        "unlike-parts-joined",
        "backend/lowering/cpu/turns.py",
        "part.name != first.name",
        "False",
        "What takes turns is computed at once though one part adds and the other subtracts.",
        _SHUFFLES,
    ),
    Mutant(
        "every-part-begins-alike",
        "backend/lowering/cpu/turns.py",
        'begin = coordinate("add", base, constant(int(step) * place, Int32))',
        "begin = base",
        "Odd lanes of even steps are taken to be those of the even ones.",
        _SHUFFLES,
    ),
    Mutant(
        "dense-vectors-reach-beyond",
        "backend/lowering/cpu/interleave.py",
        "min(start + k * lanes, end + 1 - lanes)",
        "start + k * lanes",
        "The last dense vector of a strided load reads beyond the last lane.",
        _SHUFFLES,
    ),
    Mutant(
        "stores-change-places",
        "backend/lowering/cpu/interleave.py",
        "if all(_apart(stores[n], stores[members[0]].buffer, n in members) for n in places):",
        "if True:",
        "Strided stores become one though the second reads what the first has written.",
        _SHUFFLES,
    ),
    Mutant(
        "masked-stores-woven",
        "backend/lowering/cpu/interleave.py",
        "or store.mask is not None:",
        "or False:",
        "Strided stores in some lanes become dense ones in all.",
        (*_SHUFFLES, "tests/backend/test_tails.py"),
    ),
)

BORDERS = (
    Mutant(
        "no-number-is-small",
        "backend/llvm/limits.py",
        "high = min(a.high, b.high) if a.is_number else b.high",
        "high = min(a.high, b.high)",
        "The smaller of no number and 300 is thought to be at most 255.",
        _CASTS,
    ),
    Mutant(
        "limits-include-the-first-beyond",
        "backend/llvm/operators.py",
        "is_beyond = limits.high >= target.max_value + 1",
        "is_beyond = limits.high > target.max_value + 1",
        "What may be 256 is not limited when it becomes a byte.",
        _CASTS,
    ),
    Mutant(
        "no-number-is-the-least",
        "backend/llvm/operators.py",
        "if target.is_int and not limits.is_number:",
        "if False:",
        "NaN becomes the least integer instead of 0.",
        _CASTS,
    ),
    Mutant(
        "powers-forget-the-sign",
        "backend/llvm/approximate.py",
        "value = self.from_bits(build.or_(self.bits(value), sign))",
        "value = self.from_bits(self.bits(value))",
        "An odd power of a negative number is positive.",
        ("tests/backend/test_approximate.py",),
    ),
    Mutant(
        "half-a-word",
        "backend/llvm/c_header.py",
        'return f"int64_t {identifier(scalar.name)}; /* an int32_t */"',
        'return f"SPACES_WORD int32_t {identifier(scalar.name)};"',
        "An int32 in the arguments is half a word, and generated code reads a whole one.",
        ("tests/backend/test_c_interface.py",),
    ),
)
