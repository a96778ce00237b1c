"""Bugs in what searches go by: prices of equal nests, what a thread keeps, patterns for a GPU."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

COSTS = (
    Mutant(
        "guards-of-made-loops-skip-nothing",
        "extraction:_undo",
        "step.tail in GUARDED",
        "step.tail in GUARDED and step.dimension",
        "A guard along a loop that a split or fuse made skips no evaluations.",
        ("features/test_counts.py",),
    ),
    Mutant(
        "tiles-have-names",
        "loop_overhead:_is_tile",
        "one.trips > 1",
        '(one.trips > 1) & (loop.loop < "b")',
        "Whether a loop is a tile depends on its name.",
        ("cost/test_equal_nests.py",),
    ),
    Mutant(
        "loops-move-no-index",
        "ThreadCode.in_memory",
        "where(self.moved_by_loops[func], 1, spilled)",
        "spilled",
        "An array with an index that a loop moves is in registers.",
        ("test_thread_code.py",),
    ),
    Mutant(
        "compilers-are-not-heard",
        "OccupancyModel._registers",
        "maximum(code.registers, self.registers_per_thread) if known is None else known",
        "maximum(code.registers, self.registers_per_thread)",
        "Costs do not change with the registers that a compiler counts.",
        ("tuning/test_compiler_ranking.py",),
    ),
    Mutant(
        "boxes-lose-a-dimension",
        "thread_boxes",
        "build.fuse((used[2], *others)) if others else used[2]",
        "used[2]",
        "A pattern forgets the dimensions beside its three.",
        ("test_gpu_patterns.py",),
    ),
)
