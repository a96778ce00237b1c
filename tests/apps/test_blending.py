"""Pyramid blending and bilateral guided upsampling: what they compute, under their schedules."""

from functools import cache

import numpy as np
import pytest

from apps import bgu, pyramid_blend
from apps.catalog import APPS
from apps.photographs import photograph
from backend.reference import evaluate
from tests.apps import formulas_blending
from tests.apps.formulas import photograph as noise
from tests.apps.small_runs import SmallRun, apart


@cache
def run(name):
    if name == "pyramid_blend":
        pipeline, pixels = pyramid_blend.pipeline(levels=3), noise(45, 83)
        sizes = {"output": ((-5, 61), (3, 37), (0, 3))}, {"output": ((0, 83), (0, 45), (0, 3))}
    else:
        pipeline, pixels = bgu.pipeline(), photograph(145, 83)
        sizes = {"output": ((61, 69), (7, 58), (0, 3))}, {"output": ((0, 41), (71, 9), (0, 3))}
    inputs = APPS[name].inputs(pipeline, pixels)
    return SmallRun(name, pipeline, {n: apart(a) for n, a in inputs.items()}, sizes[0], sizes[1:])


NAMES = ("pyramid_blend", "bgu")
TOLERANCE = {"pyramid_blend": 1e-6, "bgu": 1e-3}
"""Solving equations of few pixels amplifies how float32 rounds."""
CPU = [(name, stem) for name in NAMES for stem in ("default", "cpu")]


@pytest.mark.parametrize("name", NAMES)
def test_the_pipeline_computes_its_formula(name):
    case = run(name)
    actual = case.reference["output"]
    expected = getattr(formulas_blending, name)(case.inputs, case.sizes["output"])
    assert np.unique(actual).size > 500
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE[name])


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_compiled_for_the_cpu(name, stem):
    run(name).assert_same_on_cpu(stem)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_for_a_gpu_and_executed_on_the_cpu(name):
    run(name).assert_same_on_gpu()


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_halide_under_the_same_schedule(name, stem):
    run(name).assert_same_in_halide(stem)


def test_the_pyramids_have_the_stages_of_the_paper():
    assert len(pyramid_blend.pipeline().functions) == 52


def test_a_picture_blended_with_itself_is_itself():
    pipeline = pyramid_blend.pipeline()
    inputs = APPS["pyramid_blend"].inputs(pipeline, noise(29, 43))
    same = {**inputs, "second": inputs["first"]}
    actual = evaluate(pipeline, same, sizes={"output": [43, 29, 3]})["output"]
    np.testing.assert_allclose(actual, inputs["first"], rtol=0, atol=1e-6)


def test_where_nothing_was_done_nothing_is_done():
    pipeline = bgu.pipeline()
    inputs = APPS["bgu"].inputs(pipeline, photograph(64, 48))
    idle = {**inputs, "values": inputs["splat_loc"]}
    actual = evaluate(pipeline, idle, sizes={"output": [64, 48, 3]})["output"]
    np.testing.assert_allclose(actual, inputs["slice_loc"], rtol=0, atol=2e-5)
