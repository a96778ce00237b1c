"""Non-local means: what it computes, under each of its schedules."""

from functools import cache

import numpy as np
import pytest

from apps import nl_means
from apps.catalog import APPS
from apps.photographs import photograph
from backend.reference import evaluate
from tests.apps.formulas import photograph as noise
from tests.apps.formulas_nl_means import nl_means as formula
from tests.apps.small_runs import SmallRun, apart

CPU = ("default", "cpu")


@cache
def run():
    pipeline = nl_means.pipeline()
    inputs = APPS["nl_means"].inputs(pipeline, noise(19, 37) // 4)
    sizes, other = (
        {"output": (x, y, (0, 3))} for x, y in (((3, 33), (-2, 13)), ((0, 37), (0, 19)))
    )
    views = {n: apart(a) for n, a in inputs.items()}
    # Halide's fast_exp rounds otherwise.
    return SmallRun("nl_means", pipeline, views, sizes, (other,), peer_ulps=4)


def test_the_pipeline_computes_its_formula():
    actual = run().reference["output"]
    expected = formula(run().inputs, run().sizes["output"])
    assert np.unique(actual).size > 500
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("stem", CPU)
def test_compiled_for_the_cpu(stem):
    run().assert_same_on_cpu(stem)


def test_compiled_for_a_gpu_and_executed_on_the_cpu():
    run().assert_same_on_gpu()


@pytest.mark.parametrize("stem", CPU)
def test_halide_under_the_same_schedule(stem):
    run().assert_same_in_halide(stem)


def test_noise_is_removed():
    pixels = photograph(72, 54)
    pipeline = nl_means.pipeline()
    inputs = APPS["nl_means"].inputs(pipeline, pixels)
    clean = (np.moveaxis(pixels, 2, 0) + 1) / 256
    actual = evaluate(pipeline, inputs, sizes={"output": [72, 54, 3]})["output"]
    assert np.abs(actual - clean).mean() < 0.85 * np.abs(inputs["input"] - clean).mean()


def test_a_wide_sigma_averages_all_pixels_searched():
    pipeline = nl_means.pipeline(patch=3, search=3)
    image = np.random.default_rng(3).random((3, 9, 11), np.float32)
    sizes = {"output": ((1, 9), (1, 7), (0, 3))}
    actual = evaluate(pipeline, {"input": image}, {"sigma": 1e4}, sizes)["output"]
    mean = sum(image[:, i : i + 7, j : j + 9].astype(float) for i in range(3) for j in range(3)) / 9
    np.testing.assert_allclose(actual, mean, rtol=0, atol=1e-6)
