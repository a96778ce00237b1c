"""The commands that try out tuning, on a small scale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import cluster, large_store


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
