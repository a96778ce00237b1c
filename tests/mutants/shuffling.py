"""Bugs in how vectors are put together, in casts of floats, and in what C programs are told."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SHUFFLES = ("test_interleave.py", "lowering/test_passes.py")
_CASTS = ("test_conversions.py", "test_float_ranges.py")

SHUFFLES = (
    Mutant(
        "one-part-for-all-turns",
        "lanes_of_class",
        "place % own",
        "0",
        "Of a vector whose lanes take turns, every other lane is read from the first part.",
        _SHUFFLES,
    ),
    Mutant(
        "unlike-parts-joined",
        "_is_like",
        "part.name != first.name",
        "False",
        "What takes turns is computed at once though one part adds and the other subtracts.",
        _SHUFFLES,
    ),
    Mutant(
        "every-part-begins-alike",
        "lanes_of_class",
        'coordinate("add", base, constant(int(step) * place, Int32))',
        "base",
        "Odd lanes of even steps are taken to be those of the even ones.",
        _SHUFFLES,
    ),
    Mutant(
        "dense-vectors-reach-beyond",
        "_picked",
        "min(start + k * lanes, end + 1 - lanes)",
        "start + k * lanes",
        "The last dense vector of a strided load reads beyond the last lane.",
        _SHUFFLES,
    ),
    Mutant(
        "stores-change-places",
        "_dense_stores",
        "all(_apart(stores[n], stores[members[0]].buffer, n in members) for n in places)",
        "True",
        "Strided stores become one though the second reads what the first has written.",
        _SHUFFLES,
    ),
    Mutant(
        "masked-stores-woven",
        "_filling",
        "store.mask is not None",
        "False",
        "Strided stores in some lanes become dense ones in all.",
        (*_SHUFFLES, "test_tails.py"),
    ),
)

BORDERS = (
    Mutant(
        "no-number-is-small",
        "_min",
        "min(a.high, b.high) if a.is_number else b.high",
        "min(a.high, b.high)",
        "The smaller of no number and 300 is thought to be at most 255.",
        _CASTS,
    ),
    Mutant(
        "limits-include-the-first-beyond",
        "Operators._to_integer",
        "limits.high >= target.max_value + 1",
        "limits.high > target.max_value + 1",
        "What may be 256 is not limited when it becomes a byte.",
        _CASTS,
    ),
    Mutant(
        "no-number-is-the-least",
        "Operators._to_integer",
        "target.is_int and not limits.is_number",
        "False",
        "NaN becomes the least integer instead of 0.",
        _CASTS,
    ),
    Mutant(
        "powers-forget-the-sign",
        "_Approximation._pow",
        "build.or_(self.bits(value), sign)",
        "self.bits(value)",
        "An odd power of a negative number is positive.",
        ("test_approximate.py",),
    ),
    Mutant(
        "half-a-word",
        "_scalar",
        'f"int64_t {identifier(scalar.name)}; /* an int32_t */"',
        'f"SPACES_WORD int32_t {identifier(scalar.name)};"',
        "An int32 in the arguments is half a word, and generated code reads a whole one.",
        ("test_c_interface.py",),
    ),
)
