"""Bugs in measuring and tuning."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROUNDS = ("test_rounds.py",)
_STUDY = ("tuning/test_study.py",)

TUNING = (
    Mutant(
        "ratios-to-another-round",
        "timed_in_rounds",
        "found.reference[key].append(beside)",
        "found.reference[key].insert(0, beside)",
        "A time is divided by the reference's time of another round.",
        _ROUNDS,
    ),
    Mutant(
        "the-slowest-survive",
        "Rungs.survivors",
        "sorted(middles, key=lambda key: middles[key])",
        "sorted(middles, key=lambda key: -middles[key])",
        "Hopeless candidates are timed on, and the fastest left out.",
        _ROUNDS,
    ),
    Mutant(
        "generations-before-results",
        "Study.ask",
        "not waiting",
        "len(waiting) < count",
        "A generation is proposed before all results of the last one are known.",
        _STUDY,
    ),
    Mutant(
        "results-without-runs",
        "TuningStore.tell",
        "enumerate(pairs)",
        "enumerate(())",
        "The store keeps no time of a run.",
        ("tuning/test_store.py",),
    ),
    Mutant(
        "killed-processes-run",
        "_beginning",
        "state in 'ZX'",
        "state in 'X'",
        "A killed process that nobody waited for keeps its study.",
        ("tuning/test_runner.py",),
    ),
    Mutant(
        "wrong-results-count",
        "Bench._checked",
        "RunAnswer(RunOutcome.WRONG, wrong)",
        "RunAnswer()",
        "A candidate with wrong results gets times.",
        ("measuring/test_local.py",),
    ),
    Mutant(
        "few-lucky-runs-win",
        "fastest",
        "one.result.interval[1]",
        "one.result.interval[0]",
        "The trial with the lowest single ratio counts as the fastest.",
        ("tuning/test_trial.py",),
    ),
    Mutant(
        "unfinished-requests-stay",
        "LocalMeasurer.measure",
        "self.close()",
        "None",
        "After an interrupt the next measurement reads answers of the last one.",
        ("measuring/test_local.py",),
    ),
    Mutant(
        "workers-compile-in-turn",
        "built_in_turns",
        "waits.append(session.begin(key, schedule))",
        "waits.append(lambda answer=session.begin(key, schedule)(): answer)",
        "A worker compiles only after the one before it has.",
        ("measuring/test_session.py",),
    ),
)
