"""Bugs in what proves and explains: the encoding, its readings, and upper limits."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENCODING = ("tests/constraints/test_encode.py", "tests/constraints/test_scopes.py")
_READINGS = (
    "tests/constraints/test_readings.py",
    "tests/constraints/test_lattice.py",
    "tests/model/test_regions.py",
    *_ENCODING,
)
_UPPER = (
    "tests/constraints/test_upper.py",
    "tests/constraints/test_rules.py",
    "tests/constraints/test_verify.py",
    "tests/constraints/test_kernels.py",
    "tests/backend/cuda/test_gpu_random.py",
)

ENCODING = (
    Mutant(
        "at-most-one-option",
        "spaces/constraints/encode.py",
        "z3.Implies(menus[decision.name], z3.Or(*terms))",
        "z3.BoolVal(True, context)",
        "A decision may take no option, and then no rule applies to it.",
        _ENCODING,
    ),
    Mutant(
        "table-inverted",
        "spaces/constraints/encode.py",
        "if not z3.is_true(",
        "if z3.is_true(",
        "The combinations for which a rule holds are excluded.",
        _ENCODING,
    ),
    Mutant(
        "encodings-asked-at-once",
        "spaces/constraints/encode.py",
        "    with encoded.asking:\n        return _explained",
        "    if encoded:\n        return _explained",
        "Several threads ask the solver of one encoding at once.",
        ("tests/constraints/test_encode.py",),
    ),
    Mutant(
        "hypotheses-dropped",
        "spaces/constraints/encode.py",
        "z3.And(in_force, *case)",
        "z3.And(in_force, *case[1:])",
        "What a structure asks is asked of others, too: the first hypothesis is dropped.",
        _ENCODING,
    ),
    Mutant(
        "unknown-is-legal",
        "spaces/constraints/encode.py",
        'Explanation("legal" if answer == z3.sat else "unknown")',
        'Explanation("legal")',
        "What the solver does not answer counts as proven.",
        _ENCODING,
    ),
    Mutant(
        "unknown-is-needless",
        "spaces/constraints/encode.py",
        "for other in fewer)) == z3.unsat:",
        "for other in fewer)) != z3.sat:",
        "A rule is left out of an explanation where the solver cannot do without it in time.",
        _ENCODING,
    ),
    Mutant(
        "core-not-minimal",
        "spaces/constraints/encode.py",
        "fewer = [other for other in kept if other != label]",
        "fewer = [other for other in kept if other == label and len(kept) > 9]",
        "Rules that an explanation does not need stay in it.",
        _ENCODING,
    ),
    Mutant(
        "giving-up-is-not-told",
        "spaces/constraints/encode.py",
        "self.gave_up |= answer == z3.unknown",
        "self.gave_up |= answer == z3.unsat and False",
        "A branch that the solver gives up is left as if it were empty.",
        _ENCODING,
    ),
    Mutant(
        "deadline-is-not-told",
        "spaces/constraints/encode.py",
        '"unknown" if search.gave_up else "all"',
        '"all"',
        "A search whose time is up says that it has found all.",
        _ENCODING,
    ),
    Mutant(
        "closed-numbers-are-free",
        "spaces/constraints/clauses.py",
        "decision.func == func and decision.name not in is_open:",
        "decision.func == func and decision.name in is_open:",
        "Numbers without effect are free, and those with effect are tied.",
        _ENCODING,
    ),
    Mutant(
        "readers-do-not-matter",
        "spaces/constraints/clauses.py",
        "names = {func, *self._readers[func]}",
        "names = {func}",
        "Rules that read the consumers of a Func are asked once for all of their options.",
        _ENCODING,
    ),
    Mutant(
        "readers-are-direct",
        "spaces/constraints/clauses.py",
        "frozenset(direct).union(*(found[d] for d in direct))",
        "frozenset(direct)",
        "Only direct consumers are taken to matter.",
        _ENCODING,
    ),
    Mutant(
        "sizes-are-open",
        "spaces/constraints/clauses.py",
        "holds = substitute(item.check.holds, self._sizes)",
        "holds = substitute(item.check.holds, {})",
        "What depends on estimated sizes is not asked.",
        (*_ENCODING, "tests/enumerate/test_space.py"),
    ),
)

READINGS = (
    Mutant(
        "threads-share-a-context",
        "spaces/model/formulas/smt.py",
        "context = z3.Context()",
        "context = z3.main_ctx()",
        "Solvers of several threads work in one z3 context at once.",
        ("tests/test_threads_at_once.py",),
    ),
    Mutant(
        "terms-take-the-larger",
        "spaces/model/formulas/smt.py",
        '"min": _numbers(lambda a, b: z3.If(a <= b, a, b))',
        '"min": _numbers(lambda a, b: z3.If(a >= b, a, b))',
        "The solver reads a minimum as a maximum.",
        _READINGS,
    ),
    Mutant(
        "terms-strict",
        "spaces/model/formulas/smt.py",
        '"le": _numbers(lambda a, b: a <= b)',
        '"le": _numbers(lambda a, b: a < b)',
        "The solver reads at most as less.",
        _READINGS,
    ),
    Mutant(
        "remainders-may-be-negative",
        "spaces/model/formulas/algebra.py",
        "return a % abs(b) if b else 0",
        "return a % b if b else 0",
        "A remainder takes the sign of the divisor.",
        (*_READINGS, "tests/model/test_expr.py", "tests/backend/test_arithmetic.py"),
    ),
    Mutant(
        "arrays-round-to-zero",
        "spaces/model/formulas/algebra.py",
        "np.where(b == 0, 0, np.sign(b) * (a // positive))",
        "np.where(b == 0, 0, (np.sign(b) * a) // positive)",
        "Arrays are divided by negative numbers rounding the other way.",
        _READINGS,
    ),
    Mutant(
        "any-condition-suffices",
        "spaces/constraints/lattice.py",
        "mask &= np.asarray(",
        "mask = np.asarray(",
        "A tile is legal where the last of its conditions holds.",
        _READINGS,
    ),
    Mutant(
        "open-conditions-only",
        "spaces/constraints/lattice.py",
        "known = {**judged.sizes(), **arrays}",
        "known = {**arrays}",
        "Conditions that mention an estimated size are left out of the mask.",
        _READINGS,
    ),
)

UPPER = (
    Mutant(
        "smaller-of-two-values",
        "spaces/constraints/upper.py",
        "found if largest is None else fn.max(largest, found)",
        "found if largest is None else fn.min(largest, found)",
        "The upper limit of a select is the smaller of its values'.",
        _UPPER,
    ),
    Mutant(
        "subtracted-minimum",
        "spaces/constraints/upper.py",
        "(factor.constant or 0) > 0",
        "(factor.constant or 0) != 0",
        "A minimum that is subtracted is replaced by one of its operands.",
        _UPPER,
    ),
    Mutant(
        "replacement-makes-smaller",
        "spaces/constraints/upper.py",
        "self.simplify.at_most(whole, larger)",
        "self.simplify.at_most(larger, whole)",
        "An operand replaces a minimum where that makes the whole smaller.",
        _UPPER,
    ),
    Mutant(
        "limit-one-too-small",
        "spaces/constraints/upper.py",
        "return constant(number, Int32)",
        "return constant(number - 1, Int32)",
        "The largest size is one less than it is.",
        _UPPER,
    ),
)

MUTANTS = (*ENCODING, *READINGS, *UPPER)
