"""Calibrating: prices are found again from times that they make, and kept only if they help."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from attrs import astuple, define, evolve

from spaces import (
    Batch,
    Measurement,
    Pipeline,
    PricedRun,
    Prices,
    RunOutcome,
    Schedule,
    TuningStore,
    calibrate,
    device,
)
from spaces.cost.cpu.reuse import Reuse
from spaces.tuning.calibration import fit_and_judge, rank_quality, spearman
from spaces.tuning.fitted_models import load_model
from spaces.tuning.identity import this_machine
from spaces.tuning.kernels import KERNELS, pointwise, stencil
from spaces.tuning.prices_as_json import prices_from_json, prices_to_json
from tests.cpus import FOUR_CORES
from tests.small_space import small_space

ODD = evolve(Prices(), lane=8.0, call=2.0, launch=500.0, line_from_memory=20.0, load=0.2)
"""The prices of a machine that is unlike the one of the defaults."""


@pytest.fixture(scope="module")
def runs() -> list[PricedRun]:
    """Times that these prices make, with some noise."""
    chosen = random.Random(3)
    model = Reuse(FOUR_CORES, ODD)
    found = []
    for make in (stencil, pointwise):
        pipe = make()
        for schedule in small_space(pipe, FOUR_CORES).sample(30, seed=2):
            batch = Batch.of(pipe, schedule)
            seconds = float(model.cost(batch)) * 1e-9 * chosen.uniform(0.97, 1.03)
            found.append(PricedRun(pipe.name, batch, seconds))
    return found


def test_fitted_prices_rank_better(runs: list[PricedRun]) -> None:
    found = fit_and_judge(runs, FOUR_CORES)
    assert found.schedules == 60
    assert found.after > 0.95  # the prices that made the times have 0.97
    assert found.after > found.before + 0.02
    assert found.is_better
    assert found.prices == found.fitted
    pairs = zip(vars_of(found.prices), vars_of(Prices()), strict=True)
    assert all(one > 0 if default > 0 else one == 0 for one, default in pairs)


def test_the_default_machine_keeps_the_defaults(runs: list[PricedRun]) -> None:
    model = Reuse(FOUR_CORES)
    own = [evolve(run, seconds=float(model.cost(run.batch))) for run in runs]
    assert np.allclose(vars_of(model.retrain(own).prices), vars_of(Prices()), rtol=1e-3)
    found = fit_and_judge(own, FOUR_CORES)
    assert not found.is_better
    assert found.prices == Prices()
    assert rank_quality(own, FOUR_CORES, Prices()) == pytest.approx(1.0)


def vars_of(prices: Prices) -> list[float]:
    return list(astuple(prices))


def test_too_few_times_are_told(runs: list[PricedRun]) -> None:
    with pytest.raises(ValueError, match="Only 5 schedules have times; a fit needs 8"):
        fit_and_judge(runs[:5], FOUR_CORES)


def test_rank_correlations() -> None:
    """Values from the definition, with ties in the middle of their places."""
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1.0)
    assert spearman([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486833)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0


def test_prices_are_kept_for_a_machine_and_used() -> None:
    with TuningStore.open(":memory:") as store:
        machine = this_machine(FOUR_CORES)
        assert store.prices(machine) is None
        assert load_model("reuse", FOUR_CORES, store) == Reuse(FOUR_CORES)
        for prices in (evolve(Prices(), load=7.0), ODD):
            store.keep_prices(machine, prices)
            assert store.prices(machine) == prices
        assert load_model("reuse", FOUR_CORES, store) == Reuse(FOUR_CORES, ODD)
        assert store.prices(evolve(machine, llvm="1.0")) is None
        assert load_model("occupancy", device("sm_80"), store) is not None
    assert prices_from_json(prices_to_json(ODD)) == ODD
    assert prices_from_json('{"load": 2.0, "a later price": 1.0}') == evolve(Prices(), load=2.0)


@define
class PricedMeasurer:
    """Takes the time that odd prices say."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        model = Reuse(FOUR_CORES, ODD)
        costs = [float(model.cost(Batch.of(pipeline, one))) * 1e-9 for one in schedules]
        return [
            Measurement(one, RunOutcome.CORRECT, "", (cost,) * 3, (1.0,) * 3)
            for one, cost in zip(schedules, costs, strict=True)
        ]


def test_a_machine_is_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaces.tuning.calibration.KERNELS", KERNELS[:1])
    heard: list[tuple[str, int]] = []
    cpu = FOUR_CORES
    found = calibrate(
        cpu, schedules=16, measurer=lambda reference: PricedMeasurer(),
        progress=lambda kernel, count: heard.append((kernel, count)),
    )  # fmt: skip
    assert heard == [("stencil", 0)]
    assert found.schedules >= 8


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_have_schedules(kernel) -> None:
    assert small_space(kernel(), FOUR_CORES).sample(1, seed=1)
