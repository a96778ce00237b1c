"""Bugs in the restrictions that users give to spaces."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("enumerate/test_restrictions.py",)

RESTRICTING = (
    Mutant(
        "masks-without-conditions",
        "ScheduleSpace.legal",
        "self.restricted.mask(schedule, columns, mask) if self.where else mask",
        "mask",
        "Counts and searches take what the user leaves out.",
        _TESTS,
    ),
    Mutant(
        "predicates-of-one-choice",
        "Restricted.mask",
        "self.allows(bind(structure, numbers))",
        "True",
        "Python functions judge no schedule of a lattice.",
        _TESTS,
    ),
    Mutant(
        "undecided-conditions-prune",
        "_is_decided",
        "_is_steady(used, open_, settled)",
        "used.func not in open_",
        "A condition leaves out partial schedules that later Funcs may still mend.",
        _TESTS,
    ),
    Mutant(
        "conditions-that-may-become-true-prune",
        "_only_falls",
        "Trend.RISES",
        "Trend.FALLS",
        "A condition on whole schedules prunes what open Funcs may still mend.",
        _TESTS,
    ),
    Mutant(
        "differences-rise-with-what-they-subtract",
        "trend:trend",
        "trends[0] | trends[1].reversed",
        "trends[0] | trends[1]",
        "The limit of a difference is on the wrong side.",
        ("test_trend.py",),
    ),
    Mutant(
        "restrictions-exclude-what-they-allow",
        "RestrictedCases._broken",
        "fails(one, numbers, {})",
        "True",
        "An explanation leaves out a rule without which something is legal.",
        ("solver/test_emptiness.py",),
    ),
    Mutant(
        "universes-without-restrictions",
        "universe",
        "Universe(space.pipeline, decisions, structure, space.restricted.rules, further)",
        "Universe(space.pipeline, decisions, structure, (), further)",
        "The solver lists what the user leaves out.",
        _TESTS,
    ),
    Mutant(
        "masks-at-the-estimates-only",
        "JudgedSizes.mask",
        "mask & legal_mask(\n"
        "    at_size, structure, self.device, columns, exact=self.exact, memo=known\n"
        ")",
        "mask",
        "Spaces have schedules that are illegal at a further size.",
        ("enumerate/test_sizes_of_space.py",),
    ),
    Mutant(
        "universes-at-the-estimates-only",
        "universe",
        "Universe(space.pipeline, decisions, structure, space.restricted.rules, further)",
        "Universe(space.pipeline, decisions, structure, space.restricted.rules)",
        "The solver lists schedules that are illegal at a further size.",
        ("enumerate/test_sizes_of_space.py",),
    ),
    Mutant(
        "left-funcs-get-wrappers",
        "deriving:_is_open",
        "step not in state.pipeline.derivations and step.func not in state.left",
        "step not in state.pipeline.derivations",
        "A Func that is left out has a wrapper.",
        _TESTS,
    ),
    Mutant(
        "verdicts-without-restrictions",
        "ScheduleSpace.verdict",
        "tuple(self.restricted.broken(schedule)) if verdict and self.where else ()",
        "()",
        "Samples and single schedules ignore the restrictions.",
        _TESTS,
    ),
)
