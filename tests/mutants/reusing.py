"""Bugs in what searches reuse of earlier nests."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("enumerate/test_memo.py",)

REUSING = (
    Mutant(
        "known-without-its-readers",
        "Bounds._reading",
        "(self.numbers[reader], index, self._windows(name, reader, index))",
        "(index, self._windows(name, reader, index))",
        "A placement is taken for one with other loops around it.",
        _TESTS,
    ),
    Mutant(
        "known-whatever-is-read",
        "Bounds._reading",
        "(self.numbers[reader], index, self._windows(name, reader, index))",
        "(self.numbers[reader], index)",
        "A placement is taken for one that is read elsewhere.",
        _TESTS,
    ),
    Mutant(
        "known-with-its-old-body",
        "Bounds._placed",
        "placement if placement.function is function else evolve(placement, function=function)",
        "placement",
        "A placement keeps the Funcs that were inlined when it was made.",
        _TESTS,
    ),
    Mutant(
        "known-loops-without-limits",
        "Bounds._enter",
        "self.simplify.assume(loop.var.name, loop.min, loop.max)",
        "pass",
        "Nothing is known of the loops of placements that are known.",
        _TESTS,
    ),
    Mutant(
        "known-whatever-is-demanded",
        "Bounds._demanded",
        "(self.surroundings, algorithm, _form(function), entry, site)",
        "(self.surroundings, algorithm, _form(function), entry, site.path)",
        "A placement is taken for one whose readers demand another box.",
        _TESTS,
    ),
    Mutant(
        "known-whatever-values-are-coordinates",
        "Bounds._algorithm",
        "self.pipeline if depends else None",
        "None",
        "A placement is taken for one of another pipeline, whose Funcs have other values.",
        _TESTS,
    ),
    Mutant(
        "largest-in-any-loops",
        "_Most.__call__",
        "(self.bounds.surroundings, size, loops, named)",
        "(self.bounds.surroundings, size, named)",
        "A size in short loops is taken for the same one in long loops.",
        _TESTS,
    ),
    Mutant(
        "last-bounds-whatever-is-asked",
        "NestMemo.bounds",
        "last.schedule is schedule",
        "True",
        "A structure gets the bounds of the one before it.",
        _TESTS,
    ),
    Mutant(
        "counted-with-its-old-work",
        "_Counter.func",
        "stage.work is work",
        "True",
        "Features keep the work of the Funcs that were inlined when they were counted.",
        _TESTS,
    ),
    Mutant(
        "common-terms-hide-extremes",
        "Simplifier._extreme",
        "shared.terms and any(_is_extreme(name, rest) for rest in rests)",
        "False",
        "A normal form is not that of itself.",
        ("test_simplify.py",),
    ),
)
