"""Bugs in what proves and explains: the encoding, its readings, and upper limits."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ENCODING = ("test_encode.py", "test_scopes.py")
_READINGS = (
    "test_readings.py",
    "test_lattice.py",
    "test_regions.py",
    *_ENCODING,
)
_LARGEST = (
    "test_largest.py",
    "rules/test_examples.py",
    "test_verify.py",
    "sizes/test_kernels.py",
    "test_gpu_random.py",
)

ENCODING = (
    Mutant(
        "at-most-one-option",
        "_encoded",
        "z3.Implies(menus[decision.name], z3.Or(*terms))",
        "z3.BoolVal(True, context)",
        "A decision may take no option, and then no rule applies to it.",
        _ENCODING,
    ),
    Mutant(
        "table-inverted",
        "_DecisionTerms._table",
        "not z3.is_true(z3.simplify(condition(holds, numbers, self.context)))",
        "z3.is_true(z3.simplify(condition(holds, numbers, self.context)))",
        "The combinations for which a rule holds are excluded.",
        _ENCODING,
    ),
    Mutant(
        "encodings-asked-at-once",
        "explain",
        "with encoded.asking: ...",
        "if encoded: ...",
        "Several threads ask the solver of one encoding at once.",
        ("test_encode.py",),
    ),
    Mutant(
        "hypotheses-dropped",
        "_encoded",
        "z3.And(in_force, *case)",
        "z3.And(in_force, *case[1:])",
        "What a structure asks is asked of others, too: the first hypothesis is dropped.",
        _ENCODING,
    ),
    Mutant(
        "unknown-is-legal",
        "_explained",
        '"legal" if found == z3.sat else "unknown"',
        '"legal"',
        "What the solver does not answer counts as proven.",
        _ENCODING,
    ),
    Mutant(
        "unknown-is-needless",
        "_explained",
        "... == z3.unsat",
        "... != z3.sat",
        "A rule is left out of an explanation where the solver cannot do without it in time.",
        _ENCODING,
    ),
    Mutant(
        "core-not-minimal",
        "_explained",
        "other != label",
        "other == label and len(kept) > 9",
        "Rules that an explanation does not need stay in it.",
        _ENCODING,
    ),
    Mutant(
        "giving-up-is-not-told",
        "_ModelSearch._may_continue",
        "found == z3.unknown",
        "found == z3.unsat and False",
        "A branch that the solver gives up is left as if it were empty.",
        _ENCODING,
    ),
    Mutant(
        "deadline-is-not-told",
        "ModelStream.__iter__",
        '"unknown" if search.gave_up else "all"',
        '"all"',
        "A search whose time is up says that it has found all.",
        _ENCODING,
    ),
    Mutant(
        "closed-numbers-are-free",
        "_Clauses._closed",
        "decision.name not in is_open",
        "decision.name in is_open",
        "Numbers without effect are free, and those with effect are tied.",
        _ENCODING,
    ),
    Mutant(
        "readers-do-not-matter",
        "_Clauses._relevant",
        "{func, *self._readers[func]}",
        "{func}",
        "Rules that read the consumers of a Func are asked once for all of their options.",
        _ENCODING,
    ),
    Mutant(
        "readers-are-direct",
        "readers",
        "frozenset(direct).union(*(found[d] for d in direct))",
        "frozenset(direct)",
        "Only direct consumers are taken to matter.",
        _ENCODING,
    ),
    Mutant(
        "sizes-are-open",
        "_Clauses._clauses",
        "self._sizes",
        "{}",
        "What depends on estimated sizes is not asked.",
        (*_ENCODING, "test_space.py"),
    ),
)

READINGS = (
    Mutant(
        "threads-share-a-context",
        "new_context",
        "z3.Context()",
        "z3.main_ctx()",
        "Solvers of several threads work in one z3 context at once.",
        ("test_threads_at_once.py",),
    ),
    Mutant(
        "terms-take-the-larger",
        "_OPERATORS",
        "z3.If(a <= b, a, b)",
        "z3.If(a >= b, a, b)",
        "The solver reads a minimum as a maximum.",
        _READINGS,
    ),
    Mutant(
        "terms-strict",
        "smt:_OPERATORS",
        "_numbers(INFIX[name].applied)",
        "_numbers(INFIX[name.replace('le', 'lt')].applied)",
        "The solver reads at most as less.",
        _READINGS,
    ),
    Mutant(
        "remainders-may-be-negative",
        "_modulo",
        "abs(b)",
        "b",
        "A remainder takes the sign of the divisor.",
        (*_READINGS, "test_expr.py", "test_arithmetic.py"),
    ),
    Mutant(
        "arrays-round-to-zero",
        "_divide_arrays",
        "np.sign(b) * (a // positive)",
        "np.sign(b) * a // positive",
        "Arrays are divided by negative numbers rounding the other way.",
        _READINGS,
    ),
    Mutant(
        "any-condition-suffices",
        "holding",
        "mask &= np.asarray(read_all((holds,), values, ARRAYS)[0], dtype=np.bool_)",
        "mask = np.asarray(read_all((holds,), values, ARRAYS)[0], dtype=np.bool_)",
        "A tile is legal where the last of its conditions holds.",
        _READINGS,
    ),
    Mutant(
        "machine-code-rounds-to-zero",
        "Instructions._floored",
        'return self._binary("add", quotient, less)',
        "return quotient",
        "Machine code of formulas divides negative numbers rounding the other way.",
        _READINGS,
    ),
    Mutant(
        "machine-code-divides-by-zero-like-by-one",
        "Instructions._divide",
        'return self._chosen(self._compare("eq", b, _ZERO), _ZERO, signed)',
        "return signed",
        "Machine code of formulas gives the dividend where the divisor is zero.",
        _READINGS,
    ),
    Mutant(
        "first-condition-of-its-axes",
        "all_hold",
        "reduce(_both, groups[g])",
        "groups[g][0]",
        "Of the conditions that vary along the same axes, machine code asks the first only.",
        _READINGS,
    ),
    Mutant(
        "open-conditions-only",
        "legal_mask",
        "{**sizes, **arrays}",
        "{**arrays}",
        "Conditions that mention an estimated size are left out of the mask.",
        _READINGS,
    ),
)

LARGEST = (
    Mutant(
        "smaller-of-two-values",
        "_Largest._apart",
        "fn.max(largest, most)",
        "fn.min(largest, most)",
        "The upper limit of a select is the smaller of its values'.",
        _LARGEST,
    ),
    Mutant(
        "subtracted-minimum",
        "_Largest._choice",
        'signs[node] == {1 if node.name == "min" else -1}',
        "signs[node] <= {1, -1}",
        "A minimum that is subtracted is replaced by one of its operands.",
        _LARGEST,
    ),
    Mutant(
        "subtracted-terms-move-up",
        "_Largest._enter",
        "sign if coefficient > 0 else -sign",
        "sign",
        "A minimum in a subtracted term counts as one in an added term.",
        _LARGEST,
    ),
    Mutant(
        "replacement-makes-smaller",
        "_Largest._apart",
        "self._simplify.at_most(whole, c)",
        "self._simplify.at_most(c, whole)",
        "An operand replaces a minimum where that makes the whole smaller.",
        _LARGEST,
    ),
    Mutant(
        "least-iteration-of-the-inner-loop",
        "_Largest._inside",
        "loop.max if factor > 0 else loop.min",
        "loop.min if factor > 0 else loop.max",
        "A size that grows with an inner loop counts at the least iteration of it.",
        _LARGEST,
    ),
    Mutant(
        "limit-one-too-small",
        "_Largest._termwise",
        "constant(number, Int32)",
        "constant(number - 1, Int32)",
        "The largest size is one less than it is.",
        _LARGEST,
    ),
)

_OPERATORS = ("proofs/test_operators.py",)

OPERATORS = (
    Mutant(
        "narrow-number-from-zero",
        "Opaque._narrow",
        "(self.formula(whole) - low) % count + low",
        "(self.formula(whole) - low) % count",
        "A coordinate that becomes an int8 counts as one that becomes a uint8.",
        _OPERATORS,
    ),
    Mutant(
        "magnitude-of-one-end",
        "Ranges._magnitude",
        "fn.max(a.max, above)",
        "a.max",
        "The largest magnitude is that of the largest number.",
        ("test_regions.py", *_OPERATORS),
    ),
    Mutant(
        "shifted-once",
        "_modular",
        "part * (1 << int(by))",
        "part * 2",
        "A wide shift to the left counts as one by a single bit.",
        _OPERATORS,
    ),
    Mutant(
        "flags-differ-from-conditions",
        "Subject.__attrs_post_init__",
        "self.known.mapped(self.opaque.condition)",
        "self.known",
        "Conditions on a call have other variables for its parameters than coordinates have.",
        _OPERATORS,
    ),
)

MUTANTS = (*ENCODING, *READINGS, *LARGEST, *OPERATORS)
