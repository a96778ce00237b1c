"""Several objectives: what is noted of trials, and which of them no other one beats."""

from __future__ import annotations

import logging
import math
import random
import sqlite3
from pathlib import Path

import pytest

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.writing.text import parse_schedule
from spaces.tuning.damage import find_damage
from spaces.tuning.pareto import pareto_trials
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.schema import StoreError
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial
from tests.enumerate.pipelines import blur
from tests.tuning.fakes import SPACE
from tests.tuning.test_store import ROWS, key

PIPE = blur()
NAMES = ("memory_bytes", "code_bytes")


def told(store: TuningStore, numbers: list[tuple[float, ...]]) -> list[Trial]:
    """A study with a trial for each (ratio, memory, code size)."""
    study = store.open_study(key(), ROWS)
    texts = [f"blur_y.split(x, x, xi, {place + 2})" for place in range(len(numbers))]
    added = store.propose(study, PIPE, [Proposal(parse_schedule(t, PIPE), "test") for t in texts])
    for trial, (ratio, *metrics) in zip(added, numbers, strict=True):
        noted = tuple(zip(NAMES, metrics, strict=False))
        runs = ((ratio,) * 3, (1.0,) * 3)
        result = Measurement(trial.schedule, RunOutcome.CORRECT, "", *runs, metrics=noted)
        store.tell(study, trial.number, result)
    return store.trials(study)


def is_beaten(row: tuple[float, ...], rows: list[tuple[float, ...]]) -> bool:
    """By the definition: another one is nowhere worse and somewhere better."""
    return any(
        all(a <= b for a, b in zip(other, row, strict=True)) and other != row for other in rows
    )


def test_no_other_trial_beats_those_of_the_front() -> None:
    """With values that are often equal, and some equal rows."""
    chosen = random.Random(4)
    rows = [
        (1.0 + chosen.randrange(6), float(chosen.randrange(9)), float(chosen.randrange(9)))
        for _ in range(30)
    ]
    rows += rows[:15]
    with TuningStore.open(":memory:") as store:
        told(store, rows)
        found = [one.number for one in pareto_trials(store, 1)]
        expected = {n for n, row in enumerate(rows) if not is_beaten(row, rows)}
        assert set(found) == expected
        assert len(found) == len(expected) > 3
        assert [rows[n] for n in found] == sorted(rows[n] for n in found)
        by_code = [one.number for one in pareto_trials(store, 1, ("code_bytes", "time"))]
        pairs = [(code, ratio) for ratio, _, code in rows]
        assert set(by_code) == {n for n, row in enumerate(pairs) if not is_beaten(row, pairs)}
        assert [pairs[n] for n in by_code] == sorted(pairs[n] for n in by_code)


def test_metrics_are_kept_and_what_lacks_one_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with TuningStore.open(path) as store:
        told(store, [(1.0, 5.0, 2.0), (2.0, 1.0, math.nan), (3.0, 4.0, 1.0)])
    with TuningStore.open(path) as store:
        trials = store.trials(1)
        assert [one.result and one.result.metrics for one in trials] == [
            (("memory_bytes", 5.0), ("code_bytes", 2.0)), (("memory_bytes", 1.0),),
            (("memory_bytes", 4.0), ("code_bytes", 1.0)),
        ]  # fmt: skip
        assert [one.number for one in pareto_trials(store, 1)] == [0, 2]
        assert [one.number for one in pareto_trials(store, 1, ("time", "memory_bytes"))] == [0, 1]
        with pytest.raises(ValueError, match=r"'joules'; objectives are code_bytes, memory_b"):
            pareto_trials(store, 1, ("joules",))
        with pytest.raises(ValueError, match="at least one objective"):
            pareto_trials(store, 1, ())
        with pytest.raises(StoreError, match="no study 2"):
            pareto_trials(store, 2)


def test_users_note_numbers_of_their_own() -> None:
    with (
        TuningStore.open(":memory:") as store,
        Study.open(
            store, SPACE, strategy=RandomTrials(size=4), reference=ROWS, searching=0.0
        ) as study,
    ):
        (first,) = study.ask(1)
        with pytest.raises(ValueError, match="of trials with a result"):
            study.note(first, "joules", 1.0)
        trials = []
        for joules in (3.0, 2.0):
            (asked,) = study.ask(1)
            runs = ((4.0 - joules,) * 3, (1.0,) * 3)
            trial = study.tell(asked, Measurement(asked.schedule, RunOutcome.CORRECT, "", *runs))
            trials.append(study.note(trial, "joules", joules))
        for name, value in (("joules", math.inf), ("time", 1.0)):
            with pytest.raises(ValueError, match="note finite numbers"):
                study.note(trials[0], name, value)
        assert study.pareto("time", "joules") == trials
        again = study.note(trials[1], "joules", 9.0)
        assert study.pareto("time", "joules") == trials[:1]
        assert store.trials(study.id)[again.number] == again
        assert again.result is not None
        assert again.result.metric("joules") == 9.0


def test_damaged_metrics_cost_their_trial(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "s.sqlite"
    with TuningStore.open(path) as store:
        told(store, [(1.0, 5.0, 2.0), (2.0, 1.0, 7.0)])
    for text in ("{", "[1]", '{"code_bytes": "many"}'):
        with sqlite3.connect(path) as plain:
            plain.execute("UPDATE trials SET metrics = ? WHERE number = 0", (text,))
        with TuningStore.open(path) as store, caplog.at_level(logging.WARNING, "spaces.tuning"):
            assert [one.number for one in pareto_trials(store, 1)] == [1]
            assert [one.number for one in store.trials(1)] == [1]
            assert [str(one)[:11] for one in find_damage(store)] == ["trials 1.0:"]
    assert "leaves out trial 0 of study 1" in caplog.text
