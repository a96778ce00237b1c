"""Bugs in stages that one thread of a GPU computes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_gpu_single_thread.py",)

SINGLE_THREADS = (
    Mutant(
        "threads-around-the-block",
        "LoopDirectives.gpu_single_thread",
        "self._kind(thread.name, thread.kind)._kind(block.name, block.kind)",
        "self._kind(block.name, block.kind)._kind(thread.name, thread.kind)",
        "The loop over one block lies inside that over its thread.",
        _TESTS,
    ),
    Mutant(
        "two-single-threads",
        "divide",
        "constant(1, Int32)",
        "constant(2, Int32)",
        "Two threads of two blocks each compute the whole stage.",
        _TESTS,
    ),
    Mutant(
        "no-iteration-visits-the-point",
        "witness",
        "{**point, **dict.fromkeys(order.once, _ZERO)}",
        "dict(point)",
        "It is not known which iteration of a loop over one thread visits a point.",
        _TESTS,
    ),
    Mutant(
        "rules-know-no-single-thread",
        "trace",
        "order.once",
        "()",
        "The rules take the loops around the one thread for loops that there are not.",
        _TESTS,
    ),
    Mutant(
        "rounds-of-a-single-thread",
        "exact_loops",
        "(*(r.name for r in stage.rvars), *order.once, *repeated_vars(stage))",
        "(*(r.name for r in stage.rvars), *repeated_vars(stage))",
        "A split of the loop over the one thread computes its stage again.",
        ("test_loops_without_dimension.py",),
    ),
    Mutant(
        "no-length-of-a-single-thread",
        "witness",
        "{**spans, **dict.fromkeys(order.once, (_ZERO, _ONE))}",
        "dict(spans)",
        "It is not known how often a loop over one thread runs where it is split.",
        ("test_loops_without_dimension.py",),
    ),
    Mutant(
        "single-threads-unwritten",
        "_Chain.arrange",
        "self.target.loops[:2] == SINGLE_THREAD and not self.order.once",
        "False",
        "The text of a schedule does not say that one thread computes a stage.",
        _TESTS,
    ),
)
