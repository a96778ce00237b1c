"""Random pipelines, which measurements of cost models are made on."""

import math
from hashlib import sha256
from itertools import islice

import numpy as np
import pytest

from bench.cost_quality import (
    subjects,
)
from bench.cost_quality.random_pipelines import FAMILIES, by_name, random_pipeline
from bench.cost_quality.short_lines import LATER_IDEAS
from bench.cost_quality.single_pipelines import IDEAS, LATER, single_pipeline
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import to_json
from tests.draw_counts import some


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", some(range(6)))
def test_random_pipelines_come_from_their_names_and_evaluate(seed, family):
    made = random_pipeline(seed, family)
    again, other = by_name(f"{family}_{seed}"), random_pipeline(seed + 1, family)
    assert to_json(made) == to_json(again) != to_json(other)
    assert verify(made, Schedule.default(made), device("cpu"))
    fewest, most = FAMILIES[family].stages
    assert fewest <= len([f for f in made.functions if f.name[1:].isdecimal()]) <= most
    dice = np.random.default_rng(0)
    inputs = {}
    for image in made.images:
        assert 0.45e6 <= math.prod(extent for _, extent in made.estimate(image.name)) <= 2e6
        inputs[image.name] = dice.integers(0, 200, (20, 24)).astype(image.type.dtype)
    (output,) = made.outputs
    found = evaluate(made, inputs, sizes={output: [4, 4]})
    assert found[output].shape == (4, 4)
    assert np.isfinite(found[output].astype(float)).all()


def test_names_of_no_random_pipeline_get_a_sentence():
    for name in ("blur", "random", "random_x", "other_3"):
        with pytest.raises(ValueError, match="the first ones are random_0, varied_0, single_0"):
            by_name(name)


def test_varied_pipelines_read_several_images_and_have_updates_of_all_kinds():
    made = [random_pipeline(seed, "varied") for seed in range(20)]
    assert {len(one.images) for one in made} == {1, 2, 3}
    names = {function.name for one in made for function in one.functions}
    assert any(name.endswith("_counts") for name in names)
    updates = [s for one in made for f in one.functions for s in f.stages[1:]]
    assert {len(stage.rvars) for stage in updates} == {1, 2}


@pytest.mark.parametrize("seed", range(len(IDEAS)))
def test_pipelines_of_one_idea_are_made_from_their_seed_and_are_legal(seed):
    made, later = (single_pipeline(seed + turn * len(IDEAS)) for turn in (0, 1))
    assert made == by_name(f"single_{seed}")
    assert to_json(made) != to_json(later)
    assert verify(made, Schedule.default(made), device("cpu"))


@pytest.mark.parametrize("number", range(len(LATER_IDEAS)))
def test_later_ideas_take_turns_and_are_legal(number):
    made, later = (single_pipeline(LATER + number + turn * len(LATER_IDEAS)) for turn in (0, 1))
    assert made.name == f"single_{LATER + number}"
    assert to_json(made) != to_json(later)
    assert verify(made, Schedule.default(made), device("cpu"))


def test_measured_pipelines_of_one_idea_stay_what_they_were():
    """Records name them by their seeds."""
    made = "".join(to_json(single_pipeline(seed)) for seed in range(LATER))
    assert sha256(made.encode()).hexdigest() == (
        "9332ce62915785c9fb0aa7b31eefd87a5ebcbebac81af104507778ed9929843f"
    )


def test_the_seeds_give_different_pipelines_with_all_kinds_of_stages():
    made = [by_name(name) for name in islice(subjects.RANDOM, 30)]
    assert len({to_json(one) for one in made}) == 30
    assert any(len(function.stages) > 1 for one in made for function in one.functions)
    halved = [one for one in made if one.estimate(one.outputs[0]) != one.estimate("image")]
    assert halved
    assert len(halved) < 30
