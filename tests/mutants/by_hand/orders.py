"""Bugs in what may run in another order, or at once."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ABOUT_ORDERS = (
    "test_hazards.py",
    "dependences/test_orders.py",
    "test_soundness.py",
    "rules/test_examples.py",
    "test_verify.py",
    "sizes/test_kernels.py",
    "test_boundaries.py",
)
"""The tests that are asked about several of these bugs."""

ORDERS = (
    Mutant(
        "float-sums-in-any-order",
        "_is_commutative",
        "value.type.is_float and value.name not in _EXACT_ON_FLOATS",
        "False",
        "Float sums are taken to be associative.",
        ABOUT_ORDERS,
    ),
    Mutant(
        "lanes-share-elements",
        "_AT_ONCE",
        '{LoopKind.PARALLEL: "in parallel", LoopKind.VECTORIZED: "as vector lanes", **...}',
        '{LoopKind.PARALLEL: "in parallel", **...}',
        "Vector lanes may update the same element.",
        ABOUT_ORDERS,
    ),
    Mutant(
        "own-reads-never-race",
        "_Question.written_alike",
        "name is not None and all(read[d] is arg for read in self.reads)",
        "name is not None",
        "Only writes are compared with writes: what an update reads of itself is not looked at.",
        ("dependences/test_iterations.py", "test_hazards.py"),
    ),
    Mutant(
        "unknown-is-apart",
        "_TwoIterations._ask",
        "met == z3.unsat",
        "met != z3.sat",
        "Iterations that the solver cannot decide are said not to meet.",
        ("dependences/test_iterations.py", "test_hazards.py"),
    ),
    Mutant(
        "served-where-nothing-runs",
        "ReadBoxes._may_rest",
        "depth > len(placement.path) and bool(placement.stages[index].running)",
        "False",
        "What is computed inside fused loops is so for iterations that a stage does not have, too.",
        (
            "test_compute_with.py",
            "test_fused_chains.py",
            "test_updates_together.py",
            "test_inside_fused_loops.py",
        ),
    ),
    Mutant(
        "factored-beyond-the-end",
        "_partial",
        "(*beyond, *(rewrite(p, change) for p in stage.predicates))",
        "tuple(rewrite(p, change) for p in stage.predicates)",
        "The last tile of a split that does not divide is reduced in full.",
        ("test_derive.py", "test_rfactor.py"),
    ),
    Mutant(
        "stored-one-after-the-other",
        "Statements.statement",
        """
        for ready in [self.values.ready(store) for store in stores]:
            ready()
        """,
        """
        for store in stores:
            self.values.forget_memory()
            self.values.ready(store)()
        """,
        "A value of a Tuple is evaluated after the one before it was stored.",
        ("backend/test_tuples.py",),
    ),
)
