"""Bugs in what searches for a GPU go by: what a thread keeps, and what a decision enlarges."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_THREADS = ("test_thread_code.py",)
_S20 = ("test_s20.py",)
_COMPILED = ("tuning/test_compiler_ranking.py",)
_LONG_TILES = ("test_long_tiles.py",)
_RECURRING = ("test_recurring.py",)
_IMPROVING = ("test_improving.py",)
_DOMINANCE = ("test_dominance.py",)
_GPU_PATTERNS = ("test_gpu_patterns.py",)

GPU_COSTS = (
    Mutant(
        "sums-need-no-registers",
        "ThreadCode.in_memory",
        "maximum(BASE + operands + self.kept - available, 0)",
        "0",
        "Threads of large blocks keep any number of sums in registers.",
        _THREADS,
    ),
    Mutant(
        "loops-move-no-index",
        "ThreadCode.in_memory",
        "where(self.moved_by_loops[func], 1, spilled)",
        "spilled",
        "An array with an index that a loop moves is in registers.",
        _THREADS,
    ),
    Mutant(
        "every-value-has-an-address",
        "thread_code:_count_distinct",
        "lines if dimension in row else lines * extent",
        "lines * extent",
        "Neighbors in a row need an address each.",
        _THREADS,
    ),
    Mutant(
        "registers-come-one-by-one",
        "registers_available",
        "each // per_warp * per_warp",
        "each",
        "Registers of a thread are not handed out in multiples of 8.",
        _THREADS,
    ),
    Mutant(
        "no-code-is-too-long",
        "OccupancyModel._fetch_cost",
        "executed * missing",
        "executed * 0",
        "Code that no cache holds costs nothing.",
        _THREADS,
    ),
    Mutant(
        "empty-lanes-work",
        "OccupancyModel._active_threads",
        "threads / maximum(-(-threads // warp) * warp, 1)",
        "1.0",
        "A partly filled warp does the work of a full one.",
        _S20,
    ),
    Mutant(
        "oversized-blocks-have-a-price",
        "in_kernels:fits",
        "kernel.threads <= device.max_threads_per_block",
        "True",
        "A block of any number of threads has a finite cost.",
        _S20,
    ),
    Mutant(
        "compilers-are-not-heard",
        "OccupancyModel._registers",
        "maximum(code.registers, self.registers_per_thread) if known is None else known",
        "maximum(code.registers, self.registers_per_thread)",
        "Costs do not change with the registers that a compiler counts.",
        _COMPILED,
    ),
    Mutant(
        "spills-do-not-count",
        "CompiledSchedule.rank",
        "self.spilled_bytes > 0",
        "False",
        "A schedule that spills is ranked by its cost alone.",
        _COMPILED,
    ),
    Mutant(
        "updates-never-reach-far",
        "relative_length_of_updates",
        "-(-extent // length) * length / extent",
        "1.0",
        "A search for a GPU lets whole tiles of updates enlarge all that they read.",
        _LONG_TILES,
    ),
    Mutant(
        "whatever-recurs-is-taken",
        "RecurringDecisions.is_plausible",
        "added <= _MUCH * self._dearest",
        "True",
        "A decision recurs for a reader whose tiles it does not fit.",
        _RECURRING,
    ),
    Mutant(
        "cheap-funcs-come-first",
        "DecidedSchedule.shuffle_edits",
        "ordered.sort(key=keys.__getitem__, reverse=True)",
        "ordered.sort(key=keys.__getitem__)",
        "A search changes first what costs nothing.",
        _IMPROVING,
    ),
    Mutant(
        "boxes-lose-a-dimension",
        "thread_boxes",
        "build.fuse((used[2], *others)) if others else used[2]",
        "used[2]",
        "A pattern forgets the dimensions beside its three.",
        _GPU_PATTERNS,
    ),
    Mutant(
        "threads-share-what-they-keep",
        "dominance:_is_in_thread",
        "loop.kind is LoopKind.GPU_THREAD",
        "False",
        "What a thread computes again with its reader is always inlined there.",
        _DOMINANCE,
    ),
    Mutant(
        "open-numbers-decide-alone",
        "WayPrices._judge_alone",
        "np.isfinite(cost)",
        "False",
        "A search leaves out what is legal with its numbers only.",
        _DOMINANCE,
    ),
)
