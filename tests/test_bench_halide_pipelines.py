"""Pipelines of Halide on both sides and both ways: who runs, and what the table says."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench import halide_pipelines
from bench.halide_pipelines import CONTENDERS, HALIDE, Subject, measured, subjects
from spaces import parse_schedule, read_hlpipe
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
    found = measured(subject, schedules, 0.1)
    assert applied == [
        (subject.own, None),
        (subject.plain, schedules["first"]),
        (subject.plain, schedules["tuned"]),
    ]
    assert set(found["ms"]) == {*CONTENDERS} - {"tuned in Halide"}
    assert "prefetches image photo" in found["refused"]["tuned in Halide"]
    assert all(low <= median <= high for median, low, high in found["ratios"].values())
    assert found["page_faults"].keys() == found["ms"].keys()


@pytest.mark.usefixtures("quickly")
def test_what_computes_something_else_is_refused(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = halide_pipelines.Sized.ours

    def wrong(sized, checked, float_mode):
        run = ours(sized, checked, float_mode)
        return lambda: {name: np.asarray(array) + 9 for name, array in run().items()}

    monkeypatch.setattr(halide_pipelines.Sized, "ours", wrong)
    found = measured(subject, {}, 0.1)
    assert list(found["ms"]) == [HALIDE]
    assert "More than a hundredth is other than Halide's: 1 of out." in found["refused"]["same"]


def test_apps_and_programs_are_measured(tmp_path: Path) -> None:
    names = [name for name, _ in subjects(tmp_path, None)]
    assert names == [*APPS, *PROGRAMS]


def test_the_table_has_both_memories_and_means() -> None:
    def one(ratio: float, kept: float) -> dict[str, object]:
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

    shown = halide_pipelines.table({"a": one(0.5, 1.0), "b": one(2.0, 4.0), "c": {"failed": "no"}})
    lines = shown.splitlines()
    assert f"*same*: {CONTENDERS['same']}." in lines
    assert "| pipeline | Halide, ms | same | same, memory kept | page faults |" in lines
    assert "| a | 2 | 0.50 (0.25–0.75) | 1.00 (0.75–1.25) | 1,200 / 3 |" in lines
    assert "| c | no | | | |" in lines
    assert lines[-1] == "| geometric mean | | 1.00 of 2 | 2.00 of 2 | |"


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
        return {}

    def written(folder, theirs):
        return ((f.stem, partial(Subject, "", f, f)) for f in theirs.glob("*.hlpipe"))

    monkeypatch.setattr(halide_pipelines, "_alone", found)
    monkeypatch.setattr(halide_pipelines, "subjects", written)
    monkeypatch.setattr(halide_pipelines, "table", lambda pipelines: f"table of {len(pipelines)}")
    halide_pipelines.main(["known", *given])
    assert asked == ["known"] * 3
    halide_pipelines.main(given)
    assert sorted(asked[3:]) == ["fails", *["new"] * 3]
    printed = capsys.readouterr().out
    assert "2 pipelines, 1 more are measured already. Each takes 0.2 minutes or less" in printed
    assert "2 of 2; 0.0 minutes left" in printed
    assert "table of 3" in printed
    results = json.loads((tmp_path / "found.json").read_text())["pipelines"]
    assert results["fails"]["failed"] == "KeyError: 'lost'"
    halide_pipelines.main([*given, "--tune", "1"])
    assert sorted(set(asked[7:])) == ["fails", "known", "new"]
