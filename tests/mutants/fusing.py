"""Bugs in the fused loops of Funcs that are computed with each other."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = (
    "tests/backend/halide/test_compute_with.py",
    "tests/backend/halide/test_updates_together.py",
    "tests/backend/halide/test_inside_fused_loops.py",
)

FUSING = (
    Mutant(
        "fused-where-both-run",
        "spaces/model/nest/fused_loops.py",
        "low = simplify(reduce(fn.min,",
        "low = simplify(reduce(fn.max,",
        "Fused loops begin where the later of both does.",
        _TESTS,
    ),
    Mutant(
        "shifted-the-other-way",
        "spaces/model/nest/traversal.py",
        "self.simplify(loop.var - shifts[loop.loop])",
        "self.simplify(loop.var + shifts[loop.loop])",
        "The coordinates of an aligned loop are shifted as its iterations are.",
        _TESTS,
    ),
    Mutant(
        "ends-unguarded",
        "spaces/model/nest/traversal.py",
        "if not self.simplify.at_most(loop.max, one.max + one.shift):",
        "if False:",
        "A fused loop that is shorter runs on to the end of the longer one.",
        _TESTS,
    ),
    Mutant(
        "served-where-nothing-runs",
        "spaces/model/nest/placement.py",
        "return depth > len(placement.path) and bool(placement.stages[index].running)",
        "return False",
        "What is computed inside fused loops is so for iterations that a stage does not have, too.",
        _TESTS,
    ),
    Mutant(
        "levels-of-anybody",
        "spaces/model/schedules/levels.py",
        "level.func in (user, self.schedule.of(user).compute.func)",
        "user",
        "A loop of a Func that is fused with others encloses what others need.",
        _TESTS,
    ),
    Mutant(
        "steps-of-one-func-unproven",
        "spaces/constraints/proofs/order.py",
        "if earlier.compute.stage < index and fused:",
        "if False:",
        "Nobody asks whether stages of one Func in the same loops come in time.",
        _TESTS,
    ),
    Mutant(
        "visited-without-the-shift",
        "spaces/constraints/proofs/coverage.py",
        "found[loop.loop] + formula(later[loop.loop])",
        "found[loop.loop]",
        "A point is visited in the iteration of its number, however the loops are aligned.",
        _TESTS,
    ),
    Mutant(
        "stages-out-of-turn",
        "spaces/model/schedules/together.py",
        "after[before].append(root)",
        "after[root].append(before)",
        "Stages of Funcs that are computed with each other run in the opposite order.",
        _TESTS,
    ),
    Mutant(
        "one-alignment-for-all-loops",
        "spaces/model/schedules/schedule.py",
        "return dict(self.aligned).get(loop, LoopAlign.AUTO)",
        "return next((align for _, align in self.aligned), LoopAlign.AUTO)",
        "The alignment of one fused loop is that of all.",
        _TESTS,
    ),
    Mutant(
        "own-stages-out-of-step",
        "spaces/constraints/rules/companions.py",
        "if roots[0] != roots[1]:",
        "if True:",
        "Two stages of a Func share an iteration in which the later one reads what is not there.",
        _TESTS,
    ),
    Mutant(
        "orders-that-cannot-be",
        "spaces/constraints/rules/companions.py",
        "if turns(records.schedule, group, counts) is None:",
        "if False:",
        "Stages are fused so that no order keeps those of every Func in theirs.",
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
        "if ring := circle(records.schedule, func):",
        "if ring := ():",
        "Funcs are computed with one another in a circle.",
        _TESTS,
    ),
    Mutant(
        "whoever-reads-it-may-be-fused",
        "spaces/model/schedules/together.py",
        "return read in found and reader != read",
        "return False",
        "Funcs of which one reads the other are computed in one loop.",
        _TESTS,
    ),
)
