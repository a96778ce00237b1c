"""Training: slopes against differences, ten schedules learned by heart, the same from one seed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from attrs import evolve

from spaces.contracts.examples import blur, tiled
from spaces.tuning.learning.examples import (
    Group,
    MeasurementsError,
    by_subject,
    examples,
    read_measurements,
)
from spaces.tuning.learning.gradients import log_costs, loss_and_slopes
from spaces.tuning.learning.held_out import judge, leave_one_out, regret
from spaces.tuning.learning.losses import LOSSES
from spaces.tuning.learning.training import Training, start_network, train
from tests.cost.learned.networks import measured, random_network
from tests.cpus import FOUR_CORES

SHUFFLED = (3, 9, 1, 7, 0, 8, 2, 6, 5, 4)
"""Ranks of ten schedules in no order of their sizes."""


@pytest.fixture(scope="module", params=["learned", "hybrid"])
def ten(request):
    pipe = blur()
    columns = {"TX": np.array([[16], [64]]), "TY": np.array([[2, 4, 8, 16, 32]])}
    runs = measured(pipe, tiled(pipe), columns, lambda n: 1e-3 * 1.3 ** SHUFFLED[n])
    return examples(runs, FOUR_CORES, request.param)


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_differences(ten, loss: str) -> None:
    """Central differences of the loss by random directions of each array of weights."""
    group = Group.of(ten.examples[:6])
    network = random_network(ten, seed=3)
    value, slopes = loss_and_slopes(network, group, LOSSES[loss])
    assert value > 0
    generator = np.random.default_rng(5)
    for name, array in network.weights.items():
        step = 1e-5 * generator.normal(0.0, 1.0, array.shape)
        ends = [
            LOSSES[loss](
                log_costs(
                    evolve(network, weights={**network.weights, name: array + sign * step}), group
                ),
                group.times,
            )[0]
            for sign in (1, -1)
        ]
        assert (slopes[name] * step).sum() == pytest.approx((ends[0] - ends[1]) / 2, rel=1e-3), name


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_ignores_a_common_factor_and_falls_with_the_right_order(loss: str) -> None:
    times = np.log([1.0, 2.0, 4.0])
    right, wrong = LOSSES[loss](times + 7, times)[0], LOSSES[loss](-times, times)[0]
    assert right == pytest.approx(LOSSES[loss](times, times)[0])
    assert right < wrong


def test_an_untrained_hybrid_costs_what_reuse_costs() -> None:
    pipe = blur()
    runs = measured(pipe, tiled(pipe), {"TX": np.array([16, 64, 128]), "TY": np.array([2, 4, 9])})
    ten = examples(runs, FOUR_CORES, "hybrid")
    costs = np.exp(log_costs(start_network(ten, Training()), Group.of(ten.examples)))
    assert costs == pytest.approx([one.analytic for one in ten.examples])


def test_ten_schedules_by_heart(ten) -> None:
    options = Training(steps=600, decay=0.0, rate=0.01, loss="ranking")
    trained = train(ten, options)
    costs = log_costs(trained.network, Group.of(ten.examples))
    assert list(np.argsort(np.argsort(costs))) == list(SHUFFLED)
    assert trained.curve[-1] < trained.curve[0]


def test_a_seed_gives_one_network(ten) -> None:
    first, again, other = (
        train(ten, Training(steps=5, seed=seed)).network.weights for seed in (1, 1, 2)
    )
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


def test_judging_leaves_the_subject_out(ten) -> None:
    """What the times of a subject are does not change what the others teach about it."""
    other = [evolve(one, subject="other") for one in ten.examples]
    turned = [
        evolve(one, seconds=back.seconds)
        for one, back in zip(ten.examples, reversed(ten.examples), strict=True)
    ]
    options = Training(steps=5)
    results = [
        leave_one_out(evolve(ten, examples=[*own, *other]), options, [ten.subjects[0]])[0]
        for own in (ten.examples, turned)
    ]
    costs = log_costs(
        train(evolve(ten, examples=other), options).network,
        Group.of(ten.examples),
    )
    for result, own in zip(results, (ten.examples, turned), strict=True):
        assert result == judge(ten.subjects[0], own, costs)


def test_regret_is_of_the_fastest_of_five() -> None:
    costs = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert regret(costs, [9.0, 8.0, 7.0, 3.0, 6.0, 2.0]) == pytest.approx(0.5)
    assert regret(costs, [9.0, 8.0, 2.0, 3.0, 6.0, 2.0]) == 0


def test_measurements_are_read(tmp_path) -> None:
    """Only correct runs count; a line without an end does not; a fault names its line."""
    pipe = blur()
    record = {"subject": "b", "schedule": "blur_x.compute_root()", "outcome": "correct",
              "ratio": 2.0, "reference_median_seconds": 0.5}  # fmt: skip
    lines = [record, {**record, "outcome": "timed out"}, {**record, "ratio": 4.0}]
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines) + '{"subj')
    found = read_measurements(path, lambda subject: pipe)
    assert [one.seconds for one in found] == [1.0, 2.0]
    assert len(by_subject(examples(found, FOUR_CORES, "learned"))["b"]) == 2
    path.write_text(json.dumps({**record, "schedule": "blur_z.compute_root()"}) + "\n")
    with pytest.raises(MeasurementsError, match=r"(?s)b\.jsonl, line 1: .*blur_z"):
        read_measurements(path, lambda subject: pipe)
