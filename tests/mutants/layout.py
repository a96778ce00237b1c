"""Bugs in the layout of storage and in explicit bounds."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_HALIDE = "tests/backend/halide/test_layout.py"
_RULES = "tests/constraints/test_rules.py"
_BOUNDS = "spaces/model/explicit_bounds.py"

LAYOUT = (
    Mutant(
        "memory-order-inverted",
        "backend/lowering/flatten.py",
        "for d in node.order:",
        "for d in range(len(node.extents)):",
        "Storage is laid out in the order of the arguments, reordered or not.",
        (_HALIDE,),
    ),
    Mutant(
        "storage-not-padded",
        "spaces/model/placement.py",
        "extent = (extent + multiple - 1) / multiple * multiple",
        "pass",
        "Aligned storage is as dense as any.",
        (_HALIDE,),
    ),
    Mutant(
        "storage-padded-downwards",
        "spaces/model/placement.py",
        "(extent + multiple - 1) / multiple * multiple",
        "extent / multiple * multiple",
        "Padding takes values away.",
        (_HALIDE,),
    ),
    Mutant(
        "hoisted-for-one-iteration",
        "spaces/model/placement.py",
        "most = [whole.of(e).max for e in extents]",
        "most = [whole.of(e).min for e in extents]",
        "Hoisted memory is as large as the smallest of all that it is for.",
        ("tests/model/test_hoisting.py",),
    ),
    Mutant(
        "hoisted-out-of-parallel-loops",
        "spaces/constraints/rules/layout.py",
        "legal = levels[shared[-1] + 1 if shared else 0 :]",
        "legal = levels",
        "Iterations that run at once share hoisted memory.",
        (_RULES,),
    ),
    Mutant(
        "hoisted-memory-unused",
        "backend/lowering/start.py",
        "return evolve(inside, within=_HOISTED.format(inside.buffer))",
        "return inside",
        "Memory is obtained outside of the loops, and again inside.",
        ("tests/model/test_hoisting.py",),
    ),
    Mutant(
        "storage-bound-one-too-many",
        "spaces/constraints/rules/layout.py",
        "holds = needed <= constant(bound.extent, Int32)",
        "holds = needed <= constant(bound.extent + 1, Int32)",
        "Bounded storage may be short by one value.",
        (_RULES,),
    ),
    Mutant(
        "storage-bound-ignored",
        "spaces/model/placement.py",
        "extent = constant(bound.extent, Int32)",
        "pass",
        "Bounded storage takes as much as any.",
        ("tests/model/test_hoisting.py",),
    ),
    Mutant(
        "folds-in-either-direction",
        "spaces/constraints/rules/storage.py",
        "s.forward is not fold.forward",
        "s.forward is None",
        "The direction of a fold is not asked about.",
        (_RULES,),
    ),
    Mutant(
        "outputs-laid-out",
        "spaces/constraints/rules/layout.py",
        "if func in records.pipeline.outputs:",
        "if func in ():",
        "The layout of an output is accepted, and without effect.",
        (_RULES,),
    ),
)

BOUNDS = (
    Mutant(
        "aligned-end-one-short",
        _BOUNDS,
        "(high - remainder + record.modulus)",
        "(high - remainder + record.modulus - 1)",
        "An end that begins a new period is left out.",
        (_HALIDE,),
    ),
    Mutant(
        "aligned-without-remainder",
        _BOUNDS,
        "(low - remainder) / modulus * modulus + remainder",
        "low / modulus * modulus",
        "The first coordinate is a multiple of the modulus, whatever the remainder.",
        (_HALIDE,),
    ),
    Mutant(
        "extent-aligned-downwards",
        _BOUNDS,
        "(high - low + record.modulus) / modulus",
        "(high - low) / modulus",
        "align_extent computes less than is required.",
        (_HALIDE,),
    ),
    Mutant(
        "first-bound-first",
        _BOUNDS,
        "in reversed(schedule.bounds):",
        "in schedule.bounds:",
        "Bounds are applied in the order written.",
        ("tests/model/test_explicit_bounds.py",),
    ),
    Mutant(
        "extent-bounds-a-window",
        _BOUNDS,
        "if record.min is not None or schedule.store == schedule.compute:",
        "if True:",
        "The extent alone bounds a window that slides.",
        ("tests/model/test_explicit_bounds.py",),
    ),
    Mutant(
        "bound-never-too-small",
        "spaces/constraints/rules/explicit_bounds.py",
        "    if not entry.bounds:\n",
        "    if True:\n",
        "What is required outside of a bound is not missed.",
        (_RULES, _HALIDE),
    ),
    Mutant(
        "bound-end-not-asked",
        "spaces/constraints/rules/explicit_bounds.py",
        "_side(last <= claim.high, ",
        "_side(last <= claim.high + 1, ",
        "A bound may be short by one value.",
        (_RULES,),
    ),
    Mutant(
        "bound-start-not-asked",
        "spaces/constraints/rules/explicit_bounds.py",
        "_side(first >= claim.low, ",
        "_side(first >= claim.low - 1, ",
        "A bound may begin one value late.",
        (_HALIDE, "tests/model/test_explicit_bounds.py"),
    ),
    Mutant(
        "raw-schedules-unchecked",
        "backend/lowering/start.py",
        "        *_declared(nest),\n",
        "",
        "Compiled code does not ask whether its bounds are wide enough.",
        (_HALIDE,),
    ),
    Mutant(
        "output-bound-not-proven",
        "spaces/constraints/proofs/coverage.py",
        "if subject.nest.schedule.of(func).bounds:",
        "if subject.nest.schedule.of(func).folds:",
        "Nobody proves that an output is computed where its bounds are narrower.",
        ("tests/model/test_explicit_bounds.py",),
    ),
)
