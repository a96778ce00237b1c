"""The commands that try out tuning, on a small scale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import cluster, large_store, tuning_regret
from spaces import Evolving


def test_a_simulated_cluster_is_busy_and_finds_the_winner(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster.main(["--machines", "5", "--trials", "60"])
    told = json.loads(capsys.readouterr().out)
    assert told["is_same_winner"]
    assert told["is_true_winner"]
    assert told["cluster"]["results"] == 60
    assert 0.7 < told["busy"] <= 1.0
    assert told["failed_tasks"] > 0


def test_a_made_up_store_has_as_many_trials_as_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_store, "DISTINCT", 20)
    path = tmp_path / "s.sqlite"
    large_store.make(path, 60)
    with large_store.TuningStore.read(path) as store:
        (line,) = store.studies()
        assert (line.trials, line.told) == (61, 60)  # the reference is open
        assert len({one.number for one in store.trials(1)}) == 61
    for ask in large_store.QUESTIONS.values():
        assert ask(path).keys() == {"processor_s", "peak_mb", "more_mb"}


def test_the_regret_is_that_beside_the_best_of_all() -> None:
    curves = {"first": [[4.0, 3.0, 3.0], [4.0, 4.0, 2.0]], "second": [[5.0, 5.0, 5.0]]}
    assert tuning_regret.regrets(curves, (1, 2, 3, 20)) == {
        "first": {"1": 1.0, "2": 0.75, "3": 0.25},
        "second": {"1": 1.5, "2": 1.5, "3": 1.5},
    }


def test_a_simulated_study_gets_faster_schedules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    quick = Evolving(found=2, structures=10, size=2, pool=3, numbers=4)
    monkeypatch.setattr(tuning_regret, "STRATEGIES", {"quick": quick})
    curve = tuning_regret.best_so_far("toy_blur", quick, "hybrid", 1, 8)
    assert len(curve) == 8
    assert curve == sorted(curve, reverse=True)
    output = tmp_path / "r.json"
    limits = ("--trials", "20", "--seeds", "1", "--strategies", "quick")
    tuning_regret.main(["toy_blur", *limits, "--output", str(output)])
    told = json.loads(output.read_text("utf-8"))["hybrid"]["toy_blur"]
    assert told == {"quick": {"20": 0.0}}
