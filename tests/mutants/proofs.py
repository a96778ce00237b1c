"""Bugs in what is proven for all sizes: the obligations, and how they are decided."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DECIDED = (
    "test_decide.py",
    "test_refuted.py",
    "test_certificates.py",
    "test_proven.py",
)
_GENERAL = ("test_generalize.py",)
_BITS = ("reasoning/test_bits.py",)
_REFUTED = (
    "test_refuted.py",
    "test_proven.py",
    "test_prove.py",
)
_PLACES = ("test_places.py",)
_BARRIERS = (
    "test_meetings.py",
    "test_barriers.py",
)

DECIDING = (
    Mutant(
        "goal-not-negated",
        "question",
        "z3.Not(terms.condition(obligation.goal))",
        "terms.condition(obligation.goal)",
        "The solver is asked for an example, not for a counterexample.",
        _DECIDED,
    ),
    Mutant(
        "first-hypothesis-dropped",
        "_assuming",
        "map(terms.condition, conditions)",
        "map(terms.condition, conditions[1:])",
        "What is known first is not told the solver.",
        _DECIDED,
    ),
    Mutant(
        "unknown-is-proven",
        "Decider._solve",
        "refuted == z3.unsat",
        "refuted != z3.sat",
        "What the solver does not answer in time counts as proven.",
        _DECIDED,
    ),
    Mutant(
        "values-refute",
        "Decider._solve",
        """
        if obligation.opaque:
            ...
        """,
        """
        if obligation.opaque and not obligation.sizes:
            ...
        """,
        "A counterexample that chooses what an image holds counts as one.",
        _DECIDED,
    ),
    Mutant(
        "one-attempt-only",
        "Decider._ask",
        "found != z3.unknown",
        "True",
        "What the solver gives up at the first attempt is not asked in another way.",
        ("test_repeatable.py",),
    ),
    Mutant(
        "extents-of-one-forgotten",
        "_assuming",
        "1",
        "2",
        "Buffers of one element along a dimension are not looked at.",
        _DECIDED,
    ),
    Mutant(
        "one-of-the-conjuncts",
        "Intervals._shows",
        "all",
        "any",
        "A conjunction is shown by one of its parts.",
        _DECIDED,
    ),
    Mutant(
        "one-of-the-excluded",
        "Intervals._excludes",
        "all",
        "any",
        "A disjunction is excluded by one of its parts.",
        _DECIDED,
    ),
    Mutant(
        "strict-is-not-strict",
        "Intervals._difference",
        'above - _ONE if name in ("lt", "gt") else above',
        "above",
        "a < b is shown by a <= b.",
        _DECIDED,
    ),
    Mutant(
        "limits-are-strict",
        "Intervals._range",
        'other + 1 if order == "gt" else other',
        "other + 1",
        "That a variable is at least a number is taken to mean more than it.",
        _DECIDED,
    ),
    Mutant(
        "opposite-of-at-most",
        "_OPPOSITE",
        '{"lt": "ge", "le": "gt", **...}',
        '{"lt": "ge", "le": "ge", **...}',
        "a <= b is excluded by a >= b.",
        _DECIDED,
    ),
    Mutant(
        "cases-inverted",
        "Intervals._cases",
        '(atom.name == "min") == (coefficient > 0)',
        '(atom.name == "min") != (coefficient > 0)',
        "A minimum is large where one of its operands is.",
        _DECIDED,
    ),
    Mutant(
        "one-variable-for-all-formulas",
        "Generalizer._named",
        'f"{PREFIX}{len(self._variables)}"',
        'f"{PREFIX}0"',
        "All formulas of sizes are taken to be the same number.",
        _GENERAL,
    ),
    Mutant(
        "generalized-to-less",
        "Generalizer._named",
        "constant(high, Int32)",
        "constant(high - 1, Int32)",
        "The largest value of a formula of sizes is left out.",
        _GENERAL,
    ),
    Mutant(
        "false-of-any-is-false-of-this",
        "Decider._decided",
        "not self._follows(about(obligation, c))",
        "not self._follows(about(obligation, c)) and False",
        "What is not shown of any number in place of a formula counts as shown of the formula.",
        _GENERAL,
    ),
    Mutant(
        "another-question-was-shown",
        "Decider._follows",
        "asked.hypotheses",
        "()",
        "What follows from some hypotheses is taken to follow from others.",
        (*_GENERAL, *_DECIDED),
    ),
    Mutant(
        "congruent-to-the-next",
        "Intervals._equal",
        "modulus - _ONE",
        "modulus",
        "Two congruent numbers that differ by the modulus are taken to be equal.",
        _DECIDED,
    ),
    Mutant(
        "suspicions-refute",
        "_Session.outcome",
        "not obligation.exact",
        'obligation.kind == "none"',
        "That a sufficient condition fails counts as a mistake of the nest.",
        _REFUTED,
    ),
    Mutant(
        "traces-run-in-order",
        "_Run._loop",
        "reversed(iterations) if node.var.kind.is_concurrent else iterations",
        "iterations",
        "Iterations that run at once are followed in the order of a loop only.",
        _REFUTED,
    ),
    Mutant(
        "any-certificate-is-accepted",
        "Recheck.accepted",
        'self.expected in (self.found, "unknown")',
        "bool(self.found)",
        "What a solver answers about a certificate is not compared with what it says.",
        ("test_certificates.py",),
    ),
    Mutant(
        "last-case-alone",
        "obligations",
        "isinstance(proposed, CheckedSchedule) and proposed.cases",
        "False",
        "Of the cases of a specialized schedule the last one is asked about alone.",
        ("test_certificates.py",),
    ),
)

ASKING = (
    Mutant(
        "races-not-asked",
        "KINDS",
        "(*..., races)",
        "(*...,)",
        "Nothing is asked about loops whose iterations run at once.",
        _REFUTED,
    ),
    Mutant(
        "folding-not-asked",
        "KINDS",
        "(*..., folding, *...)",
        "(*..., *...)",
        "Nothing is asked about folded storage.",
        _REFUTED,
    ),
    Mutant(
        "writes-may-leave-buffers",
        "bounds",
        "(site.write, *site.reads)",
        "site.reads",
        "Only reads must lie inside what is allocated.",
        _REFUTED,
    ),
    Mutant(
        "reads-may-leave-buffers",
        "bounds",
        "(site.write, *site.reads)",
        "(site.write,)",
        "Only writes must lie inside what is allocated.",
        _REFUTED,
    ),
    Mutant(
        "one-beyond-the-allocation",
        "extent_of",
        "formula(low) + formula(extent) - 1",
        "formula(low) + formula(extent)",
        "What lies just beyond an allocation counts as inside.",
        _REFUTED,
    ),
    Mutant(
        "producers-may-come-later",
        "_comes_before",
        "production[shared].index < site.path[shared].index",
        "production[shared].index != site.path[shared].index",
        "A value may be computed after it is read.",
        _REFUTED,
    ),
    Mutant(
        "order-of-producers-not-asked",
        "_covered",
        "inside if before else FALSE",
        "inside",
        "Whether a producer comes before its consumer is not looked at.",
        _REFUTED,
    ),
    Mutant(
        "visits-outside-of-loops",
        "_visits",
        "[*runs, *same]",
        "same",
        "The iteration that visits a point need not be one of the loops'.",
        _REFUTED,
    ),
    Mutant(
        "windows-without-a-beginning",
        "_exists",
        "before[loop.var.name]",
        "loop.var",
        "The first iteration is taken to have one before it.",
        _REFUTED,
    ),
    Mutant(
        "windows-along-parallel-loops",
        "steps_back",
        "not loop.kind.is_concurrent",
        "not loop.kind.is_concurrent or loop.kind == 'parallel'",
        "What an earlier iteration of a parallel loop computed counts as there.",
        _REFUTED,
    ),
    Mutant(
        "folds-have-a-place-for-each",
        "same_place",
        "equal(x % factor, y % factor)",
        "equal(x, y)",
        "Different coordinates are taken to have different places in folded storage.",
        _REFUTED,
    ),
    Mutant(
        "copies-of-bits-at-the-first-coordinate",
        "Opaque.known",
        "() if second is None else tuple(map(second, facts))",
        "tuple(map(Second(), facts))",
        "Bits of a second iteration are limited by the coordinates of the first one.",
        _BITS,
    ),
    Mutant(
        "common-bits-reach-the-larger-number",
        "facts",
        "at_most(common, one)",
        "less(common, one)",
        "Two numbers never have all bits of one of them in common.",
        _BITS,
    ),
    Mutant(
        "masks-keep-one-bit-more",
        "masked",
        "1 << low",
        "1 << low - 1",
        "A mask keeps the highest of the bits below it.",
        _BITS,
    ),
    Mutant(
        "threads-never-race",
        "races:races",
        "node.var.kind.is_concurrent",
        "node.var.kind.is_concurrent and node.var.kind != 'gpu_thread'",
        "Threads of a block are not asked about races.",
        (*_REFUTED, "test_decide.py"),
    ),
    Mutant(
        "lanes-never-race",
        "races:races",
        "node.var.kind.is_concurrent",
        "node.var.kind.uses_threads",
        "Vector lanes are not asked about races.",
        _REFUTED,
    ),
    Mutant(
        "writes-against-writes-only",
        "_of_write",
        "other.reads",
        "()",
        "Reads are not held against the writes of other iterations.",
        _REFUTED,
    ),
    Mutant(
        "writes-of-one-stage",
        "_of_write",
        "other.compute.stage >= site.compute.stage",
        "other.compute.stage > site.compute.stage",
        "Two iterations of one stage may write the same place.",
        _REFUTED,
    ),
    Mutant(
        "reads-of-later-iterations",
        "_order",
        "less(first, other) if write is access else different(first, other)",
        "less(first, other)",
        "Only reads of later iterations are held against a write.",
        _REFUTED,
    ),
    Mutant(
        "orders-of-harmless-updates",
        "order",
        "not is_commutative(function, stage)",
        "is_commutative(function, stage)",
        "The order is asked about where it does not matter, and only there.",
        _REFUTED,
    ),
    Mutant(
        "updates-may-run-twice",
        "order",
        """
        if reads_itself:
            ...
        """,
        """
        if not reads_itself:
            ...
        """,
        "Updates that change what they read may be applied twice.",
        _REFUTED,
    ),
    Mutant(
        "other-values-accepted",
        "_same",
        "yield FALSE",
        "continue",
        "A computation may be of another form than its definition.",
        _REFUTED,
    ),
    Mutant(
        "other-coordinates-accepted",
        "_same",
        "formula(y)",
        "formula(x)",
        "A computation may read other coordinates than its definition.",
        _REFUTED,
    ),
    Mutant(
        "iterations-precede-themselves",
        "precedes",
        "TRUE if or_equal else FALSE",
        "TRUE",
        "An iteration is taken to come before itself.",
        _REFUTED,
    ),
    Mutant(
        "last-iteration-not-looked-at",
        "Subject.range",
        "low + extent - 1",
        "low + extent - 2",
        "What happens in the last iteration of a loop is not looked at.",
        _REFUTED,
    ),
)

BARRIERS = (
    Mutant(
        "loops-without-rounds-wait",
        "passable",
        "passable(inside) or not _runs(statement)",
        "passable(inside)",
        "A barrier in a loop that may have no rounds is taken to be passed.",
        _BARRIERS,
    ),
    Mutant(
        "guarded-barriers-hold",
        "passable",
        "passable(statement.body) or otherwise is None or passable(otherwise)",
        "passable(statement.body)",
        "A barrier under a guard is taken to be passed.",
        _BARRIERS,
    ),
    Mutant(
        "rounds-never-meet",
        "meetings",
        "enumerate(around)",
        "()",
        "What one round of a loop accesses is not held against the next round.",
        _BARRIERS,
    ),
    Mutant(
        "only-the-next-round-meets",
        "meetings",
        "not passable(loop.body)",
        "True",
        "Without a barrier in a loop only rounds next to each other may meet.",
        _BARRIERS,
    ),
    Mutant(
        "rows-of-any-length",
        "Places.apart",
        "(*inside, any_of((different(factor.expr(), _ZERO), result)))",
        "any_of((different(factor.expr(), _ZERO), result))",
        "Threads are apart along a row, however short it is.",
        _PLACES,
    ),
    Mutant(
        "rows-shorter-by-one",
        "Places.apart",
        "f.expr()",
        "f.expr() - 1",
        "The first place of the next row is taken to be apart from that of this one.",
        _PLACES,
    ),
    Mutant(
        "overwriting-not-asked",
        "_Kernel._about",
        "first is not second",
        "first is second",
        "What is read and later overwritten is not asked about.",
        _BARRIERS,
    ),
    Mutant(
        "divergence-not-asked",
        "_Kernel._converged",
        """
        (
            *(equal(bound, other(bound)) for bound in bounds),
            *(_both_or_neither(c, other(c)) for c in conditions),
        )
        """,
        "(*(equal(bound, other(bound)) for bound in bounds),)",
        "A barrier that some threads miss is proven to be met by all.",
        _BARRIERS,
    ),
    Mutant(
        "threads-apart-along-every-axis",
        "_Kernel._apart",
        """
        any_of(
            different(v, other(v))
            for v, threads in zip(THREAD, self.launch.kernel.block, strict=True)
            if threads > 1
        )
        """,
        """
        all_of(
            different(v, other(v))
            for v, threads in zip(THREAD, self.launch.kernel.block, strict=True)
            if threads > 1
        )
        """,
        "Threads of one row are not held against each other.",
        _BARRIERS,
    ),
    Mutant(
        "any-two-writes-agree",
        "_Kernel._apart",
        "all_of(equal(leaf, other(leaf)) for leaf in leaves)",
        "TRUE",
        "Threads that run one statement are taken to write the same value.",
        _BARRIERS,
    ),
    Mutant(
        "conditions-on-floats-assumed",
        "launches",
        'never_wraps(c) and not images & {name.split(".")[0] for name in variables(c)}',
        'not images & {name.split(".")[0] for name in variables(c)}',
        "The case of a float is taken for a formula, which has none.",
        ("test_gpu_specialize.py",),
    ),
)

MUTANTS = (*DECIDING, *ASKING)
