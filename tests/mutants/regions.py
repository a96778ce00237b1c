"""Bugs in bounds inference: intervals, boxes, loops and the arithmetic below them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_INTERVALS = ("tests/model/test_regions.py",)
_NEST = (
    "tests/model/test_loopnest.py",
    "tests/model/test_sliding.py",
    "tests/model/test_reductions.py",
    "tests/backend/test_lowering_structure.py",
)
_CPU = (*_NEST, "tests/backend/test_lowering_passes.py", "tests/backend/test_compile.py")
_ARITHMETIC = ("tests/model/test_simplify.py", *_INTERVALS, *_NEST)

INTERVALS = (
    Mutant(
        "difference-of-least-ends",
        "spaces/model/regions.py",
        "_both(a.min, b.max, _minus)",
        "_both(a.min, b.min, _minus)",
        "The least difference is taken to be that of the least operands.",
        _INTERVALS,
    ),
    Mutant(
        "negative-factor-keeps-ends",
        "spaces/model/regions.py",
        "return high, low",
        "return low, high",
        "A negative factor does not swap the ends of a term.",
        _INTERVALS,
    ),
    Mutant(
        "modulo-one-short",
        "spaces/model/regions.py",
        "b.max - 1)",
        "b.max - 2)",
        "The largest remainder is one less than it is.",
        _INTERVALS,
    ),
    Mutant(
        "modulo-monotone",
        "spaces/model/regions.py",
        "if first is last:",
        "if first is not None:",
        "A modulo is taken to grow with its operand even where it starts again at zero.",
        _INTERVALS,
    ),
    Mutant(
        "union-of-smaller-ends",
        "spaces/model/regions.py",
        "_both(a.min, b.min, fn.min), _both(a.max, b.max, fn.max))",
        "_both(a.min, b.min, fn.min), _both(a.max, b.max, fn.min))",
        "A union ends where the first of its parts ends.",
        (*_INTERVALS, *_NEST),
    ),
    Mutant(
        "maximum-of-unlimited",
        "spaces/model/regions.py",
        "Interval(_either(a.min, b.min, fn.max), _both(a.max, b.max, fn.max))",
        "Interval(_either(a.min, b.min, fn.max), _either(a.max, b.max, fn.max))",
        "A maximum is limited above where only one of its operands is.",
        _INTERVALS,
    ),
    Mutant(
        "magnitude-of-the-largest",
        "spaces/model/regions.py",
        "largest = fn.max(fn.abs(a.min), fn.abs(a.max))",
        "largest = fn.abs(a.max)",
        "The largest magnitude is looked for at one end only.",
        _INTERVALS,
    ),
    Mutant(
        "narrow-arithmetic-never-wraps",
        "spaces/model/regions.py",
        "wraps = not node.type.is_float and node.type != Int32",
        "wraps = False",
        "Sums of narrow integers are taken to be exact.",
        _INTERVALS,
    ),
    Mutant(
        "narrowing-cast-at-one-end",
        "spaces/model/regions.py",
        "if to.holds(first) and to.holds(last):",
        "if to.holds(first):",
        "A cast to a narrow type is taken to keep values if it keeps the smallest.",
        _INTERVALS,
    ),
    Mutant(
        "wide-cast-never-wraps",
        "spaces/model/regions.py",
        "source.bits <= 32",
        "source.bits <= 64",
        "A cast from int64 to a coordinate is taken to keep every value.",
        _INTERVALS,
    ),
)

BOXES = (
    Mutant(
        "output-one-too-large",
        "spaces/model/placement.py",
        'size_variable(name, "extent", d) - 1',
        'size_variable(name, "extent", d)',
        "The last coordinate of an output is taken to be its extent beyond the first.",
        _NEST,
    ),
    Mutant(
        "own-reads-forgotten",
        "spaces/model/placement.py",
        "[stage.args] + [c.args for c in stage.calls if c.target == function.name]",
        "[stage.args]",
        "What an update stage reads of its own Func is not part of its box.",
        _CPU,
    ),
    Mutant(
        "loops-from-the-wrong-depth",
        "spaces/model/placement.py",
        "*placement.path[depth:],",
        "*placement.path[depth + 1 :],",
        "The loop just inside the compute level counts as fixed when what it reads is found.",
        _NEST,
    ),
    Mutant(
        "guard-clips-nothing",
        "spaces/model/visits.py",
        "high = fn.min(high, last)",
        "high = fn.max(high, last)",
        "A guarded split is taken to compute whole tiles.",
        _CPU,
    ),
    Mutant(
        "tails-not-computed",
        "spaces/model/visits.py",
        "low, simplify(low + (extent + factor - 1) / factor * factor - 1)",
        "low, simplify(last)",
        "What a rounded-up tile computes beyond its box is not part of its box.",
        _CPU,
    ),
    Mutant(
        "storage-at-compute-level",
        "spaces/model/loopnest.py",
        "levels.store(name) == path",
        "levels.site(name) == path",
        "Storage is allocated where a Func is computed, whatever its store level is.",
        _NEST,
    ),
    Mutant(
        "only-one-guard",
        "spaces/model/loopnest.py",
        "guards=traversal.guards,",
        "guards=traversal.guards[:1],",
        "Of several splits that do not divide only one is guarded.",
        _NEST,
    ),
)

LOOPS = (
    Mutant(
        "last-tile-forgotten",
        "spaces/model/splits.py",
        "(extent + factor - 1) / factor",
        "extent / factor",
        "A split by a factor that does not divide leaves out the last tile.",
        _NEST,
    ),
    Mutant(
        "shift-outwards",
        "spaces/model/traversal.py",
        "fn.min(base, extent - factor)",
        "fn.min(base, extent + factor)",
        "The last tile is shifted outwards, its sign swapped.",
        _NEST,
    ),
    Mutant(
        "guard-lets-one-more",
        "spaces/model/traversal.py",
        "base + inner < extent",
        "base + inner <= extent",
        "A guard lets the first iteration beyond the end pass.",
        _NEST,
    ),
    Mutant(
        "fuse-forgets-the-start",
        "spaces/model/traversal.py",
        "simplify(fused % divisor + inner_low)",
        "simplify(fused % divisor)",
        "The inner one of two fused loops begins at zero.",
        _CPU,
    ),
    Mutant(
        "fused-by-outer-extent",
        "spaces/model/splits.py",
        "simplify(inner[1] * outer[1])",
        "simplify(inner[1] * inner[1])",
        "A fused loop has as many iterations as if both were the inner one.",
        _NEST,
    ),
    Mutant(
        "dividing-the-wrong-way",
        "spaces/model/splits.py",
        "simplify(extent % factor) is zero",
        "simplify(factor % extent) is zero",
        "A split needs no tail where its extent divides its factor.",
        _CPU,
    ),
    Mutant(
        "updates-shift-inwards",
        "spaces/model/splits.py",
        "if is_update:\n        return Tail.ROUND_UP",
        "if is_update:\n        return Tail.SHIFT_INWARDS",
        "The last tile of an update is shifted inwards, and updates some values twice.",
        (*_NEST, "tests/constraints/test_soundness.py"),
    ),
    Mutant(
        "predicated-stores-read-less",
        "spaces/model/splits.py",
        "Tail.PREDICATE_STORES: Tail.ROUND_UP,",
        "Tail.PREDICATE_STORES: Tail.GUARD_WITH_IF,",
        "Where stores alone are predicated, nothing is asked of images beyond the end.",
        ("tests/backend/test_tails.py",),
    ),
    Mutant(
        "predicated-loads-store-less",
        "spaces/model/splits.py",
        "Tail.PREDICATE_LOADS: Tail.ROUND_UP,",
        "Tail.PREDICATE_LOADS: Tail.GUARD_WITH_IF,",
        "Where loads alone are predicated, there is no room for whole tiles.",
        ("tests/backend/test_tails.py",),
    ),
    Mutant(
        "rvars-round-up",
        "spaces/model/splits.py",
        "guards = record.old in exact or",
        "guards = False and record.old in exact or",
        "A split of an RVar computes beyond the reduction domain.",
        _NEST,
    ),
    Mutant(
        "tiles-of-updates-round-up",
        "spaces/model/splits.py",
        "or (is_update and is_inside)",
        "or (is_update and False)",
        "Tiles inside a tile of an update go over its end, and update its neighbor twice.",
        (*_NEST, "tests/constraints/test_soundness.py"),
    ),
)

ARITHMETIC = (
    Mutant(
        "at-most-by-one",
        "spaces/model/limits.py",
        "low = self.lower(difference)\n        return low is not None and low >= 0",
        "low = self.lower(difference)\n        return low is not None and low >= -1",
        "That one expression is at most another is believed if it is one larger.",
        _ARITHMETIC,
    ),
    Mutant(
        "quotient-rounded-up",
        "spaces/model/limits.py",
        "low // divisor.constant",
        "-(-low // divisor.constant)",
        "The lower limit of a quotient is rounded up.",
        _ARITHMETIC,
    ),
    Mutant(
        "certain-quotient-by-one",
        "spaces/model/simplify.py",
        "self.proves_positive(b - rest)",
        "self.proves_at_most(_ZERO, b - rest)",
        "A quotient is taken to be zero where its numerator may be as large as its divisor.",
        _ARITHMETIC,
    ),
    Mutant(
        "nested-quotient-unscaled",
        "spaces/model/simplify.py",
        "Polynomial.of(a.offset * c)",
        "Polynomial.of(a.offset)",
        "What is added between two divisions is not multiplied by the first divisor.",
        _ARITHMETIC,
    ),
    Mutant(
        "margin-of-a-strict-comparison",
        "spaces/model/simplify.py",
        '"lt": lambda a, b: (a, b, 1)',
        '"lt": lambda a, b: (a, b, 0)',
        "a < b is decided as if it were a <= b.",
        _ARITHMETIC,
    ),
)

MUTANTS = (*INTERVALS, *BOXES, *LOOPS, *ARITHMETIC)
