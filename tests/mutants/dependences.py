"""Bugs in what is known of iterations that meet, and of floats combined in another order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PAIRS = ("dependences/test_iterations.py", "test_hazards.py")
_ROUNDING = (
    "test_rounding.py",
    "rules/test_examples.py",
    "test_exactness.py",
)

DEPENDENCES = (
    Mutant(
        "own-reads-never-race",
        "_Question.written_alike",
        "name is not None and all(read[d] is arg for read in self.reads)",
        "name is not None",
        "Only writes are compared with writes: what an update reads of itself is not looked at.",
        _PAIRS,
    ),
    Mutant(
        "own-reads-have-no-distance",
        "_Question.distances",
        "(self.write, *self.reads)",
        "(self.write,)",
        "Distances are those between writes only.",
        _PAIRS,
    ),
    Mutant(
        "sums-of-two-dimensions",
        "_only_variable",
        "len(terms) != 1",
        "not terms",
        "f(x + y) is taken to be another element for each x.",
        _PAIRS,
    ),
    Mutant(
        "distances-go-one-way",
        "_by_distances",
        "(1, -1)",
        "(1,)",
        "What is read before it is overwritten need not keep its place.",
        _PAIRS,
    ),
    Mutant(
        "distances-end-early",
        "_Question.distances",
        "extent.value",
        "extent.value - 1",
        "The first and the last iteration are said not to meet.",
        _PAIRS,
    ),
    Mutant(
        "distances-round",
        "_Question.distances",
        "meets and rest == 0 and distance.setdefault(name, apart) == apart",
        "meets and distance.setdefault(name, apart) == apart",
        "f(2x) and f(2x + 1) are said to meet.",
        _PAIRS,
    ),
    Mutant(
        "reads-come-later",
        "_TwoIterations._meetings",
        "(*..., *((read, self.write) for read in self.reads))",
        "(*...,)",
        "An iteration that reads what a later one overwrites is not looked at.",
        _PAIRS,
    ),
    Mutant(
        "unknown-is-apart",
        "_TwoIterations._ask",
        "met == z3.unsat",
        "met != z3.sat",
        "Iterations that the solver cannot decide are said not to meet.",
        _PAIRS,
    ),
    Mutant(
        "values-that-are-read-are-alike",
        "_TwoIterations.__init__",
        "Second(stage.dimensions)",
        "Second()",
        "The second iteration has the coordinates of the first.",
        _PAIRS,
    ),
)

ROUNDING = (
    Mutant(
        "least-of-floats-in-any-order",
        "why_inexact",
        "KEPT",
        '""',
        "Minima of floats are said to be the same in any order, with NaN and zeros among them.",
        _ROUNDING,
    ),
    Mutant(
        "best-by-minimum",
        "_inexact",
        '"" if is_selected else why_inexact("min", function.types[key])',
        '""',
        "Partial results are compared in another way than values, which tells NaN apart.",
        _ROUNDING,
    ),
    Mutant(
        "complex-products-are-exact",
        "_product",
        """
        Part(
            (real, other),
            (factor, cross),
            (constant(1, type), constant(0, type)),
            (whole, mixed),
            inexact=why_inexact("mul", type),
        )
        """,
        """
        Part(
            (real, other),
            (factor, cross),
            (constant(1, type), constant(0, type)),
            (whole, mixed),
        )
        """,
        "Products of complex floats are said to be the same in any order.",
        _ROUNDING,
    ),
    Mutant(
        "lanes-add-in-order",
        "_at_once",
        "LoopKind.VECTORIZED",
        "LoopKind.UNROLLED",
        "Sums of vector lanes are said to be those of the algorithm.",
        _ROUNDING,
    ),
    Mutant(
        "minima-reorder-freely",
        "roundings_of",
        "yield from _reordered(records, func, index, why)",
        "",
        "Loops of a minimum of floats may run in another order.",
        _ROUNDING,
    ),
    Mutant(
        "moves-need-not-be-exact",
        "ScheduleSpace.judged",
        "JudgedSizes(self.pipeline, self.sizes, self.device, self.options.exact)",
        "JudgedSizes(self.pipeline, self.sizes, self.device)",
        "A search by moves swaps the loops of a maximum of floats.",
        _ROUNDING,
    ),
    Mutant(
        "exact-is-not-asked",
        "_verify",
        "exact",
        "exact and found",
        "A schedule that is legal otherwise is not asked whether its results are exact.",
        _ROUNDING,
    ),
)
