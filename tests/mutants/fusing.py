"""Bugs in the fused loops of Funcs that are computed with each other."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/halide/test_compute_with.py",)

FUSING = (
    Mutant(
        "fused-where-both-run",
        "backend/lowering/compute_with.py",
        "low = simplify(reduce(fn.min, (loop.min for loop in loops)))",
        "low = simplify(reduce(fn.max, (loop.min for loop in loops)))",
        "Fused loops begin where the later of both does.",
        _TESTS,
    ),
    Mutant(
        "only-where-both-run",
        "backend/lowering/compute_with.py",
        "If(reduce(_and, needed), inner, apart)",
        "If(reduce(_and, needed), inner)",
        "Iterations that only one of two fused loops has are left out.",
        _TESTS,
    ),
    Mutant(
        "shifted-the-other-way",
        "backend/lowering/compute_with.py",
        "bind(child.body, child.var, parent.var - shift)",
        "bind(child.body, child.var, parent.var + shift)",
        "The coordinates of an aligned loop are shifted as its iterations are.",
        _TESTS,
    ),
    Mutant(
        "ends-unguarded",
        "backend/lowering/compute_with.py",
        "if not simplify.at_most(end, loop.min + loop.extent):",
        "if False:",
        "A fused loop that is shorter runs on to the end of the longer one.",
        _TESTS,
    ),
    Mutant(
        "updates-of-one-only",
        "backend/lowering/start.py",
        "_statements(node.body[1:], bounds) for node in group]",
        "_statements(node.body[1:], bounds) for node in group[:1]]",
        "Updates of Funcs whose first stages are fused are left out.",
        _TESTS,
    ),
    Mutant(
        "chains-fuse-what-is-apart",
        "spaces/constraints/rules/companions.py",
        "len(outside) < len(mine) and mine == theirs:",
        "False:",
        "A Func is to be fused further in than the one it is fused with is with a third.",
        _TESTS,
    ),
    Mutant(
        "a-circle-of-companions",
        "spaces/constraints/rules/companions.py",
        "elif chain(pairs, func)[-1] in pairs:",
        "elif False:",
        "Funcs are computed with one another in a circle.",
        _TESTS,
    ),
    Mutant(
        "whoever-reads-it-may-be-fused",
        "spaces/model/together.py",
        "return read in found and reader != read",
        "return False",
        "Funcs of which one reads the other are computed in one loop.",
        _TESTS,
    ),
)
