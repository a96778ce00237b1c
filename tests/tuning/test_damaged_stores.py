"""Stores that are damaged, read-only, full or gone: what still reads, and what is said."""

from __future__ import annotations

import logging
import math
import os
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.writing.text import parse_schedule
from spaces.tuning import store_connections
from spaces.tuning.damage import find_damage
from spaces.tuning.leases import renew_lease
from spaces.tuning.runner import LEASE, Runner
from spaces.tuning.schema import APPLICATION_ID, MIGRATIONS, StoreError
from spaces.tuning.store import TuningStore
from spaces.tuning.trial import Proposal
from spaces.tuning.trial_log import TrialLog
from tests.enumerate.pipelines import blur
from tests.tuning.test_store import ROWS, key

TEXTS = tuple(f"blur_y.split(y, y, yi, {factor})" for factor in (2, 4, 8, 16, 32))
SCHEDULES = tuple(parse_schedule(text, blur()) for text in TEXTS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a study of five trials, four of them with times, the first the slowest."""
    path = tmp_path / "folder" / "tuning.sqlite"
    with TuningStore.open(path) as store:
        study = store.open_study(key(), ROWS)
        store.propose(study, blur(), [Proposal(one, "test", 1.5) for one in SCHEDULES])
        for number, schedule in enumerate(SCHEDULES[:4]):
            times = tuple(10.0 - number + place / 8 for place in range(6))
            store.tell(
                study, number, Measurement(schedule, RunOutcome.CORRECT, "", times, (2.0,) * 6, 0.5)
            )
    return path


def changed(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as plain:
        plain.execute(statement)


def numbers(path: Path) -> tuple[list[int], list[int]]:
    """The trials of the study, and the fastest."""
    with TuningStore.read(path) as store:
        trials = [one.number for one in store.trials(1)]
        return trials, [one.number for one in store.fastest(1)]


@pytest.mark.parametrize(
    ("statement", "table", "row", "why"),
    [
        ("UPDATE trials SET outcome = 'fine' WHERE number = 3", "trials", "1.3", "is 'fine'"),
        ("UPDATE trials SET predicted = 'x' WHERE number = 3", "trials", "1.3", "cost is 'x'"),
        ("UPDATE trials SET compile_seconds = 'x' WHERE number = 3", "trials", "1.3", "compiling"),
        ("UPDATE runs SET seconds = -1 WHERE trial = 3 AND round = 2", "runs", "1.3.2", "-1.0 sec"),
        ("UPDATE runs SET seconds = 'x' WHERE trial = 3 AND round = 2", "runs", "1.3.2", "'x'"),
    ],
)
def test_a_damaged_row_costs_its_trial_and_is_named(
    path: Path, statement: str, table: str, row: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    changed(path, statement)
    with caplog.at_level(logging.WARNING, "spaces.tuning"):
        assert numbers(path) == ([0, 1, 2, 4], [2, 1, 0])
    assert f"{path} leaves out trial 3 of study 1, which is damaged: " in caplog.text
    with TuningStore.read(path) as store:
        (damage,) = find_damage(store)
    assert (damage.table, damage.row) == (table, row)
    assert why in damage.why


def test_a_damaged_schedule_is_read_from_its_directives(path: Path) -> None:
    at = "WHERE digest = (SELECT schedule FROM trials WHERE number = 3)"
    for document in "'{'", "CAST(x'ff00ff' AS TEXT)", '\'{"is": "Pipeline"}\'':
        changed(path, f"UPDATE schedules SET document = {document} {at}")
        assert numbers(path) == ([0, 1, 2, 3, 4], [3, 2, 1, 0])
        with TuningStore.read(path) as store:
            assert store.trials(1)[3].schedule == SCHEDULES[3]
            assert [damage.table for damage in find_damage(store)] == ["schedules"]
    changed(path, f"UPDATE schedules SET text = 'blur_y.splat(y)' {at}")
    assert numbers(path) == ([0, 1, 2, 4], [2, 1, 0])


def test_a_schedule_that_is_another_one_is_named(path: Path) -> None:
    changed(
        path,
        "UPDATE schedules SET document = (SELECT document FROM schedules WHERE digest = (SELECT "
        "schedule FROM trials WHERE number = 0)) WHERE digest = (SELECT schedule FROM trials WHERE "
        "number = 3)",
    )
    with TuningStore.read(path) as store:
        (damage,) = find_damage(store)
    assert damage.why == "it is another schedule than its digest says"


def test_a_damaged_study_does_not_hide_others(path: Path) -> None:
    with TuningStore.open(path) as store:
        assert find_damage(store) == []
        store.open_study(key(seed=1), ROWS)
    changed(path, "UPDATE studies SET sizes = '[' WHERE id = 1")
    with TuningStore.open(path) as store:
        assert [line.id for line in store.studies()] == [2]
        assert [str(one)[:10] for one in find_damage(store)] == ["studies 1:"]
        with pytest.raises(StoreError, match=rf"{path} is damaged: the pipeline of study 1: "):
            store.pipeline_of(1)


def test_damaged_pages_are_told_with_the_file(path: Path) -> None:
    with sqlite3.connect(path) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = plain.execute("SELECT rootpage FROM sqlite_master WHERE name = 'runs'").fetchone()
        (size,) = plain.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xee" * size)
    with TuningStore.open(path) as store:
        (line,) = store.studies()
        assert (line.trials, line.told) == (5, 4)
        with pytest.raises(StoreError, match=rf"^{path} is damaged: .* spaces studies --check"):
            store.trials(1)
        assert {one.table for one in find_damage(store)} == {"file"}


def test_a_study_with_a_damaged_trial_goes_on(path: Path) -> None:
    changed(path, "UPDATE trials SET outcome = 'fine' WHERE number = 3")
    with TuningStore.open(path) as store:
        log = TrialLog(store, 1)
        assert [one.number for one in log.open()] == [4]
        assert log.best is not None
        assert log.best.number == 2
        again = [Proposal(SCHEDULES[3], "test"), Proposal(parse_schedule("", blur()), "test")]
        (added,) = store.propose(1, blur(), again)
        assert added.number == 5


@pytest.mark.parametrize("has_log", [False, True])
def test_stores_that_cannot_be_written_are_read(
    path: Path, has_log: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with results that are still in the log."""
    writer = TuningStore.open(path)
    if has_log:
        writer.tell(1, 4, Measurement(SCHEDULES[4], RunOutcome.WRONG, "1 value differs."))
    else:
        writer.close()
    monkeypatch.setattr(os, "access", lambda *_: False)
    before = sorted(os.listdir(path.parent))
    with TuningStore.read(path) as store:
        assert [one.number for one in store.trials(1)] == [0, 1, 2, 3, 4]
        assert (store.trials(1)[4].result is not None) is has_log
        assert len(store.studies()) == 1
        if not has_log:
            with pytest.raises(StoreError, match=rf"{path} cannot be written: the file or its fo"):
                store.propose(1, blur(), [Proposal(parse_schedule("", blur()), "test")])
    assert sorted(os.listdir(path.parent)) == before
    writer.close()


def of_version(path: Path, version: int) -> None:
    """Makes a file of an older version."""
    with sqlite3.connect(path) as plain:
        for script in MIGRATIONS[:version]:
            plain.executescript(script)
        plain.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        plain.execute(f"PRAGMA user_version = {version}")


def moved_to_old(path: Path) -> Path:
    """The same results in a file of the version without summaries."""
    old = path.with_name("old.sqlite")
    of_version(old, 2)
    with sqlite3.connect(old) as plain:
        plain.execute(f"ATTACH '{path}' AS new")
        for table in "pipelines", "machines", "schedules", "studies", "trials", "runs":
            names = ", ".join(row[1] for row in plain.execute(f"PRAGMA main.table_info({table})"))
            plain.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
    return old


@pytest.mark.parametrize("is_writable", [True, False])
def test_files_of_the_version_before_get_summaries(
    path: Path, is_writable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, if they cannot be written."""
    old = moved_to_old(path)
    if not is_writable:
        monkeypatch.setattr(os, "access", lambda *_: False)
    assert numbers(old) == ([0, 1, 2, 3, 4], [3, 2, 1, 0])
    with TuningStore.read(old) as store:
        assert store.reference_seconds(1) == 2.0
        (line,) = store.studies()
        assert (line.trials, line.told, line.correct, line.best) == (5, 4, 4, 3.65625)
    with sqlite3.connect(old) as plain:
        assert plain.execute("PRAGMA user_version").fetchone() == (
            len(MIGRATIONS) if is_writable else 2,
        )


def test_a_full_disk_gets_a_sentence_and_results_stay(path: Path) -> None:
    with TuningStore.open(path) as store:
        (pages,) = store.rows("PRAGMA page_count")[0]
        store.rows(f"PRAGMA max_page_count = {pages}")
        many = [parse_schedule(f"blur_y.split(x, x, xi, {n})", blur()) for n in range(2, 80)]
        with pytest.raises(StoreError, match=rf"^{path} cannot be written: the disk is full\."):
            store.propose(1, blur(), [Proposal(one, "test") for one in many])
        assert len(store.trials(1)) == 5
    assert numbers(path)[0] == [0, 1, 2, 3, 4]


def test_a_file_that_is_removed_takes_no_results(path: Path, monkeypatch) -> None:
    monkeypatch.chdir(path.parent)
    with TuningStore.open(path.name) as store:
        monkeypatch.chdir("/")
        store.propose(1, blur(), [])
        shutil.rmtree(path.parent)
        with pytest.raises(StoreError, match=r"^tuning\.sqlite is gone: somebody removed"):
            store.tell(1, 4, Measurement(SCHEDULES[4], RunOutcome.WRONG, "1 value differs."))


def test_a_folder_that_cannot_be_made_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"The folder of .*s\.sqlite cannot be made: "):
        TuningStore.open(tmp_path / "file" / "folder" / "s.sqlite")


def test_a_store_that_is_locked_gets_a_sentence(path: Path, monkeypatch) -> None:
    monkeypatch.setattr(store_connections, "WAITING", 0.01)
    with TuningStore.open(path) as store, sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"Another process has been writing .*tuning\.sqlite"):
            store.propose(1, blur(), [])


@pytest.mark.parametrize("bad", [math.nan, -1.0, 0.0, math.inf])
@pytest.mark.parametrize("is_reference", [False, True])
def test_times_that_are_none_fail_their_trial(path: Path, bad: float, is_reference: bool) -> None:
    times = ((1.0, 1.0), (1.0, bad)) if is_reference else ((1.0, bad), (1.0, 1.0))
    with TuningStore.open(path) as store:
        told = store.tell(1, 4, Measurement(SCHEDULES[4], RunOutcome.CORRECT, "", *times))
        assert told == store.trials(1)[4].result
    assert told.outcome is RunOutcome.REFUSED
    assert told.reason == (
        f"The measurer gave {bad} s as a time; a time is more than zero and finite."
    )


def test_reasons_that_are_no_text_are_kept_as_escapes(path: Path) -> None:
    with TuningStore.open(path) as store:
        store.tell(1, 4, Measurement(SCHEDULES[4], RunOutcome.CRASHED, "odd \ud800\0\x1b[2J"))
        result = store.trials(1)[4].result
    assert result is not None
    assert result.reason == "odd \\ud800\0\x1b[2J"


def runner_and_renewal(path: Path) -> tuple[object, object]:
    with sqlite3.connect(path) as plain:
        row: tuple[object, object] = plain.execute("SELECT runner, renewed FROM studies").fetchone()
        return row


def test_a_lease_is_taken_renewed_and_given_back(path: Path) -> None:
    me = Runner.this_process()
    with TuningStore.open(path) as store:
        assert store.claim_study(1) is None
        text, first = runner_and_renewal(path)
        assert text == me.text
        assert isinstance(first, float)
        assert abs(first - time.time()) < 60
        renew_lease(str(path), 1, me)
        assert runner_and_renewal(path)[1] > first  # type: ignore[operator]
        store.release_study(1)
        assert runner_and_renewal(path) == (None, None)
        renew_lease(str(path), 1, me)
        assert runner_and_renewal(path) == (None, None)


def test_a_host_that_is_gone_does_not_keep_a_study(path: Path) -> None:
    gone = Runner("container-1", 1, "1", "elsewhere")
    with TuningStore.open(path) as store:
        for renewed, is_free in ((time.time(), False), (time.time() - 2 * LEASE, True)):
            changed(path, f"UPDATE studies SET runner = '{gone.text}', renewed = {renewed}")
            found = store.claim_study(1)
            assert found == (None if is_free else gone)


def test_who_lost_a_study_keeps_out(path: Path) -> None:
    other = Runner("container-1", 1, "1", "elsewhere")
    with TuningStore.open(path) as store:
        store.claim_study(1)
        changed(path, f"UPDATE studies SET runner = '{other.text}', renewed = {time.time()}")
        with pytest.raises(StoreError, match="process 1 on container-1 tunes study 1 of "):
            store.tell(1, 4, Measurement(SCHEDULES[4], RunOutcome.WRONG, "1 value differs."))
        with pytest.raises(StoreError, match="took the study over"):
            store.propose(1, blur(), [])
        store.release_study(1)
    assert runner_and_renewal(path)[0] == other.text
