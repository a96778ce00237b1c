"""Stores: files of other programs, later versions, and what they keep."""

from __future__ import annotations

import multiprocessing
import sqlite3
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from spaces.tuning.identity import pipeline_digest, schedule_digest, this_machine
from spaces.tuning.schema import MIGRATIONS, StoreError
from spaces.tuning.store import StudyKey, TuningStore
from spaces.tuning.trial import Proposal
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples
from tests.enumerate.pipelines import blur, chain

ROWS = parse_schedule("blur_x.compute_root()", blur())


def key(seed: int = 0, reference: Schedule | None = None) -> StudyKey:
    machine = this_machine(FOUR_CORES)
    return StudyKey(blur(), machine, "cpu", "a space", "reuse", "a strategy", seed, reference)


def test_files_of_others_are_not_touched(tmp_path: Path) -> None:
    text, other = tmp_path / "text", tmp_path / "other.sqlite"
    text.write_text("no database\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (a)")
    for path, said in (text, "file is not a database"), (other, "of another program"):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=said):
            TuningStore.open(path)
        assert path.read_bytes()[100:] == before[100:]  # the header counts openings


def test_later_versions_are_told(tmp_path: Path) -> None:
    path = tmp_path / "later.sqlite"
    TuningStore.open(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StoreError, match=f"reads versions up to {len(MIGRATIONS)}: use a newer"):
        TuningStore.open(path)


def test_folders_are_made_and_paths_that_cannot_be_files_told(tmp_path: Path) -> None:
    TuningStore.open(tmp_path / "new" / "folder" / "s.sqlite").close()
    with pytest.raises(StoreError, match="cannot be opened as a store"):
        TuningStore.open(tmp_path)


def test_a_study_begins_once() -> None:
    with TuningStore.open(":memory:") as store:
        assert store.find_study(key()) is None
        assert (
            store.open_study(key(), ROWS) == store.open_study(key(), Schedule.default(blur())) == 1
        )
        assert store.reference_of(1) == ROWS
        assert store.find_study(key()) == 1
        assert store.open_study(key(seed=1), ROWS) == 2
        assert store.open_study(key(reference=ROWS), ROWS) == 3
        assert store.similar_studies(blur(64, 64)) == [3, 2, 1]
        assert store.similar_studies(chain()) == []
        for asked in store.pipeline_of, store.reference_of:
            with pytest.raises(StoreError, match="has no study 9"):
                asked(9)


def test_names_of_loops_do_not_make_a_schedule_new() -> None:
    pipe = blur()
    one, same, other = (
        parse_schedule(f"blur_y.split(y, y, {inner}, {factor})", pipe)
        for inner, factor in (("yi", 8), ("rows", 8), ("yi", 16))
    )
    with TuningStore.open(":memory:") as store:
        study = store.open_study(key(), ROWS)
        added = store.propose(study, pipe, [Proposal(s, "test") for s in (one, same, other)])
        assert [trial.number for trial in added] == [0, 1]
        assert [trial.schedule for trial in store.trials(study)] == [one, other]


def test_all_runs_of_a_trial_are_kept() -> None:
    pipe = blur()
    schedule = parse_schedule("blur_x.compute_root()", pipe)
    result = Measurement(schedule, RunOutcome.CORRECT, "", (1.5, 2.5), (1.0, 2.0), 0.25)
    failed = Measurement(schedule, RunOutcome.WRONG, "3 values differ.")
    with TuningStore.open(":memory:") as store:
        study = store.open_study(key(), ROWS)
        proposals = [
            Proposal(schedule, "test", 12.5),
            Proposal(parse_schedule("blur_x.compute_at(blur_y, y)", pipe), "test"),
        ]
        store.propose(study, pipe, proposals)
        store.tell(study, 0, result)
        first, second = store.trials(study)
        assert first.result == result
        assert first.proposal == proposals[0]
        assert second.result is None
        store.tell(study, 1, failed)
        assert store.trials(study)[1].result is not None
        (line,) = store.studies()
        assert (line.trials, line.told, line.correct, line.best) == (2, 2, 1, 1.375)


def test_a_transaction_that_fails_leaves_nothing() -> None:
    pipe = blur()
    schedule = parse_schedule("blur_x.compute_root()", pipe)
    broken = Measurement(schedule, RunOutcome.CORRECT, "", (1.0,), ())
    with TuningStore.open(":memory:") as store:
        study = store.open_study(key(), ROWS)
        store.propose(study, pipe, [Proposal(schedule, "test")])
        with pytest.raises(ValueError, match="zip"):
            store.tell(study, 0, broken)
        assert store.trials(study)[0].result is None


def test_digests_say_what_is_the_same() -> None:
    assert pipeline_digest(blur()) == pipeline_digest(blur(64, 32))
    assert pipeline_digest(blur()) != pipeline_digest(chain())
    rows = parse_schedule("blur_x.compute_root()", blur())
    assert schedule_digest(blur(), rows) == schedule_digest(blur(64, 32), rows)
    assert this_machine(FOUR_CORES).fingerprint == this_machine(FOUR_CORES).fingerprint


def _opened_together(path: str, ready: Barrier) -> None:
    ready.wait()
    TuningStore.open(path).close()


def test_processes_may_make_a_store_at_once(tmp_path: Path) -> None:
    """SQLite does not wait for the lock under which a file learns to write ahead."""
    fork = multiprocessing.get_context("fork")
    for number in range(examples(12, fewest=5)):
        ready = fork.Barrier(6)
        path = str(tmp_path / f"{number}.sqlite")
        children = [fork.Process(target=_opened_together, args=(path, ready)) for _ in range(6)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 6
