"""Bugs in stages that one thread of a GPU computes."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/cuda/test_gpu_single_thread.py",)

SINGLE_THREADS = (
    Mutant(
        "threads-around-the-block",
        "spaces/model/directives/loop_directives.py",
        "return self._kind(thread.name, thread.kind)._kind(block.name, block.kind)",
        "return self._kind(block.name, block.kind)._kind(thread.name, thread.kind)",
        "The loop over one block lies inside that over its thread.",
        _TESTS,
    ),
    Mutant(
        "two-single-threads",
        "spaces/model/nest/splits.py",
        "ranges[single] = (constant(0, Int32), constant(1, Int32))",
        "ranges[single] = (constant(0, Int32), constant(2, Int32))",
        "Two threads of two blocks each compute the whole stage.",
        _TESTS,
    ),
    Mutant(
        "no-iteration-visits-the-point",
        "spaces/constraints/proofs/witness.py",
        "{**point, **dict.fromkeys(order.once, _ZERO)}",
        "dict(point)",
        "It is not known which iteration of a loop over one thread visits a point.",
        _TESTS,
    ),
    Mutant(
        "rules-know-no-single-thread",
        "spaces/constraints/orders.py",
        "return _Tracer(stage, ordered, order.once).run(order)",
        "return _Tracer(stage, ordered, ()).run(order)",
        "The rules take the loops around the one thread for loops that there are not.",
        _TESTS,
    ),
    Mutant(
        "rounds-of-a-single-thread",
        "spaces/model/nest/splits.py",
        "*order.once, *repeated_vars(stage)",
        "*repeated_vars(stage)",
        "A split of the loop over the one thread computes its stage again.",
        ("tests/gate/test_loops_without_dimension.py",),
    ),
    Mutant(
        "no-length-of-a-single-thread",
        "spaces/constraints/proofs/witness.py",
        "spans = {**spans, **dict.fromkeys(order.once, (_ZERO, _ONE))}",
        "spans = dict(spans)",
        "It is not known how often a loop over one thread runs where it is split.",
        ("tests/gate/test_loops_without_dimension.py",),
    ),
    Mutant(
        "single-threads-unwritten",
        "spaces/model/writing/order_calls.py",
        "if self.target.loops[:2] == SINGLE_THREAD and not self.order.once:",
        "if False:",
        "The text of a schedule does not say that one thread computes a stage.",
        _TESTS,
    ),
)
