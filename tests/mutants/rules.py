"""Bugs in the rules: left out, inverted, or off by one."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_EXAMPLES = (
    "tests/constraints/test_rules.py",
    "tests/constraints/test_verify.py",
    "tests/constraints/test_boundaries.py",
)
_BOUNDARY = (*_EXAMPLES, "tests/constraints/test_readings.py", "tests/constraints/test_lattice.py")
_RACES = (
    "tests/constraints/test_hazards.py",
    "tests/constraints/test_orders.py",
    "tests/constraints/test_soundness.py",
    *_EXAMPLES,
)
_KERNELS = (
    *_EXAMPLES,
    "tests/constraints/test_upper.py",
    "tests/constraints/test_encode.py",
    "tests/backend/cuda/test_gpu_random.py",
)
_FOLDER = "spaces/constraints/rules"

DROPPED = (
    Mutant(
        "no-rules-of-storage",
        f"{_FOLDER}/catalogue.py",
        "    *storage.RULES,\n",
        "",
        "The rules of a whole file are not asked.",
        _EXAMPLES,
    ),
    Mutant(
        "last-nest-rule-not-asked",
        "spaces/constraints/judge.py",
        "for rule in NEST_RULES:",
        "for rule in NEST_RULES[:-1]:",
        "The last rule about loop nests is never asked.",
        _EXAMPLES,
    ),
    Mutant(
        "only-the-first-func",
        "spaces/constraints/judge.py",
        "for function in records.pipeline.functions:\n        yield from ask_own",
        "for function in records.pipeline.functions[:1]:\n        yield from ask_own",
        "The rules about records are asked for one Func.",
        _EXAMPLES,
    ),
    Mutant(
        "requirements-forgotten",
        "spaces/constraints/judge.py",
        "elif variables(item.check.holds):",
        "elif variables(item.check.holds) and not sizes:",
        "What holds at the estimated sizes is not required of other sizes.",
        _EXAMPLES,
    ),
)

ORDERS = (
    Mutant(
        "factor-of-zero",
        f"{_FOLDER}/domain_order.py",
        "1 <= factor <= ",
        "0 <= factor <= ",
        "A split by zero is legal.",
        _EXAMPLES,
    ),
    Mutant(
        "tails-of-updates-unchecked",
        f"{_FOLDER}/domain_order.py",
        "is_update=index > 0)\n",
        "is_update=False)\n",
        "Splits of pure Vars in update stages may shift inwards.",
        _RACES,
    ),
    Mutant(
        "fused-rvars-are-no-rvars",
        f"{_FOLDER}/domain_order.py",
        "for kept in (exact, inside):",
        "for kept in (inside,):",
        "A loop fused of RVars may be split with any tail.",
        _RACES,
    ),
    Mutant(
        "split-swaps-the-order",
        "spaces/constraints/orders.py",
        "= [record.outer, record.inner]",
        "= [record.inner, record.outer]",
        "The inner loop of a split is taken to be the outer one.",
        _RACES,
    ),
    Mutant(
        "fuse-in-any-order",
        "spaces/constraints/orders.py",
        "len(places) == 2 and places[0] != places[1] + 1",
        "len(places) == 2 and places[0] == places[1]",
        "Loops whose order matters may be fused the wrong way round.",
        _RACES,
    ),
    Mutant(
        "fused-order-begins-late",
        "spaces/constraints/orders.py",
        "self.sequence[min(places)] = record.fused",
        "self.sequence[max(places)] = record.fused",
        "A fused loop takes the place of the inner one.",
        _RACES,
    ),
)

RACES = (
    Mutant(
        "own-reads-never-race",
        "spaces/constraints/hazards.py",
        "name is not None and all(read.args[d] is arg for read in own)",
        "name is not None",
        "Only writes are compared with writes: what an update reads of itself is not looked at.",
        _RACES,
    ),
    Mutant(
        "sums-of-two-dimensions",
        "spaces/constraints/hazards.py",
        "if len(terms) != 1 or len(terms[0]) != 1:",
        "if not terms or len(terms[0]) != 1:",
        "f(x + y) is taken to be another element for each x.",
        _RACES,
    ),
    Mutant(
        "float-sums-in-any-order",
        "spaces/constraints/hazards.py",
        "inexact = value.type.is_float and value.name not in _EXACT_ON_FLOATS",
        "inexact = False",
        "Float sums are taken to be associative.",
        _RACES,
    ),
    Mutant(
        "differences-commute",
        "spaces/constraints/hazards.py",
        'pairs = [(left, right)] if value.name == "sub" else',
        "pairs =",
        "a - f(x) may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "operand-may-read-itself",
        "spaces/constraints/hazards.py",
        "and not _reads(function, operand, *stage.args)",
        "and not _reads(function, *stage.args)",
        "f(x) + f(x) * e may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "place-may-read-itself",
        "spaces/constraints/hazards.py",
        "and not _reads(function, operand, *stage.args)",
        "and not _reads(function, operand)",
        "A sum whose place depends on the Func itself may be computed in any order.",
        _RACES,
    ),
    Mutant(
        "lanes-share-elements",
        f"{_FOLDER}/domain_order.py",
        '    LoopKind.VECTORIZED: "as vector lanes",\n',
        "",
        "Vector lanes may update the same element.",
        _RACES,
    ),
    Mutant(
        "threads-share-elements",
        f"{_FOLDER}/domain_order.py",
        '    LoopKind.GPU_THREAD: "as GPU threads",\n',
        "",
        "GPU threads may update the same element.",
        _RACES,
    ),
    Mutant(
        "storage-around-the-next-loop",
        f"{_FOLDER}/call_schedule.py",
        "enumerate(site[depth:], start=depth)",
        "enumerate(site[depth + 1 :], start=depth + 1)",
        "Of the loops between storage and computation the outermost may run at once.",
        _EXAMPLES,
    ),
    Mutant(
        "lanes-share-storage-of-others",
        f"{_FOLDER}/call_schedule.py",
        "    LoopKind.PARALLEL,\n    LoopKind.VECTORIZED,\n",
        "    LoopKind.PARALLEL,\n",
        "Vector lanes may share what is stored outside of them.",
        _EXAMPLES,
    ),
)

PLACES = (
    Mutant(
        "compute-level-inverted",
        f"{_FOLDER}/call_schedule.py",
        "records.site(func) is not None:",
        "records.site(func) is None:",
        "Levels that enclose every use are refused, and others accepted.",
        _EXAMPLES,
    ),
    Mutant(
        "copies-of-copies-not-counted",
        f"{_FOLDER}/inlining.py",
        "copies[call.target] += needed",
        "copies[call.target] += 1",
        "A Func that is read by one with many copies is there as often as it is read in one.",
        _EXAMPLES,
    ),
    Mutant(
        "inline-updates",
        f"{_FOLDER}/call_schedule.py",
        "if inline and not function.is_pure:",
        "if inline and function.is_pure:",
        "Pure Funcs may not be inlined, and others may.",
        _EXAMPLES,
    ),
    Mutant(
        "store-level-by-one",
        f"{_FOLDER}/records.py",
        "(i + 1 for i, place in enumerate(site)",
        "(i for i, place in enumerate(site)",
        "Storage is taken to lie one loop further out than it does.",
        (*_EXAMPLES, "tests/constraints/test_encode.py"),
    ),
    Mutant(
        "memory-at-the-compute-level",
        f"{_FOLDER}/storage.py",
        "kinds = set(records.kinds(site[:depth]))",
        "kinds = set(records.kinds(site))",
        "The kind of memory is judged where a Func is computed, not where it is stored.",
        _EXAMPLES,
    ),
    Mutant(
        "kernels-reach-the-stack",
        f"{_FOLDER}/storage.py",
        "if path is not None and LoopKind.GPU_BLOCK in records.kinds(path):",
        "if path is not None and LoopKind.GPU_THREAD not in records.kinds(path):",
        "A kernel may use the stack of a CPU thread.",
        _EXAMPLES,
    ),
    Mutant(
        "elements-are-bytes",
        f"{_FOLDER}/storage.py",
        "allocation_bytes(allocation) <= MAX_STACK_BYTES,",
        "allocation.elements <= MAX_STACK_BYTES,",
        "What is stored on the stack is counted in elements.",
        _BOUNDARY,
    ),
    Mutant(
        "fold-by-one-less",
        f"{_FOLDER}/storage.py",
        "factor_expr(fold.factor) >= least,",
        "factor_expr(fold.factor) >= least - 1,",
        "A fold factor may be one less than what is still to be read.",
        _BOUNDARY,
    ),
    Mutant(
        "lanes-below-the-limit",
        f"{_FOLDER}/loop_kinds.py",
        "count <= limit,",
        "count < limit,",
        "The widest vector that is compiled is refused.",
        _BOUNDARY,
    ),
    Mutant(
        "only-the-innermost-vector",
        f"{_FOLDER}/loop_kinds.py",
        "reduce(operator.mul, (loop.extent for loop in loops))",
        "loops[-1].extent",
        "Vectorized loops inside one another are judged one by one.",
        _BOUNDARY,
    ),
)

BOUNDS = (
    Mutant(
        "overrun-by-one",
        f"{_FOLDER}/bounds.py",
        'size_variable(buffer, "extent", d) - 1',
        'size_variable(buffer, "extent", d)',
        "What is computed or read may lie one element beyond the last.",
        _BOUNDARY,
    ),
    Mutant(
        "overrun-inverted",
        f"{_FOLDER}/bounds.py",
        "view.nest.simplify.at_most(interval.max, last)",
        "view.nest.simplify.at_most(last, interval.max)",
        "What certainly reaches beyond a buffer is taken to lie inside.",
        _BOUNDARY,
    ),
    Mutant(
        "tile-as-large-as-the-output",
        f"{_FOLDER}/bounds.py",
        "size - shift.factor >= _ZERO",
        "size - shift.factor > _ZERO",
        "An output that is as large as its tile is refused.",
        _BOUNDARY,
    ),
)

KERNELS = (
    Mutant(
        "blocks-after-threads",
        f"{_FOLDER}/gpu_structure.py",
        "kinds[i] is _THREAD and _BLOCK not in kinds[:i]",
        "kinds[i] is _THREAD and _BLOCK not in kinds",
        "A thread loop may lie outside its block loop.",
        _EXAMPLES,
    ),
    Mutant(
        "four-dimensions",
        f"{_FOLDER}/gpu_structure.py",
        "if len(loops) > 3:",
        "if len(loops) > 4:",
        "A grid may have four dimensions.",
        _EXAMPLES,
    ),
    Mutant(
        "outermost-of-the-threads",
        f"{_FOLDER}/gpu_structure.py",
        "place.loop != names[-1]",
        "place.loop != names[0]",
        "What is computed inside a kernel is so at the outermost of its loops.",
        _EXAMPLES,
    ),
    Mutant(
        "kernels-around-parallel",
        f"{_FOLDER}/gpu_structure.py",
        "LoopKind.PARALLEL in kinds[:first]",
        "LoopKind.PARALLEL in kinds[first:]",
        "Kernels may be launched from parallel loops.",
        _EXAMPLES,
    ),
    Mutant(
        "first-stage-decides-the-block",
        "spaces/constraints/kernels.py",
        "return fn.max(first, *others) if others else first",
        "return first",
        "A block has as many threads as its first stage, not its widest.",
        _KERNELS,
    ),
    Mutant(
        "grid-transposed",
        f"{_FOLDER}/gpu_resources.py",
        "(gpu.max_grid_blocks_x, gpu.max_grid_blocks_y, gpu.max_grid_blocks_z)",
        "(gpu.max_grid_blocks_y, gpu.max_grid_blocks_x, gpu.max_grid_blocks_z)",
        "The limits of a grid along x and y are swapped.",
        _BOUNDARY,
    ),
    Mutant(
        "shared-memory-without-units",
        f"{_FOLDER}/gpu_resources.py",
        "return (asked + (unit - 1)) / unit * unit",
        "return asked / unit * unit",
        "Shared memory is rounded down to whole units.",
        _BOUNDARY,
    ),
    Mutant(
        "reserve-forgotten",
        f"{_FOLDER}/gpu_resources.py",
        "asked = kernel.shared_bytes + gpu.reserved_shared_bytes_per_block",
        "asked = kernel.shared_bytes",
        "The driver's part of shared memory is not counted.",
        _BOUNDARY,
    ),
    Mutant(
        "registers-rounded-down",
        f"{_FOLDER}/gpu_resources.py",
        "(allocation_bytes(allocation) + 3) / 4",
        "allocation_bytes(allocation) / 4",
        "Values narrower than a register share one.",
        _BOUNDARY,
    ),
    Mutant(
        "private-counts-as-shared",
        "spaces/constraints/kernels.py",
        "LoopKind.GPU_THREAD in kinds else parts.shared",
        "LoopKind.GPU_BLOCK not in kinds else parts.shared",
        "What each thread stores for itself counts as shared.",
        _KERNELS,
    ),
)

OCCUPANCY = (
    Mutant(
        "registers-without-granularity",
        "spaces/constraints/occupancy.py",
        "(value + (unit - 1)) // unit",
        "value // unit",
        "Partly used units of a resource are not counted.",
        ("tests/constraints/test_occupancy.py",),
    ),
    Mutant(
        "occupancy-one-unit-more",
        "spaces/constraints/occupancy.py",
        "(value + (unit - 1)) // unit",
        "(value + unit) // unit",
        "A unit that is used up exactly counts twice.",
        ("tests/constraints/test_occupancy.py",),
    ),
    Mutant(
        "registers-of-a-whole-multiprocessor",
        "spaces/constraints/occupancy.py",
        "warps_per_part * device.sub_partitions_per_sm // positive(warps)",
        "device.registers_per_sm // positive(registers_per_warp * warps)",
        "Registers are taken to be one pool, not one for each sub-partition.",
        ("tests/constraints/test_occupancy.py",),
    ),
    Mutant(
        "occupancy-without-reserve",
        "spaces/constraints/occupancy.py",
        "_round_up(shared_bytes_per_block + reserve, ",
        "_round_up(shared_bytes_per_block, ",
        "The driver's part of shared memory is not counted.",
        ("tests/constraints/test_occupancy.py",),
    ),
)

MUTANTS = (*DROPPED, *ORDERS, *RACES, *PLACES, *BOUNDS, *KERNELS, *OCCUPANCY)
