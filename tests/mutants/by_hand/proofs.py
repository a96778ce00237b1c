"""Bugs in the solver's questions and answers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

PROOFS = (
    Mutant(
        "goal-not-negated",
        "question",
        "z3.Not(terms.condition(obligation.goal))",
        "terms.condition(obligation.goal)",
        "The solver is asked for an example, not for a counterexample.",
        ("test_decide.py", "test_refuted.py", "test_certificates.py", "test_proven.py"),
    ),
    Mutant(
        "unknown-is-proven",
        "Decider._solve",
        "refuted == z3.unsat",
        "refuted != z3.sat",
        "What the solver does not answer in time counts as proven.",
        ("test_decide.py", "test_refuted.py", "test_certificates.py", "test_proven.py"),
    ),
    Mutant(
        "windows-along-parallel-loops",
        "steps_back",
        "not loop.kind.is_concurrent",
        "not loop.kind.is_concurrent or loop.kind == 'parallel'",
        "What an earlier iteration of a parallel loop computed counts as there.",
        ("test_refuted.py", "test_proven.py", "test_prove.py"),
    ),
    Mutant(
        "threads-never-race",
        "races:races",
        "node.var.kind.is_concurrent",
        "node.var.kind.is_concurrent and node.var.kind != 'gpu_thread'",
        "Threads of a block are not asked about races.",
        ("test_refuted.py", "test_proven.py", "test_prove.py", "test_decide.py"),
    ),
    Mutant(
        "rounds-never-meet",
        "meetings",
        "enumerate(around)",
        "()",
        "What one round of a loop accesses is not held against the next round.",
        ("test_meetings.py", "test_barriers.py"),
    ),
    Mutant(
        "divergence-not-asked",
        "_Kernel._converged",
        """
        (
            *(equal(bound, other(bound)) for bound in bounds),
            *(_both_or_neither(c, other(c)) for c in conditions),
        )
        """,
        "(*(equal(bound, other(bound)) for bound in bounds),)",
        "A barrier that some threads miss is proven to be met by all.",
        ("test_meetings.py", "test_barriers.py"),
    ),
    Mutant(
        "any-certificate-is-accepted",
        "Recheck.accepted",
        'self.expected in (self.found, "unknown")',
        "bool(self.found)",
        "What a solver answers about a certificate is not compared with what it says.",
        ("test_certificates.py",),
    ),
    Mutant(
        "missing-values-are-right",
        "_compared",
        "found is None or not ...",
        "found is not None and not ...",
        "What was never computed counts as right.",
        ("replay/test_orders.py", "replay/test_replay.py"),
    ),
)
