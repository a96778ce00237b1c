"""Bugs in bounds inference: intervals, boxes, loops and the arithmetic below them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_INTERVALS = ("test_regions.py",)
_CONDITIONS = ("nest/test_conditions.py",)
_NEST = (
    "test_loopnest.py",
    "test_sliding.py",
    "test_reductions.py",
    "lowering/test_structure.py",
)
_CPU = (*_NEST, "lowering/test_passes.py", "test_compile.py")
_ARITHMETIC = ("test_simplify.py", *_INTERVALS, *_NEST)

INTERVALS = (
    Mutant(
        "difference-of-least-ends",
        "Ranges._sub",
        "b.max",
        "b.min",
        "The least difference is taken to be that of the least operands.",
        _INTERVALS,
    ),
    Mutant(
        "negative-factor-keeps-ends",
        "Ranges._term",
        "(high, low)",
        "(low, high)",
        "A negative factor does not swap the ends of a term.",
        _INTERVALS,
    ),
    Mutant(
        "modulo-one-short",
        "Ranges._mod",
        "b.max - 1",
        "b.max - 2",
        "The largest remainder is one less than it is.",
        _INTERVALS,
    ),
    Mutant(
        "modulo-monotone",
        "Ranges._mod",
        "first is last",
        "first is not None",
        "A modulo is taken to grow with its operand even where it starts again at zero.",
        _INTERVALS,
    ),
    Mutant(
        "union-of-smaller-ends",
        "union",
        "fn.max",
        "fn.min",
        "A union ends where the first of its parts ends.",
        (*_INTERVALS, *_NEST),
    ),
    Mutant(
        "maximum-of-unlimited",
        "Ranges._max",
        "_both",
        "_either",
        "A maximum is limited above where only one of its operands is.",
        _INTERVALS,
    ),
    Mutant(
        "magnitude-of-the-largest",
        "Ranges._abs",
        "fn.max(fn.abs(a.min), fn.abs(a.max))",
        "fn.abs(a.max)",
        "The largest magnitude is looked for at one end only.",
        _INTERVALS,
    ),
    Mutant(
        "narrow-arithmetic-never-wraps",
        "Ranges._is_exact",
        "not node.type.is_float and node.type != Int32",
        "False",
        "Sums of narrow integers are taken to be exact.",
        _INTERVALS,
    ),
    Mutant(
        "narrowing-cast-at-one-end",
        "Ranges._cast",
        "to.holds(first) and to.holds(last)",
        "to.holds(first)",
        "A cast to a narrow type is taken to keep values if it keeps the smallest.",
        _INTERVALS,
    ),
    Mutant(
        "wide-cast-never-wraps",
        "Ranges._cast",
        "32",
        "64",
        "A cast from int64 to a coordinate is taken to keep every value.",
        _INTERVALS,
    ),
)

CONDITIONS = (
    Mutant(
        "claim-of-the-wrong-sign",
        "Ranges._by_claim",
        '1 if end == "max" else -1',
        '1 if end == "min" else -1',
        "A condition that bounds a sum from below bounds it from above, too.",
        _CONDITIONS,
    ),
    Mutant(
        "claim-counts-once",
        "Ranges._by_claim",
        "abs(coefficient) * sign",
        "sign",
        "A condition is added once to a sum in which its variable counts twice.",
        _CONDITIONS,
    ),
    Mutant(
        "least-coordinate-rounded-up",
        "Ranges._by_claim",
        "-(-most / abs(slope))",
        "-(-most / abs(slope)) + 1",
        "The least coordinate under a condition is one more than it is.",
        _CONDITIONS,
    ),
    Mutant(
        "nothing-read-has-no-place",
        "predicates:limited",
        "simplify(fn.max(high, low))",
        "high",
        "What a condition excludes everywhere ends before it begins.",
        _CONDITIONS,
    ),
    Mutant(
        "negation-forgets-the-border",
        "_NEGATED",
        '{"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}',
        '{"lt": "ge", "le": "gt", "gt": "le", "ge": "le", "ne": "eq"}',
        "A negated comparison holds at the border, too.",
        _CONDITIONS,
    ),
)

BOXES = (
    Mutant(
        "output-one-too-large",
        "Bounds._demand",
        'size_variable(name, "min", d) + size_variable(name, "extent", d) - 1',
        'size_variable(name, "min", d) + size_variable(name, "extent", d)',
        "The last coordinate of an output is taken to be its extent beyond the first.",
        _NEST,
    ),
    Mutant(
        "own-reads-forgotten",
        "Bounds._touched",
        "[stage.args] + [c.args for c in stage.calls if c.target == function.name]",
        "[stage.args]",
        "What an update stage reads of its own Func is not part of its box.",
        _CPU,
    ),
    Mutant(
        "loops-from-the-wrong-depth",
        "Bounds._coordinate_ranges",
        "placement.path[depth:]",
        "placement.path[depth + 1 :]",
        "The loop just inside the compute level counts as fixed when what it reads is found.",
        _NEST,
    ),
    Mutant(
        "equal-ends-are-not-combined",
        "regions:_both",
        "None if a is None or b is None else combine(a, b)",
        "a if a is b else None if a is None or b is None else combine(a, b)",
        "Two values from 1 to 4 are taken to add up to 1 to 4.",
        ("model/formulas/test_regions.py",),
    ),
    Mutant(
        "guard-clips-nothing",
        "_joined",
        "fn.min(high, low + extent - 1)",
        "fn.max(high, low + extent - 1)",
        "A guarded split is taken to compute whole tiles.",
        _CPU,
    ),
    Mutant(
        "tails-not-computed",
        "_joined",
        "low + (extent + factor - 1) / factor * factor - 1",
        "last",
        "What a rounded-up tile computes beyond its box is not part of its box.",
        _CPU,
    ),
    Mutant(
        "storage-at-compute-level",
        "_Assembly.level",
        "levels.store_path",
        "levels.compute_path",
        "Storage is allocated where a Func is computed, whatever its store level is.",
        _NEST,
    ),
    Mutant(
        "only-one-guard",
        "_Assembly._compute",
        "traversal.guards",
        "traversal.guards[:1]",
        "Of several splits that do not divide only one is guarded.",
        _NEST,
    ),
)

LOOPS = (
    Mutant(
        "last-tile-forgotten",
        "counts:tiles_of",
        "-(-a // b)",
        "a // b",
        "A split by a factor that does not divide leaves out the last tile.",
        _NEST,
    ),
    Mutant(
        "shift-outwards",
        "_undo",
        "fn.min(base, extent - factor)",
        "fn.min(base, extent + factor)",
        "The last tile is shifted outwards, its sign swapped.",
        _NEST,
    ),
    Mutant(
        "guard-lets-one-more",
        "_undo",
        "base + inner < extent",
        "base + inner <= extent",
        "A guard lets the first iteration beyond the end pass.",
        _NEST,
    ),
    Mutant(
        "fuse-forgets-the-start",
        "_undo",
        "fused % divisor + inner_low",
        "fused % divisor",
        "The inner one of two fused loops begins at zero.",
        _CPU,
    ),
    Mutant(
        "fused-by-outer-extent",
        "splits:_fuse",
        "outer[1]",
        "inner[1]",
        "A fused loop has as many iterations as if both were the inner one.",
        _NEST,
    ),
    Mutant(
        "dividing-the-wrong-way",
        "_split",
        "extent % factor",
        "factor % extent",
        "A split needs no tail where its extent divides its factor.",
        _CPU,
    ),
    Mutant(
        "updates-shift-inwards",
        "_automatic",
        """
        if is_update:
            return Tail.ROUND_UP
        """,
        """
        if is_update:
            return Tail.SHIFT_INWARDS
        """,
        "The last tile of an update is shifted inwards, and updates some values twice.",
        (*_NEST, "test_soundness.py"),
    ),
    Mutant(
        "predicated-stores-read-less",
        "_READS",
        "{**..., Tail.PREDICATE_STORES: Tail.ROUND_UP, **...}",
        "{**..., Tail.PREDICATE_STORES: Tail.GUARD_WITH_IF, **...}",
        "Where stores alone are predicated, nothing is asked of images beyond the end.",
        ("test_tails.py",),
    ),
    Mutant(
        "predicated-loads-store-less",
        "_WRITES",
        "{Tail.PREDICATE: Tail.GUARD_WITH_IF, Tail.PREDICATE_LOADS: Tail.ROUND_UP, **...}",
        """
        {
            Tail.PREDICATE: Tail.GUARD_WITH_IF,
            Tail.PREDICATE_LOADS: Tail.GUARD_WITH_IF,
            **...,
        }
        """,
        "Where loads alone are predicated, there is no room for whole tiles.",
        ("test_tails.py",),
    ),
    Mutant(
        "rvars-round-up",
        "_tails",
        "record.old in exact",
        "False and record.old in exact",
        "A split of an RVar computes beyond the reduction domain.",
        _NEST,
    ),
    Mutant(
        "tiles-of-updates-round-up",
        "_tails",
        "is_update and is_inside",
        "is_update and False",
        "Tiles inside a tile of an update go over its end, and update its neighbor twice.",
        (*_NEST, "test_soundness.py"),
    ),
)

ARITHMETIC = (
    Mutant(
        "at-most-by-one",
        "VariableRanges.proves_at_most",
        "low >= 0",
        "low >= -1",
        "That one expression is at most another is assumed if it is one larger.",
        _ARITHMETIC,
    ),
    Mutant(
        "quotient-rounded-up",
        "VariableRanges._quotient_range",
        "low // divisor.constant",
        "-(-low // divisor.constant)",
        "The lower limit of a quotient is rounded up.",
        _ARITHMETIC,
    ),
    Mutant(
        "certain-quotient-by-one",
        "Simplifier._certain_quotient",
        "self.proves_positive(b - rest)",
        "self.proves_at_most(_ZERO, b - rest)",
        "A quotient is taken to be zero where its numerator may be as large as its divisor.",
        _ARITHMETIC,
    ),
    Mutant(
        "nested-quotient-unscaled",
        "_nested_division",
        "a.offset * c",
        "a.offset",
        "What is added between two divisions is not multiplied by the first divisor.",
        _ARITHMETIC,
    ),
    Mutant(
        "parity-of-one-operand",
        "of_parity",
        "a.offset + slopes[0]",
        "a.offset",
        "The smaller of two functions of a parity forgets the slope of one.",
        _ARITHMETIC,
    ),
    Mutant(
        "inner-extreme-without-its-number",
        "Simplifier._flat",
        "self.polynomial(value) + inner[1]",
        "self.polynomial(value)",
        "What is added to a minimum inside a minimum is lost.",
        _ARITHMETIC,
    ),
    Mutant(
        "smaller-where-one-is",
        "VariableRanges._operandwise",
        "all(any(self.proves_at_most(a, c) for c in highs) for a in lows)",
        "any(any(self.proves_at_most(a, c) for c in highs) for a in lows)",
        "One maximum is at most another if one of its operands is.",
        _ARITHMETIC,
    ),
    Mutant(
        "difference-of-extremes-by-the-nearest",
        "VariableRanges._extremes",
        "min",
        "max",
        "The least difference of two extremes is that of the operands furthest apart.",
        _ARITHMETIC,
    ),
    Mutant(
        "outside-knows-the-loop",
        "VariableRanges._outside",
        "None if self._own in names else self._outer",
        "self._outer",
        "What is asked inside a loop is answered by who does not know its limits.",
        (
            "test_simplify.py",
            "lowering/test_passes.py",
            "lowering/test_structure.py",
        ),
    ),
    Mutant(
        "choice-without-its-factor",
        "Simplifier._chosen",
        "Polynomial.of(chosen).scaled(factor)",
        "Polynomial.of(chosen)",
        "The factor that moves out of a selection is lost.",
        _ARITHMETIC,
    ),
    Mutant(
        "case-without-its-factor",
        "Simplifier._cases",
        "self.polynomial(v).scaled(coefficient)",
        "self.polynomial(v)",
        "A selection that is counted twice is counted once in each of its cases.",
        _ARITHMETIC,
    ),
    Mutant(
        "long-division-by-the-first-term",
        "_multiples_of_sum",
        "whole * b",
        "whole * Polynomial({lead: b.terms[lead]})",
        "Dividing by a sum takes away the multiples of its first term alone.",
        _ARITHMETIC,
    ),
    Mutant(
        "sum-unscaled-in-a-quotient",
        "VariableRanges._without_quotients",
        "rest.scaled(divisor)",
        "rest",
        "What is added to a quotient goes into its numerator as it is.",
        _ARITHMETIC,
    ),
    Mutant(
        "quotient-ends-swapped",
        "VariableRanges._quotient_ends",
        "form.scaled(sign)",
        "form",
        "The largest quotient is made of the least numerator.",
        _ARITHMETIC,
    ),
    Mutant(
        "margin-of-a-strict-comparison",
        "_ORDERED",
        '{"lt": lambda a, b: (a, b, 1), **...}',
        '{"lt": lambda a, b: (a, b, 0), **...}',
        "a < b is decided as if it were a <= b.",
        _ARITHMETIC,
    ),
)

_MEMO = ("test_known_forms.py", "test_memo.py")

REMEMBERED = (
    Mutant(
        "limits-of-limits-forgotten",
        "VariableRanges._limits",
        "left += (n for end in self.known(name) if end is not None for n in end.names)",
        "pass",
        "A normal form counts for other limits of the variables that its variables lie between.",
        _MEMO,
    ),
    Mutant(
        "later-limits-forgotten",
        "VariableRanges.assume",
        "self._limit_numbers.clear()",
        "pass",
        "Forms found before a limit is known count after it.",
        _MEMO,
    ),
    Mutant(
        "demand-at-any-depth",
        "Bounds._site_context",
        "len(self.levels.compute_path(name))",
        "0",
        "What readers demand at one of their loops is taken for what they demand at another.",
        _MEMO,
    ),
)

MUTANTS = (*INTERVALS, *CONDITIONS, *BOXES, *LOOPS, *ARITHMETIC, *REMEMBERED)
