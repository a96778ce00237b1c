"""Bugs in what is known of iterations that meet, and of floats combined in another order."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FILE = "spaces/constraints/dependences.py"
_PAIRS = ("tests/constraints/test_dependences.py", "tests/constraints/test_hazards.py")
_ROUNDING = (
    "tests/constraints/test_rounding.py",
    "tests/constraints/test_rules.py",
    "tests/backend/test_exactness.py",
)

DEPENDENCES = (
    Mutant(
        "own-reads-never-race",
        _FILE,
        "name is not None and all(read[d] is arg for read in self.reads)",
        "name is not None",
        "Only writes are compared with writes: what an update reads of itself is not looked at.",
        _PAIRS,
    ),
    Mutant(
        "own-reads-have-no-distance",
        _FILE,
        "for access in (self.write, *self.reads):",
        "for access in (self.write,):",
        "Distances are those between writes only.",
        _PAIRS,
    ),
    Mutant(
        "sums-of-two-dimensions",
        _FILE,
        "if len(terms) != 1 or len(terms[0]) != 1:",
        "if not terms or len(terms[0]) != 1:",
        "f(x + y) is taken to be another element for each x.",
        _PAIRS,
    ),
    Mutant(
        "distances-go-one-way",
        _FILE,
        "for sign in (1, -1):",
        "for sign in (1,):",
        "What is read before it is overwritten need not keep its place.",
        _PAIRS,
    ),
    Mutant(
        "distances-end-early",
        _FILE,
        "abs(apart) < extent.value",
        "abs(apart) < extent.value - 1",
        "The first and the last iteration are said not to meet.",
        _PAIRS,
    ),
    Mutant(
        "distances-round",
        _FILE,
        "meets = meets and rest == 0 and",
        "meets = meets and",
        "f(2x) and f(2x + 1) are said to meet.",
        _PAIRS,
    ),
    Mutant(
        "reads-come-later",
        _FILE,
        "            *((read, self.write) for read in self.reads),\n",
        "",
        "An iteration that reads what a later one overwrites is not looked at.",
        _PAIRS,
    ),
    Mutant(
        "unknown-is-apart",
        _FILE,
        "        if answer == z3.unsat:\n            return None",
        "        if answer != z3.sat:\n            return None",
        "Iterations of which the solver finds nothing out are said not to meet.",
        _PAIRS,
    ),
    Mutant(
        "values-that-are-read-are-alike",
        _FILE,
        "        self.second = Second(stage.dimensions)",
        "        self.second = Second()",
        "The second iteration has the coordinates of the first.",
        _PAIRS,
    ),
)

ROUNDING = (
    Mutant(
        "least-of-floats-in-any-order",
        "spaces/model/schedules/associative.py",
        'return KEPT if operator in ("min", "max") else ROUNDED',
        'return "" if operator in ("min", "max") else ROUNDED',
        "Minima of floats are said to be the same in any order, with NaN and zeros among them.",
        _ROUNDING,
    ),
    Mutant(
        "best-by-minimum",
        "spaces/model/schedules/best.py",
        'return "" if is_selected else why_inexact("min", function.types[key])',
        'return ""',
        "Partial results are compared in another way than values, which tells NaN apart.",
        _ROUNDING,
    ),
    Mutant(
        "complex-products-are-exact",
        "spaces/model/schedules/pairs.py",
        '        inexact=why_inexact("mul", type),\n',
        "",
        "Products of complex floats are said to be the same in any order.",
        _ROUNDING,
    ),
    Mutant(
        "lanes-add-in-order",
        "spaces/constraints/rules/rounding.py",
        "elif kind is LoopKind.VECTORIZED:",
        "elif kind is LoopKind.UNROLLED:",
        "Sums of vector lanes are said to be those of the algorithm.",
        _ROUNDING,
    ),
    Mutant(
        "minima-reorder-freely",
        "spaces/constraints/rules/rounding.py",
        "        yield from _reordered(records, func, index, why)\n",
        "",
        "Loops of a minimum of floats may run in another order.",
        _ROUNDING,
    ),
    Mutant(
        "moves-need-not-be-exact",
        "spaces/enumerate/beam.py",
        "space.device, exact=exact)",
        "space.device)",
        "A search by moves swaps the loops of a maximum of floats.",
        _ROUNDING,
    ),
    Mutant(
        "exact-is-not-asked",
        "spaces/constraints/verify.py",
        "    if exact:\n",
        "    if exact and found:\n",
        "A schedule that is legal otherwise is not asked whether its results are exact.",
        _ROUNDING,
    ),
)
