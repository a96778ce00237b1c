"""Bugs in what operators mean, in the ranges they are known to have, and in what calls promise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_DEFINITIONS = ("tests/model/test_definitions.py",)
_RANGES = ("tests/model/test_index_ranges.py",)
_COMPILED = ("tests/backend/test_operators.py",)
_REQUIRED = ("tests/backend/test_require.py",)
_PROMISES = ("tests/backend/test_constraints.py",)

MUTANTS = (
    Mutant(
        "average-rounded-down",
        "spaces/model/definitions.py",
        "(cast(wide, a) + cast(wide, b) + constant(1, wide)) >> 1",
        "(cast(wide, a) + cast(wide, b) + constant(0, wide)) >> 1",
        "A rounding average drops the half.",
        _DEFINITIONS,
    ),
    Mutant(
        "rounding-bit-too-high",
        "spaces/model/definitions.py",
        "constant(by.value - 1, by.type)",
        "constant(by.value, by.type)",
        "A rounding shift adds the lowest bit that stays, not the highest one that goes.",
        _DEFINITIONS,
    ),
    Mutant(
        "saturation-of-64-bits-by-the-sum",
        "spaces/model/definitions.py",
        "((a ^ total) & (b ^ total)) < 0",
        "((a ^ total) | (b ^ total)) < 0",
        "A sum of 64 bits saturates wherever its operands differ in sign.",
        _DEFINITIONS,
    ),
    Mutant(
        "lerp-not-rounded",
        "spaces/model/lerp.py",
        "(total + constant(largest // 2, wide))",
        "(total + constant(0, wide))",
        "An interpolation of integers is rounded down.",
        _DEFINITIONS,
    ),
    Mutant(
        "mux-takes-the-first-in-doubt",
        "spaces/model/definitions.py",
        "result = values[-1]",
        "result = values[0]",
        "An index out of range picks the first value.",
        _DEFINITIONS,
    ),
    Mutant(
        "mask-is-a-remainder-of-itself",
        "spaces/model/definitions.py",
        'binary("mod", value, constant(int(mask) + 1, node.type))',
        'binary("mod", value, constant(max(int(mask), 1), node.type))',
        "In coordinates a mask becomes the remainder by itself, not by one more.",
        _DEFINITIONS,
    ),
    Mutant(
        "shift-too-far-wraps",
        "backend/llvm/operators.py",
        "return build.select(fits, shifted, literal(type, 0))",
        "return shifted",
        "Compiled code leaves a value alone that is shifted by its width or more.",
        _COMPILED,
    ),
    Mutant(
        "common-bits-of-the-larger",
        "spaces/model/regions.py",
        "return (0, min(tops)) if tops else None",
        "return (0, min(tops) - 1) if tops else None",
        "A mask is thought to leave one value less.",
        _RANGES,
    ),
    Mutant(
        "narrow-sums-never-wrap",
        "spaces/model/regions.py",
        "if found is None or not (node.type.holds(found[0]) and node.type.holds(found[1])):",
        "if found is None:",
        "Ranges of narrow arithmetic are kept where it wraps.",
        ("tests/model/test_regions.py", *_RANGES),
    ),
    Mutant(
        "promises-not-asked",
        "backend/arguments.py",
        "if not read(promise.condition, values, NUMBERS):",
        "if read(promise.condition, values, NUMBERS) is None:",
        "A call that breaks a promise runs.",
        _PROMISES,
    ),
    Mutant(
        "largest-value-not-limited",
        "spaces/model/size_constraints.py",
        'yield Promise(Op(Bool, "le", (variable, high)), message)',
        'yield Promise(Op(Bool, "ge", (high, low or variable)), message)',
        "A parameter may be larger than its range says.",
        _PROMISES,
    ),
    Mutant(
        "strides-of-new-arrays-dense",
        "backend/buffers.py",
        "step = steps[d] or reach",
        "step = reach",
        "New arrays have their dimensions in the right order, but lie dense.",
        _PROMISES,
    ),
    Mutant(
        "undefined-arm-stored-elsewhere",
        "spaces/model/undefined.py",
        'return b, _both(logical("not", test), where_b)',
        "return b, _both(test, where_b)",
        "An update with undef as its first arm stores where the condition holds, not elsewhere.",
        ("tests/backend/test_undefined.py",),
    ),
    Mutant(
        "random-numbers-the-same-everywhere",
        "spaces/model/freeze.py",
        "return Op(node.type, node.name, (*node.args, *coordinates))",
        "return Op(node.type, node.name, (*node.args, *coordinates[1:]))",
        "Random numbers do not depend on the first coordinate.",
        ("tests/model/test_float_functions.py",),
    ),
    Mutant(
        "stops-in-lanes-left-out",
        "backend/lowering/vectorize.py",
        "return statement if self.mask is None else If(AnyLane(Bool, self.mask), statement)",
        "return statement",
        "A vector stops the program although the condition holds in all of its lanes.",
        _REQUIRED,
    ),
    Mutant(
        "coordinates-require-nothing",
        "spaces/model/required.py",
        "conditions = tuple(required(*call.args))",
        "conditions = tuple(required(*call.args[1:]))",
        "What the first coordinate of a read requires is forgotten.",
        _REQUIRED,
    ),
    Mutant(
        "stops-with-another-message",
        "backend/llvm/codegen.py",
        "first = len(self.program.requirements) + 1",
        "first = len(self.program.requirements)",
        "The status of a condition that does not hold is that of the requirement before it.",
        _REQUIRED,
    ),
    Mutant(
        "undefined-components-undefine-others",
        "spaces/model/undefined.py",
        "conditions = {condition for value, condition in parts if value is not None}",
        "conditions = {condition for value, condition in parts}",
        "A component of a Tuple without a value is taken to have another condition.",
        ("tests/backend/test_undefined.py",),
    ),
    Mutant(
        "undefined-definitions-stored",
        "backend/lowering/start.py",
        "if not is_nothing(value)",
        "if value is not None",
        "A definition without a value overwrites what lies in memory.",
        ("tests/backend/test_undefined.py",),
    ),
)
