"""Bugs in the passes from a loop nest to a program."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_PASSES = (
    "lowering/test_structure.py",
    "lowering/test_passes.py",
    "test_compile.py",
)
_VECTORS = ("test_tails.py", *_PASSES, "test_codegen.py")
_KERNELS = (
    "test_barriers_of_programs.py",
    "test_gpu_schedules.py",
    "test_gpu_random.py",
    "test_program.py",
)
_READS = ("test_repeated_reads.py",)

STEADY = (
    Mutant(
        "calls-nest-without-limit",
        "deeper",
        "sys._getframe(sys.getrecursionlimit() // 2)",
        "sys._getframe(10**9)",
        "Passes recurse into nested storage until Python's limit of nested calls.",
        ("lowering/test_large_pipelines.py",),
    ),
    Mutant(
        "chunks-without-room",
        "in_one_chunk",
        "call.__code__.replace(co_stacksize=_FRAME_WORDS)",
        "call.__code__",
        "Recursion maps and unmaps memory for its frames where the caller's depth is unlucky.",
        ("test_recursion.py",),
    ),
    Mutant(
        "likely-sides-left-out",
        "Decisions._choose",
        "not usual if wish is None else choice is not wish",
        "not usual",
        "The steady state takes the side seen in the middle, not the one said to be likely.",
        ("test_likely.py",),
    ),
    Mutant(
        "likely-arm-is-the-other",
        "wishes",
        "TRUE if arm is arms[0] else FALSE",
        "FALSE if arm is arms[0] else TRUE",
        "The arm that is likely is the one left out in the steady state.",
        ("test_likely.py",),
    ),
    Mutant(
        "less-is-at-most",
        "_less",
        "b - a - 1",
        "b - a",
        "In the steady state a < b is taken to hold where both are equal.",
        ("test_likely.py", *_PASSES),
    ),
    Mutant(
        "minimum-takes-the-larger",
        "_CLAIMS",
        "[(a, (b - a,)), (b, (a - b,))]",
        "[(a, (a - b,)), (b, (b - a,))]",
        "In the steady state a clamp takes the larger of its operands.",
        _PASSES,
    ),
    Mutant(
        "modulo-of-the-divisor",
        "_CLAIMS",
        "b - 1",
        "b",
        "In the steady state a modulo is left out where the operand is as large as the divisor.",
        _PASSES,
    ),
    Mutant(
        "limit-rounded-down",
        "Decisions._limit",
        "constant(0, Int32) - rest / constant(slope, Int32)",
        "(constant(0, Int32) - rest) / constant(slope, Int32)",
        "The steady state begins one iteration too early where its limit is no whole number.",
        _PASSES,
    ),
    Mutant(
        "nearest-of-the-lower-limits",
        "_Partitioning._split",
        "_largest",
        "_smallest",
        "The steady state begins where the first of its tests is decided, not the last.",
        _PASSES,
    ),
    Mutant(
        "steady-one-too-long",
        "_Partitioning._split",
        "1",
        "2",
        "The steady state has one iteration too many.",
        _PASSES,
    ),
    Mutant(
        "steady-in-all-iterations",
        "_Partitioning._tested_loop",
        "usual.body",
        "steady.body",
        "An outer loop runs the body of its steady state in every iteration.",
        _PASSES,
    ),
)

LOOPS = (
    Mutant(
        "single-iterations-vanish",
        "_Simplification._loop",
        "0",
        "1",
        "Loops of one iteration are left out.",
        _PASSES,
    ),
    Mutant(
        "guards-around-nothing-stay",
        "_Simplification._guard",
        "body == otherwise == EMPTY",
        "body == EMPTY and otherwise == 0",
        "A condition is asked although nothing depends on it.",
        ("lowering/test_passes.py",),
    ),
    Mutant(
        "varying-guards-leave-loops",
        "_hoisted",
        "condition.loads or loop.var.name in condition.names",
        "condition.loads",
        "A guard is asked before the loop that it varies in.",
        _PASSES,
    ),
    Mutant(
        "first-copy-forgotten",
        "_unrolled",
        "range(int(statement.extent.value))",
        "range(1, int(statement.extent.value))",
        "The first iteration of an unrolled loop is not written out.",
        _PASSES,
    ),
    Mutant(
        "unrolled-from-zero",
        "_unrolled",
        "statement.min + constant(i, Int32)",
        "constant(i, Int32)",
        "Unrolled loops count from zero.",
        _PASSES,
    ),
    Mutant(
        "strides-not-multiplied",
        "_allocated",
        "times(node.extents[d], stride)",
        "node.extents[d]",
        "The stride of a third dimension is the extent of the second.",
        (*_PASSES, "test_scratch.py"),
    ),
    Mutant(
        "output-may-be-one-smaller",
        "_inside",
        'first + size_variable(name, "extent", d) - 1',
        'first + size_variable(name, "extent", d)',
        "A buffer is accepted that is one element too small.",
        _PASSES,
    ),
    Mutant(
        "smaller-than-a-tile",
        "_least_extents",
        "factor_expr(record.factor)",
        "factor_expr(record.factor) - 1",
        "An output is accepted that is one element smaller than its tile.",
        _PASSES,
    ),
)

VECTORS = (
    Mutant(
        "first-lane-for-all",
        "_Lanes._in_every_lane",
        "ends[1]",
        "ends[0]",
        "A guard is asked for the first lane only.",
        _VECTORS,
    ),
    Mutant(
        "partitioned-all-the-same",
        "_Partitioning._loop",
        "not loop.kind.is_scalar_loop or loop.partition is Partition.NEVER or not wanted",
        "not loop.kind.is_scalar_loop or not wanted",
        "Loops are split that the schedule says are to stay whole.",
        _PASSES,
    ),
    Mutant(
        "splits-forget-the-policy",
        "LoopDirectives.split",
        "(*_without(order.partitions, record.old), *policies)",
        "_without(order.partitions, record.old)",
        "What is made of a loop by a split is partitioned by default.",
        _PASSES,
    ),
    Mutant(
        "masks-only-of-the-innermost-guard",
        "_Lanes._masked",
        'Op(condition.type, "and", (self.mask, condition))',
        "condition",
        "A guard inside a guard lets lanes run that the outer one has stopped.",
        _VECTORS,
    ),
    Mutant(
        "loads-without-mask",
        "Widening._over_lanes",
        "self.mask is not None and isinstance(node, Load)",
        "False",
        "Lanes beyond a guard load from memory beyond a buffer.",
        _VECTORS,
    ),
    Mutant(
        "stores-without-mask",
        "_Lanes._store",
        "Store(*..., self.mask)",
        "Store(*...)",
        "Lanes beyond a guard store.",
        _VECTORS,
    ),
    Mutant(
        "backwards-mask-forwards",
        "AccessEmitter.load_masked",
        "self._pick(mask, None, lanes[::-1])",
        "self._pick(mask, None, lanes)",
        "A vector that is read backwards is masked as if it were read forwards.",
        _VECTORS,
    ),
    Mutant(
        "spread-lanes-are-not-masked",
        "AccessEmitter._kept_in",
        "self.builder.select(bit, address(lane), other)",
        "address(lane)",
        "Lanes far apart are loaded and stored whatever their mask says.",
        _VECTORS,
    ),
    Mutant(
        "no-lane-touches-the-shared-place",
        "_Lanes._masked",
        "If(AnyLane(Bool, mask), result) if _touches_one_place(result) else result",
        "result",
        "What all lanes share is read where no lane runs.",
        _VECTORS,
    ),
    Mutant(
        "lanes-share-storage",
        "_Lanes._allocate",
        "index * constant(self.lanes, Int32) + lane",
        "index * constant(self.lanes, Int32)",
        "All lanes keep their values in the same element.",
        _VECTORS,
    ),
    Mutant(
        "scaled-ramps-keep-their-step",
        "_even_step",
        '_computed("mul", a.stride, b)',
        "a.stride",
        "Twice a ramp has the step of the ramp.",
        _VECTORS,
    ),
    Mutant(
        "maxima-with-zero-change-nothing",
        "COORDINATES",
        '(*..., Identity("sub", ("a", 0), "a"), *...)',
        '(*..., Identity("max", ("a", 0), "a"), Identity("sub", ("a", 0), "a"), *...)',
        "A coordinate is not limited from below by 0.",
        ("test_identities.py",),
    ),
    Mutant(
        "quotients-of-any-step",
        "_even_step",
        "over == 0",
        "over >= 0",
        "A quotient of a ramp is a ramp even where its step is no multiple of the divisor.",
        _VECTORS,
    ),
)

KERNELS = (
    Mutant(
        "one-thread-too-many",
        "_Threads._part",
        "THREAD[axis] < extent",
        "THREAD[axis] <= extent",
        "Where a block is wider than a loop, one thread too many runs it.",
        _KERNELS,
    ),
    Mutant(
        "narrowest-loop-decides",
        "_block_size",
        "max(block[axis], sizes.threads(loop))",
        "sizes.threads(loop)",
        "A block is as wide as the last of its loops, not the widest.",
        _KERNELS,
    ),
    Mutant(
        "all-threads-run-single-code",
        "_Threads._part",
        "_ONE",
        "constant(threads, Int32)",
        "Code outside thread loops is run by every thread of a block.",
        _KERNELS,
    ),
    Mutant(
        "blocks-transposed",
        "_Outliner._launch",
        """
        thread = _Threads(size).lower(body)
        for axis, loop in enumerate(reversed(blocks)):
            ...
        """,
        """
        thread = _Threads(size).lower(body)
        for axis, loop in enumerate(blocks):
            ...
        """,
        "The place of a block is read along the wrong axes of the grid.",
        _KERNELS,
    ),
    Mutant(
        "guards-around-threads-forgotten",
        "_Threads.lower",
        "(*conditions, statement.condition)",
        "conditions",
        "A guard around thread loops is lost when they become threads.",
        _KERNELS,
    ),
    Mutant(
        "kernel-loops-keep-their-start",
        "_inside",
        'coordinate("add", statement.min, statement.var)',
        "statement.var",
        "Loops in kernels count from zero, but their bodies do not know it.",
        _KERNELS,
    ),
    Mutant(
        "own-storage-not-moved",
        "_from_origin",
        "(arg - low for arg, low in zip(args, node.mins, strict=True))",
        "(arg for arg in args)",
        "Coordinates in a kernel's storage do not count from its origin.",
        _KERNELS,
    ),
)

LIFETIMES = (
    Mutant(
        "given-back-after-the-first-use",
        "parts_of",
        "last[buffer] = number",
        "last.setdefault(buffer, number)",
        "Storage is given back after the statement that computes it.",
        ("test_lifetimes.py",),
    ),
    Mutant(
        "given-back-never",
        "parts_of",
        "last.get(a.buffer) == number",
        "number == len(statements) - 1",
        "All storage is kept until the last statement.",
        ("test_lifetimes.py",),
    ),
    Mutant(
        "memory-given-back-with-what-lies-in-it",
        "Statements._allocate",
        "block in self._owned and not storage.within",
        "block in self._owned",
        "Hoisted memory is given back where storage in it ends.",
        ("test_lifetimes.py",),
    ),
)

READS = (
    Mutant(
        "reads-outlive-stores",
        "Statements.statement",
        "self.values.forget(statement.buffer)",
        "",
        "What a store changes is not read again by the next one.",
        _READS,
    ),
    Mutant(
        "reads-outlive-stores-together",
        "Statements.statement",
        """
        for store in stores:
            ...
        """,
        "",
        "What stores of a Tuple change is not read again by the next ones.",
        _READS,
    ),
    Mutant(
        "places-outlive-stores",
        "Expressions.forget",
        "self._read_addresses = {}",
        "",
        "A place that a store has changed is not calculated again.",
        _READS,
    ),
    Mutant(
        "inner-reads-forgotten",
        "Expressions._buffers_of",
        "node.loads",
        "node.loads and not found",
        "Of a value read at a place that is read only the outer buffer is watched.",
        _READS,
    ),
)

MUTANTS = (*STEADY, *LOOPS, *VECTORS, *KERNELS, *LIFETIMES, *READS)
