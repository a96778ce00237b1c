"""Bugs in the passes from a loop nest to a program."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PASSES = (
    "tests/backend/test_lowering_structure.py",
    "tests/backend/test_lowering_passes.py",
    "tests/backend/test_compile.py",
)
_VECTORS = ("tests/backend/test_tails.py", *_PASSES, "tests/backend/test_codegen.py")
_KERNELS = (
    "tests/backend/cuda/test_barriers_of_programs.py",
    "tests/backend/cuda/test_gpu_schedules.py",
    "tests/backend/cuda/test_gpu_random.py",
    "tests/backend/cuda/test_program.py",
)
_READS = ("tests/backend/test_repeated_reads.py",)

STEADY = (
    Mutant(
        "likely-sides-left-out",
        "backend/lowering/cpu/decide.py",
        "if not usual if wish is None else choice is not wish:",
        "if not usual:",
        "The steady state takes the side seen in the middle, not the one said to be likely.",
        ("tests/backend/test_likely.py",),
    ),
    Mutant(
        "likely-arm-is-the-other",
        "backend/lowering/analyses/hints.py",
        "_wish(found, condition, TRUE if arm is arms[0] else FALSE)",
        "_wish(found, condition, FALSE if arm is arms[0] else TRUE)",
        "The arm that is likely is the one left out in the steady state.",
        ("tests/backend/test_likely.py",),
    ),
    Mutant(
        "less-is-at-most",
        "backend/lowering/cpu/decide.py",
        "[(constant(True, Bool), (b - a - 1,)), (constant(False, Bool), (a - b,))]",
        "[(constant(True, Bool), (b - a,)), (constant(False, Bool), (a - b,))]",
        "In the steady state a < b is taken to hold where both are equal.",
        ("tests/backend/test_likely.py", *_PASSES),
    ),
    Mutant(
        "minimum-takes-the-larger",
        "backend/lowering/cpu/decide.py",
        '"min": lambda a, b: [(a, (b - a,)), (b, (a - b,))]',
        '"min": lambda a, b: [(a, (a - b,)), (b, (b - a,))]',
        "In the steady state a clamp takes the larger of its operands.",
        _PASSES,
    ),
    Mutant(
        "modulo-of-the-divisor",
        "backend/lowering/cpu/decide.py",
        "[(a, (a, b - 1 - a))]",
        "[(a, (a, b - a))]",
        "In the steady state a modulo is left out where the operand is as large as the divisor.",
        _PASSES,
    ),
    Mutant(
        "limit-rounded-down",
        "backend/lowering/cpu/decide.py",
        "self.known(constant(0, Int32) - rest / constant(slope, Int32))",
        "self.known((constant(0, Int32) - rest) / constant(slope, Int32))",
        "The steady state begins one iteration too early where its limit is no whole number.",
        _PASSES,
    ),
    Mutant(
        "nearest-of-the-lower-limits",
        "backend/lowering/cpu/partition.py",
        "fn.min(_largest(decisions.lows), end)",
        "fn.min(_smallest(decisions.lows), end)",
        "The steady state begins where the first of its tests is decided, not the last.",
        _PASSES,
    ),
    Mutant(
        "steady-one-too-long",
        "backend/lowering/cpu/partition.py",
        "_smallest(decisions.highs) + 1",
        "_smallest(decisions.highs) + 2",
        "The steady state has one iteration too many.",
        _PASSES,
    ),
    Mutant(
        "steady-in-all-iterations",
        "backend/lowering/cpu/partition.py",
        "If(both, steady.body, usual.body)",
        "If(both, steady.body, steady.body)",
        "An outer loop runs the body of its steady state in every iteration.",
        _PASSES,
    ),
)

LOOPS = (
    Mutant(
        "single-iterations-vanish",
        "backend/lowering/simplify.py",
        "isinstance(extent, Const) and extent.value <= 0",
        "isinstance(extent, Const) and extent.value <= 1",
        "Loops of one iteration are left out.",
        _PASSES,
    ),
    Mutant(
        "guards-around-nothing-stay",
        "backend/lowering/simplify.py",
        "if body == otherwise == EMPTY:",
        "if body == EMPTY and otherwise == 0:",
        "A condition is asked although nothing depends on it.",
        ("tests/backend/test_lowering_passes.py",),
    ),
    Mutant(
        "varying-guards-leave-loops",
        "backend/lowering/simplify.py",
        "varies = condition.loads or loop.var.name in condition.names",
        "varies = condition.loads",
        "A guard is asked before the loop that it varies in.",
        _PASSES,
    ),
    Mutant(
        "first-copy-forgotten",
        "backend/lowering/cpu/unroll.py",
        "for i in range(int(statement.extent.value))",
        "for i in range(1, int(statement.extent.value))",
        "The first iteration of an unrolled loop is not written out.",
        _PASSES,
    ),
    Mutant(
        "unrolled-from-zero",
        "backend/lowering/cpu/unroll.py",
        "statement.min + constant(i, Int32)",
        "constant(i, Int32)",
        "Unrolled loops count from zero.",
        _PASSES,
    ),
    Mutant(
        "strides-not-multiplied",
        "backend/lowering/flatten.py",
        "stride = times(node.extents[d], stride)",
        "stride = node.extents[d]",
        "The stride of a third dimension is the extent of the second.",
        (*_PASSES, "tests/backend/test_scratch.py"),
    ),
    Mutant(
        "output-may-be-one-smaller",
        "backend/lowering/analyses/requirements.py",
        'last = first + size_variable(name, "extent", d) - 1',
        'last = first + size_variable(name, "extent", d)',
        "A buffer is accepted that is one element too small.",
        _PASSES,
    ),
    Mutant(
        "smaller-than-a-tile",
        "backend/lowering/analyses/requirements.py",
        ">= factor_expr(record.factor),",
        ">= factor_expr(record.factor) - 1,",
        "An output is accepted that is one element smaller than its tile.",
        _PASSES,
    ),
)

VECTORS = (
    Mutant(
        "first-lane-for-all",
        "backend/lowering/cpu/vectorize.py",
        'return Op(Bool, "and", (ends[0], ends[1]))',
        'return Op(Bool, "and", (ends[0], ends[0]))',
        "A guard is asked for the first lane only.",
        _VECTORS,
    ),
    Mutant(
        "partitioned-all-the-same",
        "backend/lowering/cpu/partition.py",
        "or loop.partition is Partition.NEVER or",
        "or",
        "Loops are split that the schedule says are to stay whole.",
        _PASSES,
    ),
    Mutant(
        "splits-forget-the-policy",
        "spaces/model/directives/loop_directives.py",
        "(*_without(order.partitions, record.old), *policies),",
        "_without(order.partitions, record.old),",
        "What is made of a loop by a split is partitioned by default.",
        _PASSES,
    ),
    Mutant(
        "masks-only-of-the-innermost-guard",
        "backend/lowering/cpu/vectorize.py",
        'Op(condition.type, "and", (self.mask, condition))',
        "condition",
        "A guard inside a guard lets lanes run that the outer one has stopped.",
        _VECTORS,
    ),
    Mutant(
        "loads-without-mask",
        "backend/lowering/cpu/widen.py",
        "if self.mask is not None and isinstance(node, Load):",
        "if False:",
        "Lanes beyond a guard load from memory beyond a buffer.",
        _VECTORS,
    ),
    Mutant(
        "stores-without-mask",
        "backend/lowering/cpu/vectorize.py",
        "self.widen.full(value), self.mask)",
        "self.widen.full(value))",
        "Lanes beyond a guard store.",
        _VECTORS,
    ),
    Mutant(
        "backwards-mask-forwards",
        "backend/llvm/memory.py",
        "mask = self._pick(mask, None, lanes[::-1])",
        "mask = self._pick(mask, None, lanes)",
        "A vector that is read backwards is masked as if it were read forwards.",
        _VECTORS,
    ),
    Mutant(
        "spread-lanes-are-not-masked",
        "backend/llvm/memory.py",
        "return self.builder.select(bit, address(lane), other)",
        "return address(lane)",
        "Lanes far apart are loaded and stored whatever their mask says.",
        _VECTORS,
    ),
    Mutant(
        "no-lane-touches-the-shared-place",
        "backend/lowering/cpu/vectorize.py",
        "return If(AnyLane(Bool, mask), result) if _touches_one_place(result) else result",
        "return result",
        "What all lanes share is read where no lane runs.",
        _VECTORS,
    ),
    Mutant(
        "lanes-share-storage",
        "backend/lowering/cpu/vectorize.py",
        "return index * constant(self.lanes, Int32) + lane",
        "return index * constant(self.lanes, Int32)",
        "All lanes keep their values in the same element.",
        _VECTORS,
    ),
    Mutant(
        "scaled-ramps-keep-their-step",
        "backend/lowering/cpu/widen.py",
        '_computed("mul", a.stride, b)',
        "a.stride",
        "Twice a ramp has the step of the ramp.",
        _VECTORS,
    ),
    Mutant(
        "maxima-with-zero-change-nothing",
        "backend/ir/identities.py",
        'Identity("sub", ("a", 0), "a"),',
        'Identity("sub", ("a", 0), "a"),\n    Identity("max", ("a", 0), "a"),',
        "A coordinate is not limited from below by 0.",
        ("tests/backend/ir/test_identities.py",),
    ),
    Mutant(
        "quotients-of-any-step",
        "backend/lowering/cpu/widen.py",
        "if over == 0:",
        "if over >= 0:",
        "A quotient of a ramp is a ramp even where its step is no multiple of the divisor.",
        _VECTORS,
    ),
)

KERNELS = (
    Mutant(
        "one-thread-too-many",
        "backend/lowering/gpu/kernels.py",
        "tests.append(THREAD[axis] < extent)",
        "tests.append(THREAD[axis] <= extent)",
        "Where a block is wider than a loop, one thread too many runs it.",
        _KERNELS,
    ),
    Mutant(
        "narrowest-loop-decides",
        "backend/lowering/gpu/kernels.py",
        "block[axis] = max(block[axis], sizes.threads(loop))",
        "block[axis] = sizes.threads(loop)",
        "A block is as wide as the last of its loops, not the widest.",
        _KERNELS,
    ),
    Mutant(
        "all-threads-run-single-code",
        "backend/lowering/gpu/kernels.py",
        "extents[axis] if axis < len(extents) else _ONE",
        "extents[axis] if axis < len(extents) else constant(threads, Int32)",
        "Code outside thread loops is run by every thread of a block.",
        _KERNELS,
    ),
    Mutant(
        "blocks-transposed",
        "backend/lowering/gpu/kernels.py",
        "for axis, loop in enumerate(reversed(blocks)):\n            thread = bind(",
        "for axis, loop in enumerate(blocks):\n            thread = bind(",
        "The place of a block is read along the wrong axes of the grid.",
        _KERNELS,
    ),
    Mutant(
        "guards-around-threads-forgotten",
        "backend/lowering/gpu/kernels.py",
        "(*conditions, statement.condition)",
        "conditions",
        "A guard around thread loops is lost when they become threads.",
        _KERNELS,
    ),
    Mutant(
        "kernel-loops-keep-their-start",
        "backend/lowering/gpu/loops.py",
        'value = coordinate("add", statement.min, statement.var)',
        "value = statement.var",
        "Loops in kernels count from zero, but their bodies do not know it.",
        _KERNELS,
    ),
    Mutant(
        "own-storage-not-moved",
        "backend/lowering/gpu/memory.py",
        "arg - low for arg, low in zip(args, node.mins, strict=True)",
        "arg for arg in args",
        "Coordinates in a kernel's storage do not count from its origin.",
        _KERNELS,
    ),
)

LIFETIMES = (
    Mutant(
        "given-back-after-the-first-use",
        "backend/llvm/lifetimes.py",
        "last[buffer] = number",
        "last.setdefault(buffer, number)",
        "Storage is given back after the statement that computes it.",
        ("tests/backend/test_lifetimes.py",),
    ),
    Mutant(
        "given-back-never",
        "backend/llvm/lifetimes.py",
        "if last.get(a.buffer) == number",
        "if number == len(statements) - 1",
        "All storage is kept until the last statement.",
        ("tests/backend/test_lifetimes.py",),
    ),
    Mutant(
        "memory-given-back-with-what-lies-in-it",
        "backend/llvm/statements.py",
        "if block in self._owned and not storage.within:",
        "if block in self._owned:",
        "Hoisted memory is given back where storage in it ends.",
        ("tests/backend/test_lifetimes.py",),
    ),
)

READS = (
    Mutant(
        "reads-outlive-stores",
        "backend/llvm/statements.py",
        "                self.values.ready(statement)()\n"
        "                self.values.forget(statement.buffer)",
        "                self.values.ready(statement)()",
        "What a store changes is not read again by the next one.",
        _READS,
    ),
    Mutant(
        "reads-outlive-stores-together",
        "backend/llvm/statements.py",
        "                for store in stores:\n"
        "                    self.values.forget(store.buffer)\n",
        "",
        "What stores of a Tuple change is not read again by the next ones.",
        _READS,
    ),
    Mutant(
        "places-outlive-stores",
        "backend/llvm/expressions.py",
        "            self._read.pop(key, None)\n        self._read_addresses = {}",
        "            self._read.pop(key, None)",
        "A place that a store has changed is not calculated again.",
        _READS,
    ),
    Mutant(
        "inner-reads-forgotten",
        "backend/llvm/expressions.py",
        "            if node.loads:\n                found",
        "            if node.loads and not found:\n                found",
        "Of a value read at a place that is read only the outer buffer is watched.",
        _READS,
    ),
)

MUTANTS = (*STEADY, *LOOPS, *VECTORS, *KERNELS, *LIFETIMES, *READS)
