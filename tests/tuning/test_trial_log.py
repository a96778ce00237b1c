"""Logs of trials: they answer as a look through all trials would, and read little."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest
from attrs import evolve

from bench import large_store
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.writing.text import parse_schedule
from spaces.tuning import rows, stored_trials
from spaces.tuning.identity import schedule_digest
from spaces.tuning.store import TuningStore
from spaces.tuning.store_file import StoreFile
from spaces.tuning.study import Study
from spaces.tuning.trial import Proposal, Trial, fastest
from spaces.tuning.trial_log import TrialLog, sources_of, tried_digests
from tests.enumerate.pipelines import blur
from tests.tuning.test_store import ROWS, key

PIPE = blur()
SCHEDULES = [parse_schedule(f"blur_y.split(y, y, yi, {2 + factor})", PIPE) for factor in range(31)]


def result(trial: Trial, chosen: random.Random) -> Measurement:
    if chosen.random() < 0.2:
        return Measurement(trial.schedule, RunOutcome.CRASHED, "It ended with SIGSEGV.")
    times = tuple(chosen.choice((1.0, 1.5, 2.0)) for _ in range(6))
    return Measurement(trial.schedule, RunOutcome.CORRECT, "", times, (1.0,) * 6)


def proposals(first: int, last: int) -> list[Proposal]:
    return [
        Proposal(one, "odd" if place % 2 else "even", 100.0 - place)
        for place, one in enumerate(SCHEDULES[first:last], first)
    ]


def kept(path: Path, chosen: random.Random) -> int:
    """A study of ten open trials; the row of the trial with number 4 is damaged."""
    with TuningStore.open(path) as store:
        study = store.open_study(key(), ROWS)
        four = store.propose(study, PIPE, proposals(0, 10))[4]
        store.tell(study, 4, result(four, chosen))
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE trials SET outcome = 'fine' WHERE number = 4")
    return study


def test_answers_follow_each_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results come in any order, and may be replaced. The log keeps seven trials in memory."""
    monkeypatch.setattr("spaces.tuning.trial_log.KEPT", 7)
    monkeypatch.setattr("spaces.tuning.trial_log.PAGE", 3)
    monkeypatch.setattr(stored_trials, "ROWS", 4)
    chosen = random.Random(1)
    study = kept(tmp_path / "log.sqlite", chosen)
    with TuningStore.open(tmp_path / "log.sqlite") as store:
        log = TrialLog(store, study)
        log.add(store.propose(study, PIPE, proposals(10, 30)))
        known = {
            number: Trial(number, one) for number, one in enumerate(proposals(0, 30)) if number != 4
        }
        assert list(log) == list(known.values())
        order = [*known, *known]
        chosen.shuffle(order)
        for number in order:
            found = result(known[number], chosen)
            tell = store.tell if known[number].result is None else store.replace
            known[number] = log.tell(number, tell(study, number, found))
            assert log.of_number(number).result == found
            told = [one for one in known.values() if one.result is not None]
            assert log.told == len(told) + 1  # the damaged one, too
            assert list(log.ranked) == list(fastest(told))
            assert list(log.ranked[:3]) == list(fastest(told)[:3])
            assert log.best == next(iter(fastest(told)), None)
            waiting = [one for one in known.values() if one.result is None]
            assert list(log.open()) == waiting
            beyond = log.open_beyond({one.number for one in waiting[:2]}, 3)
            assert list(beyond) == waiting[2:5]
        assert list(log) == list(known.values())
        assert log[-1] == known[29]
        assert log[2:5] == (known[2], known[3])
        assert log[4] == known[5]
        assert len(log) == 30
        assert log.ranked[-1] == fastest(list(known.values()))[-1]
        assert log.of_source("odd") == tuple(known[n] for n in range(1, 30, 2))
        assert log.cheapest("even") == known[28]
        assert log.cheapest("nobody") is None
        assert sources_of(log) == {"odd", "even"} == sources_of(list(log))
        outcomes = [str(one.result.outcome) for one in known.values() if one.result] + ["fine"]
        assert store.outcomes(study) == {one: outcomes.count(one) for one in outcomes}
        for ask in (lambda: log.of_number(4), lambda: log.of_number(30)):
            with pytest.raises(KeyError):
                ask()
        with pytest.raises(IndexError):
            log[30]
        with pytest.raises(IndexError):
            log.ranked[30]


def test_trials_that_were_begun_are_told_apart() -> None:
    with TuningStore.open(":memory:") as store:
        study = store.open_study(key(), ROWS)
        store.propose(study, PIPE, proposals(0, 4))
        store.begin_trials(study, [0, 2])
        log = TrialLog(store, study)
        assert [one.number for one in log.open(wanted=lambda attempts: attempts == 0)] == [1, 3]
        log.put(evolve(log.of_number(1), attempts=2))
        assert [one.number for one in log.open(1, lambda attempts: attempts > 1)] == [1]
        assert [one.number for one in log.open(3)] == [0, 1, 2]


def test_a_log_knows_what_was_tried_also_where_a_row_is_damaged(tmp_path: Path) -> None:
    study = kept(tmp_path / "log.sqlite", random.Random(1))
    digests = [schedule_digest(PIPE, one) for one in SCHEDULES]
    with TuningStore.open(tmp_path / "log.sqlite") as store:
        tried = tried_digests(PIPE, TrialLog(store, study))
        assert [one in tried for one in digests] == [True] * 10 + [False] * 21
        tried.add(digests[20])
        assert digests[20] in tried
        assert not store.has_schedule(study, digests[20])
    first = [Trial(number, Proposal(one, "test")) for number, one in enumerate(SCHEDULES[:3])]
    tried = tried_digests(PIPE, first)
    assert [one in tried for one in digests[:4]] == [True] * 3 + [False]


def test_a_study_is_resumed_without_a_look_at_all_its_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening, asking and telling read fewer rows, and far fewer schedules, than there are
    trials.
    """
    trials = 240
    monkeypatch.setattr(large_store, "DISTINCT", 20)
    path = tmp_path / "large.sqlite"
    large_store.make(path, trials)
    read = {"rows": 0, "schedules": 0}
    rows_of, read_schedule = StoreFile.rows, rows.read_schedule

    def counting_rows(self: StoreFile, statement: str, *values: object) -> list[tuple[object, ...]]:
        found = rows_of(self, statement, *values)
        read["rows"] += len(found)
        return found

    def counting_schedules(*given):  # type: ignore[no-untyped-def]
        read["schedules"] += 1
        return read_schedule(*given)

    monkeypatch.setattr(StoreFile, "rows", counting_rows)
    monkeypatch.setattr(rows, "read_schedule", counting_schedules)
    chosen = random.Random(1)
    with TuningStore.open(path) as store, large_store._opened(store) as study:
        assert isinstance(study, Study)
        assert (len(study.trial_log), study.told) == (trials + 1, trials)
        assert read["rows"] < 60
        assert read["schedules"] <= 2
        for _ in range(2):
            (asked,) = study.ask(1)
            study.tell(asked, result(asked, chosen))
            assert study.best is not None
        assert read["rows"] < 160
        assert read["schedules"] <= 8
