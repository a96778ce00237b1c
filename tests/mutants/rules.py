"""Bugs in the rules: left out, inverted, or off by one."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_EXAMPLES = (
    "rules/test_examples.py",
    "test_verify.py",
    "sizes/test_kernels.py",
    "test_boundaries.py",
)
_BOUNDARY = (*_EXAMPLES, "test_readings.py", "test_lattice.py")
_RACES = (
    "test_hazards.py",
    "dependences/test_orders.py",
    "test_soundness.py",
    *_EXAMPLES,
)
_KERNELS = (
    *_EXAMPLES,
    "test_largest.py",
    "test_encode.py",
    "test_gpu_random.py",
)

DROPPED = (
    Mutant(
        "no-rules-of-storage",
        "RULES",
        "(*..., *storage.RULES, *...)",
        "(*..., *...)",
        "The rules of a whole file are not asked.",
        _EXAMPLES,
    ),
    Mutant(
        "all-tails-of-a-family-are-asked-of-each-member",
        "TailFamily.holds",
        "~self.condition | check",
        "check",
        "A member must satisfy the rules with the tails that others have, too.",
        ("test_lattice.py",),
    ),
    Mutant(
        "last-nest-rule-not-asked",
        "ask_bounds",
        "NEST_RULES",
        "NEST_RULES[:-1]",
        "The last rule about loop nests is never asked.",
        _EXAMPLES,
    ),
    Mutant(
        "only-the-first-func",
        "ask_records",
        "records.pipeline.functions",
        "records.pipeline.functions[:1]",
        "The rules about records are asked for one Func.",
        _EXAMPLES,
    ),
    Mutant(
        "size-conditions-forgotten",
        "judge",
        "item.check.holds.names",
        "item.check.holds.names and not sizes",
        "What holds at the estimated sizes is not required of other sizes.",
        _EXAMPLES,
    ),
)

ORDERS = (
    Mutant(
        "factor-of-zero",
        "factor_in_range",
        "1 <= factor <= _LARGEST_FACTOR",
        "0 <= factor <= _LARGEST_FACTOR",
        "A split by zero is legal.",
        _EXAMPLES,
    ),
    Mutant(
        "tails-of-updates-unchecked",
        "tail",
        """
        _illegal_tails(
            exact_reason if record.old in exact else None, is_inside, is_update=index > 0
        )
        """,
        """
        _illegal_tails(
            exact_reason if record.old in exact else None, is_inside, is_update=False
        )
        """,
        "Splits of pure Vars in update stages may shift inwards.",
        _RACES,
    ),
    Mutant(
        "fused-rvars-are-no-rvars",
        "exact_loops",
        "made_from(found, (record,))",
        "found if isinstance(record, Fuse) else made_from(found, (record,))",
        "A loop fused of RVars may be split with any tail.",
        _RACES,
    ),
    Mutant(
        "split-swaps-the-order",
        "_Tracer._split",
        "self.before.add((record.outer, record.inner))",
        "self.before.add((record.inner, record.outer))",
        "The inner loop of a split is taken to be the outer one.",
        _RACES,
    ),
    Mutant(
        "fuse-in-any-order",
        "_Tracer._fuse",
        "len(dependent) == 2 and self._parts(record.outer, record.inner)",
        "len(dependent) == 3",
        "Loops whose order matters may be fused the wrong way round.",
        _RACES,
    ),
    Mutant(
        "order-asked-of-neighbors",
        "Trace.misplaced",
        "places[inner] < places[outer]",
        "places[inner] + 1 == places[outer]",
        "Of loops in a wrong order only neighbors are looked at.",
        _RACES,
    ),
    Mutant(
        "fused-loops-in-any-order",
        "_Tracer._fuse",
        "(record.fused,)",
        "()",
        "What has to be outside of a loop may be inside of one that it was fused into.",
        _RACES,
    ),
)

RACES = (
    Mutant(
        "float-sums-in-any-order",
        "_is_commutative",
        "value.type.is_float and value.name not in _EXACT_ON_FLOATS",
        "False",
        "Float sums are taken to be associative.",
        _RACES,
    ),
    Mutant(
        "differences-commute",
        "_is_commutative",
        '[(left, right)] if value.name == "sub" else [(left, right), (right, left)]',
        "[(left, right), (right, left)]",
        "a - f(x) may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "operand-may-read-itself",
        "_is_commutative",
        "_reads(function, operand, *stage.args)",
        "_reads(function, *stage.args)",
        "f(x) + f(x) * e may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "place-may-read-itself",
        "_is_commutative",
        "_reads(function, operand, *stage.args)",
        "_reads(function, operand)",
        "A sum whose place depends on the Func itself may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "lanes-share-elements",
        "_AT_ONCE",
        '{LoopKind.PARALLEL: "in parallel", LoopKind.VECTORIZED: "as vector lanes", **...}',
        '{LoopKind.PARALLEL: "in parallel", **...}',
        "Vector lanes may update the same element.",
        _RACES,
    ),
    Mutant(
        "threads-share-elements",
        "_AT_ONCE",
        '{**..., LoopKind.GPU_THREAD: "as GPU threads"}',
        "{**...}",
        "GPU threads may update the same element.",
        _RACES,
    ),
    Mutant(
        "storage-around-the-next-loop",
        "shared_storage",
        "enumerate(path[depth:], start=depth)",
        "enumerate(path[depth + 1 :], start=depth + 1)",
        "Of the loops between storage and computation the outermost may run at once.",
        _EXAMPLES,
    ),
    Mutant(
        "lanes-share-storage-of-others",
        "shared_storage",
        "kind.is_concurrent",
        "kind.uses_threads",
        "Vector lanes may share what is stored outside of them.",
        _EXAMPLES,
    ),
)

PLACES = (
    Mutant(
        "compute-level-inverted",
        "compute_level",
        "records.compute_path(func) is not None",
        "records.compute_path(func) is None",
        "Levels that enclose every use are refused, and others accepted.",
        _EXAMPLES,
    ),
    Mutant(
        "copies-of-copies-not-counted",
        "_copies",
        "copies[call.target] += needed",
        "copies[call.target] += 1",
        "A Func that is read by one with many copies is there as often as it is read in one.",
        _EXAMPLES,
    ),
    Mutant(
        "inline-updates",
        "inline_update",
        "not function.is_pure",
        "function.is_pure",
        "Pure Funcs may not be inlined, and others may.",
        _EXAMPLES,
    ),
    Mutant(
        "store-level-by-one",
        "Records.store_depth",
        "i + 1",
        "i",
        "Storage is taken to lie one loop further out than it does.",
        (*_EXAMPLES, "test_encode.py"),
    ),
    Mutant(
        "memory-at-the-compute-level",
        "memory_kind",
        "records.kinds(path[:depth])",
        "records.kinds(path)",
        "The kind of memory is judged where a Func is computed, not where it is stored.",
        _EXAMPLES,
    ),
    Mutant(
        "kernels-reach-the-stack",
        "kernel_use",
        "LoopKind.GPU_BLOCK in records.kinds(path)",
        "LoopKind.GPU_THREAD not in records.kinds(path)",
        "A kernel may use the stack of a CPU thread.",
        _EXAMPLES,
    ),
    Mutant(
        "elements-are-bytes",
        "stack_bytes",
        "allocation_bytes(allocation) <= MAX_STACK_BYTES",
        "allocation.elements <= MAX_STACK_BYTES",
        "What is stored on the stack is counted in elements.",
        _BOUNDARY,
    ),
    Mutant(
        "fold-by-one-less",
        "fold_too_small",
        "factor_expr(fold.factor) >= least",
        "factor_expr(fold.factor) >= least - 1",
        "A fold factor may be one less than what is still to be read.",
        _BOUNDARY,
    ),
    Mutant(
        "lanes-below-the-limit",
        "_limited",
        "count <= limit",
        "count < limit",
        "The widest vector that is compiled is refused.",
        _BOUNDARY,
    ),
    Mutant(
        "only-the-innermost-vector",
        "_multiplied",
        "reduce(operator.mul, (loop.extent for loop in loops))",
        "loops[-1].extent",
        "Vectorized loops inside one another are judged one by one.",
        _BOUNDARY,
    ),
)

BOUNDS = (
    Mutant(
        "overrun-by-one",
        "_overruns",
        'first + size_variable(buffer, "extent", d) - 1',
        'first + size_variable(buffer, "extent", d)',
        "What is computed or read may lie one element beyond the last.",
        _BOUNDARY,
    ),
    Mutant(
        "overrun-inverted",
        "_overruns",
        "view.nest.simplify.at_most(interval.max, last)",
        "view.nest.simplify.at_most(last, interval.max)",
        "What certainly reaches beyond a buffer is taken to lie inside.",
        _BOUNDARY,
    ),
    Mutant(
        "tile-as-large-as-the-output",
        "smaller_than_tile",
        "size - shift.factor >= _ZERO",
        "size - shift.factor > _ZERO",
        "An output that is as large as its tile is refused.",
        _BOUNDARY,
    ),
)

KERNELS = (
    Mutant(
        "blocks-after-threads",
        "threads_outside_blocks",
        "kinds[:i]",
        "kinds",
        "A thread loop may lie outside its block loop.",
        _EXAMPLES,
    ),
    Mutant(
        "four-dimensions",
        "dimensions",
        "3",
        "4",
        "A grid may have four dimensions.",
        _EXAMPLES,
    ),
    Mutant(
        "outermost-of-the-threads",
        "level_between",
        "loop.loop != names[-1]",
        "loop.loop != names[0]",
        "What is computed inside a kernel is so at the outermost of its loops.",
        _EXAMPLES,
    ),
    Mutant(
        "kernels-around-parallel",
        "kernel_in_parallel",
        "kinds[:first]",
        "kinds[first:]",
        "Kernels may be launched from parallel loops.",
        _EXAMPLES,
    ),
    Mutant(
        "first-stage-decides-the-block",
        "kernels:_largest",
        "fn.max(first, *others) if others else first",
        "first",
        "A block has as many threads as its first stage, not its widest.",
        _KERNELS,
    ),
    Mutant(
        "grid-transposed",
        "grid_dimension",
        "(gpu.max_grid_blocks_x, gpu.max_grid_blocks_y, gpu.max_grid_blocks_z)",
        "(gpu.max_grid_blocks_y, gpu.max_grid_blocks_x, gpu.max_grid_blocks_z)",
        "The limits of a grid along x and y are swapped.",
        _BOUNDARY,
    ),
    Mutant(
        "shared-memory-without-units",
        "_allocated",
        "asked + (unit - 1)",
        "asked",
        "Shared memory is rounded down to whole units.",
        _BOUNDARY,
    ),
    Mutant(
        "reserve-forgotten",
        "_allocated",
        "kernel.shared_bytes + gpu.reserved_shared_bytes_per_block",
        "kernel.shared_bytes",
        "The driver's part of shared memory is not counted.",
        _BOUNDARY,
    ),
    Mutant(
        "registers-rounded-down",
        "_registers",
        "allocation_bytes(allocation) + 3",
        "allocation_bytes(allocation)",
        "Values narrower than a register share one.",
        _BOUNDARY,
    ),
    Mutant(
        "private-counts-as-shared",
        "kernels",
        "LoopKind.GPU_THREAD in kinds",
        "LoopKind.GPU_BLOCK not in kinds",
        "What each thread stores for itself counts as shared.",
        _KERNELS,
    ),
)

OCCUPANCY = (
    Mutant(
        "registers-without-granularity",
        "_divide_up",
        "value + (unit - 1)",
        "value",
        "Partly used units of a resource are not counted.",
        ("test_occupancy.py",),
    ),
    Mutant(
        "occupancy-one-unit-more",
        "_divide_up",
        "unit - 1",
        "unit",
        "A unit that is used up exactly counts twice.",
        ("test_occupancy.py",),
    ),
    Mutant(
        "registers-of-a-whole-multiprocessor",
        "block_limits",
        "warps_per_part * device.sub_partitions_per_sm // positive(warps)",
        "device.registers_per_sm // positive(registers_per_warp * warps)",
        "Registers are taken to be one pool, not one for each sub-partition.",
        ("test_occupancy.py",),
    ),
    Mutant(
        "advice-beside-no-directives",
        "unnamed_updates",
        "any(not _is_silent_on(view, other.name) for other in pipeline.functions)",
        "pipeline.functions",
        "A schedule that says nothing at all is advised to name Funcs with updates.",
        ("rules/test_examples.py",),
    ),
    Mutant(
        "occupancy-without-reserve",
        "block_limits",
        "shared_bytes_per_block + reserve",
        "shared_bytes_per_block",
        "The driver's part of shared memory is not counted.",
        ("test_occupancy.py",),
    ),
)

_WASTED = ("legality/test_wasted_work.py", *_EXAMPLES)

WASTED = (
    Mutant(
        "advice-on-all-that-is-used",
        "computed_again",
        "values <= used",
        "values < used",
        "A table that is computed where it is used as often counts as wasted work.",
        _WASTED,
    ),
    Mutant(
        "every-fixed-dimension-in-vain",
        "_walked_in_vain",
        "is_fixed and any(not walked.isdisjoint(call.args[d].names) for call in calls)",
        "any(not walked.isdisjoint(call.args[d].names) for call in calls)",
        "A dimension along which tiles move counts as one that they compute whole.",
        _WASTED,
    ),
    Mutant(
        "half-a-vector-is-idle",
        "idle_lanes",
        "factor <= extent * 2",
        "factor < extent * 2",
        "A vector counts as mostly idle where half of its lanes work.",
        _WASTED,
    ),
    Mutant(
        "one-warp-is-enough",
        "partial_warp",
        "blocks * threads <= warp",
        "blocks * threads < 0",
        "A kernel that one warp could do gets advice on its blocks.",
        _WASTED,
    ),
)

MUTANTS = (*WASTED, *DROPPED, *ORDERS, *RACES, *PLACES, *BOUNDS, *KERNELS, *OCCUPANCY)
