"""Tuning in one call, and compiling what is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from spaces.backend.compile import CompiledPipeline
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.rounds import EVERY_ROUND
from spaces.backend.measuring.task import MeasuringLimits
from spaces.constraints.devices.device import device
from spaces.enumerate.space.options import Options
from spaces.model.writing.text import parse_schedule
from spaces.tuning.best_known import best_known, compile_best
from spaces.tuning.schema import StoreError
from spaces.tuning.store import TuningStore, default_store
from spaces.tuning.tune import tune
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import blur, copied
from tests.tuning.fakes import QUICK, FakeMeasurer

CPU = device("cpu")
SMALL = Options.small(CPU)
PIPE = blur(96, 64)


def test_a_pipeline_is_tuned_and_its_best_compiled(tmp_path: Path) -> None:
    path = tmp_path / "tuned.sqlite"
    hand = parse_schedule("blur_y.vectorize(x, 16)", PIPE)
    study = tune(PIPE, store=path, trials=6, options=SMALL, strategy=QUICK, start=[hand])
    told = [trial for trial in study if trial.result is not None]
    assert len(told) == 6
    assert all(trial.result and trial.result.is_correct for trial in told)
    assert told[1].schedule == hand
    assert study.best is not None
    with TuningStore.open(path) as store:
        assert best_known(store, PIPE, CPU) == (study.id, study.best)
        assert best_known(store, PIPE, device("sm_80")) is None
        compiled = compile_best(PIPE, store=store)
    assert isinstance(compiled, CompiledPipeline)
    assert compiled.schedule == study.best.schedule
    image = np.arange(98 * 66, dtype=np.uint16).reshape(66, 98)
    out = compiled.run({"input": image}, sizes={"blur_y": [96, 64], "input": [(-1, 98), (-1, 66)]})
    rows = (image[:, :-2].astype(int) + image[:, 1:-1] + image[:, 2:]) // 3
    assert (out["blur_y"] == (rows[:-2] + rows[1:-1] + rows[2:]) // 3).all()


def test_what_was_never_tuned_is_searched(tmp_path: Path) -> None:
    with TuningStore.open(":memory:") as store:
        compiled = compile_best(PIPE, store=store, seconds=1.0)
        assert isinstance(compiled, CompiledPipeline)
        on_gpu = compile_best(copied(256), target=device("sm_80"), store=store, seconds=1.0)
        assert isinstance(on_gpu, GpuPipeline)


def test_other_sizes_use_what_is_legal_there() -> None:
    sizes = {"blur_y": [192, 64], "input": [(-1, 194), (-1, 66)]}
    with TuningStore.open(":memory:") as store:
        study = tune(
            PIPE, CPU, store=store, trials=5, options=SMALL, strategy=QUICK,
            measurer=FakeMeasurer(),
        )  # fmt: skip
        compiled = compile_best(PIPE, sizes, store=store)
        assert compiled.schedule in [trial.schedule for trial in study]


def test_bad_candidates_do_not_stop_a_study() -> None:
    """One of four crashes, one hangs, and one computes wrong values."""
    pipe = copied(960)
    starts = [parse_schedule(f"f.split(x, x, xi, {factor})", pipe) for factor in (2, 3, 4, 16)]
    limits = MeasuringLimits(rounds=3, run_seconds=2.0)
    with (
        TuningStore.open(":memory:") as store,
        LocalMeasurer(limits=limits, race=EVERY_ROUND, make=saboteurs.on_split) as measurer,
    ):
        study = tune(
            pipe, store=store, trials=6, options=SMALL, strategy=QUICK, start=starts,
            measurer=measurer,
        )  # fmt: skip
        outcomes = [str(trial.result.outcome) for trial in study if trial.result is not None]
        assert outcomes[:5] == ["correct", "crashed", "hung", "wrong", "correct"]
        assert study.best is not None
    with pytest.raises(StoreError, match=r"^:memory: is closed; ask while the store is open\.$"):
        list(study)


def test_the_store_of_the_user_is_in_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store() == tmp_path / "spaces" / "tuning.sqlite"
    tune(PIPE, trials=1, options=SMALL, strategy=QUICK, measurer=FakeMeasurer())
    assert default_store().exists()
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_store() == Path.home() / ".local" / "share" / "spaces" / "tuning.sqlite"
