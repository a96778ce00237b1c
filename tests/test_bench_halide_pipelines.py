"""Pipelines of Halide on both sides and both ways: who runs, and what the table says."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench import halide_pipelines
from bench.halide_pipelines import (
    Candidates,
    Subject,
    _with_autoschedulers,
    autoscheduled_file,
    found_schedules,
    measured,
    subjects,
)
from bench.halide_table import (
    AUTOSCHEDULER,
    CONTENDERS,
    FIRST,
    FIRST_IN_HALIDE,
    GAIN,
    HALIDE,
    TUNED,
    table,
)
from bench.processes import ContenderFailed
from spaces import (
    Measurement,
    Options,
    RunOutcome,
    ScheduleSpace,
    Study,
    TuningStore,
    parse_schedule,
    read_hlpipe,
)
from spaces.apps.catalog import APPS
from tests.halide_programs.case import PROGRAMS
from tests.test_bench_hlpipe import serialized


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    (tmp_path / "theirs").mkdir()
    serialized(tmp_path / "theirs" / "two.hlpipe")
    ((name, write),) = subjects(tmp_path, tmp_path / "theirs")
    assert name == "two"
    return write()


@pytest.mark.usefixtures("quickly")
def test_each_contender_runs_its_schedule(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, plain = (read_hlpipe(file) for file in (subject.own, subject.plain))
    assert (own.scheduled, plain.scheduled) == (("rows",), ())
    schedules = {
        "first": parse_schedule("rows.compute_at(out, y).vectorize(x, 8)", plain.pipeline),
        "tuned": parse_schedule("out.prefetch(photo, y, y, 2)", plain.pipeline),
    }
    applied: list[object] = []
    before = halide_pipelines.Sized.halides

    def noted(sized, file, target, schedule=None):
        applied.append((file, schedule))
        return before(sized, file, target, schedule)

    monkeypatch.setattr(halide_pipelines.Sized, "halides", noted)
    by_halide = {"Li2018": autoscheduled_file(subject, "Li2018")}
    found = measured(subject, Candidates(schedules, by_halide), 0.1)
    assert applied == [
        (subject.own, None),
        (subject.plain, schedules["first"]),
        (subject.plain, schedules["tuned"]),
        (by_halide["Li2018"], None),
    ]
    assert read_hlpipe(by_halide["Li2018"]).scheduled
    assert set(found["ms"]) == {*CONTENDERS, "Li2018"} - {"tuned in Halide"}
    assert found["ms"][AUTOSCHEDULER] == found["ms"]["Li2018"]
    ours, theirs = (found["ms"][name] for name in (FIRST_IN_HALIDE, AUTOSCHEDULER))
    low, high = found[GAIN][1:]
    assert low * 0.5 <= theirs / ours <= high * 2
    assert "prefetches image photo" in found["refused"]["tuned in Halide"]
    assert all(low <= median <= high for median, low, high in found["ratios"].values())
    assert found["page_faults"].keys() == found["ms"].keys() - {AUTOSCHEDULER}


@pytest.mark.usefixtures("quickly")
def test_what_computes_something_else_is_refused(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = halide_pipelines.Sized.ours

    def wrong(sized, checked, float_mode):
        run = ours(sized, checked, float_mode)
        return lambda: {name: np.asarray(array) + 9 for name, array in run().items()}

    monkeypatch.setattr(halide_pipelines.Sized, "ours", wrong)
    found = measured(subject, Candidates(), 0.1)
    assert list(found["ms"]) == [HALIDE]
    assert "More than a hundredth is other than Halide's: 1 of out." in found["refused"]["same"]


def test_apps_and_programs_are_measured(tmp_path: Path) -> None:
    names = [name for name, _ in subjects(tmp_path, None)]
    assert names == [*APPS, *PROGRAMS]


def test_the_table_has_both_memories_and_means() -> None:
    def one(ratio: float, kept: float) -> dict[str, Any]:
        kinds = {"usual": ratio, "kept": kept}
        return {
            kind: {
                "ms": {HALIDE: 2.0, "same": 2.0 * r},
                "ratios": {"same": [r, r - 0.25, r + 0.25]},
                "page_faults": {HALIDE: 1200, "same": 3},
                "refused": {"first in Halide": "why"},
            }
            for kind, r in kinds.items()
        }

    gains = one(2.0, 4.0)
    gains["usual"][GAIN] = [1.5, 1.4, 1.6]
    gains["without"] = {"tuned": "no trial\nhas a time."}
    lines = table({"a": one(0.5, 1.0), "b": gains, "c": {"failed": "no"}}).splitlines()
    assert f"*same*: {CONTENDERS['same']}." in lines
    assert "| pipeline | Halide, ms | same | same, memory kept | page faults |" in lines
    assert "| a | 2 | 0.50 (0.25–0.75) | 1.00 (0.75–1.25) | 1,200 / 3 |" in lines
    assert "| c | no | | | |" in lines
    assert "| geometric mean | | 1.00 of 2 | 2.00 of 2 | |" in lines
    assert "- a, first in Halide: why" in lines
    assert "- b, tuned: no trial has a time." in lines
    same, first, same_kept, first_kept = lines[-4:]
    assert same.endswith("none above 1.05. It is 1.00 over 2 pipelines; 1 above: b.")
    assert first.endswith("slower nowhere. It is 1.50 over 1 pipeline.")
    assert same_kept.endswith("It is 2.00 over 2 pipelines; 1 above: b.")
    assert first_kept.endswith("Not measured.")


def test_a_run_goes_on_where_another_ended_and_survives_what_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("known", "fails", "new"):
        (tmp_path / f"{name}.hlpipe").write_bytes(b"")
    given = ["--folder", str(tmp_path), "--json", str(tmp_path / "found.json"), "--seconds", "6"]
    asked: list[str] = []

    def found(name, task, *arguments, seconds):
        asked.append(name)
        if name == "fails":
            raise KeyError("lost")
        return Candidates() if task is found_schedules else {}

    def written(folder, theirs):
        return ((f.stem, partial(Subject, "", f, f)) for f in sorted(theirs.glob("*.hlpipe")))

    monkeypatch.setattr(halide_pipelines, "_alone", found)
    monkeypatch.setattr(halide_pipelines, "subjects", written)
    monkeypatch.setattr(halide_pipelines, "table", lambda pipelines: f"table of {len(pipelines)}")
    halide_pipelines.main(["known", *given])
    assert asked == ["known"] * 3
    halide_pipelines.main([*given, "--minutes", "0"])
    assert set(asked[3:]) == {"fails"}
    printed = capsys.readouterr().out
    assert "2 pipelines, 1 more are measured already. Each takes 0.2 minutes or less" in printed
    assert "1 of 2; 0.0 minutes left" in printed
    assert "The time is over; the same command goes on with new." in printed
    assert "table of 2" in printed
    done = len(asked)
    halide_pipelines.main([*given])
    assert sorted(asked[done:]) == ["fails", *["new"] * 3]
    results = json.loads((tmp_path / "found.json").read_text())["pipelines"]
    assert results["fails"]["failed"] == "KeyError: 'lost'"
    done = len(asked)
    halide_pipelines.main(["known", *given])
    assert asked[done:] == []
    halide_pipelines.main(["known", *given, "--again"])
    assert asked[done:] == ["known"] * 3
    done = len(asked)
    halide_pipelines.main([*given, "--tune", "1"])
    assert sorted(set(asked[done:])) == ["fails", "known", "new"]


def test_tuning_without_a_result_says_why(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tuned(pipeline, target, **given):
        space = ScheduleSpace(pipeline, target, Options.small(target))
        study = Study.open(TuningStore.open(given["store"]), space, start=given["start"])
        if given["seconds"] == 2:
            return study
        return told(study)

    def told(study):
        (trial, *_) = study.ask()
        study.tell(trial, Measurement(trial.schedule, RunOutcome.CRASHED, "Signal 11 ended it."))
        return study

    monkeypatch.setattr(halide_pipelines, "tune", tuned)
    early, crashed = (found_schedules(subject, seconds).without for seconds in (2, 3))
    assert early == {
        TUNED: "2 seconds of tuning end before the first trial has a time; give --tune more."
    }
    assert crashed == {TUNED: "none of 1 trial has a time; the first: crashed: Signal 11 ended it."}


def test_an_autoscheduler_that_fails_costs_its_own_column(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alone(name, task, *given, seconds):
        if given[-1] == "Adams2019":
            raise ContenderFailed("out of time")
        return task(*given)

    monkeypatch.setattr(halide_pipelines, "_alone", alone)
    monkeypatch.setattr(halide_pipelines, "autoscheduled_file", lambda subject, name: subject.plain)
    chosen = _with_autoschedulers("two", subject, Candidates(without={FIRST: "why"}), 1.0)
    assert chosen.files == dict.fromkeys(("Mullapudi2016", "Li2018"), subject.plain)
    assert chosen.without == {FIRST: "why", "Adams2019": "out of time"}
