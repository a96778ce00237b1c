"""The lens blur, with few depths, samples and levels: what it computes, under its schedules."""

from functools import cache

import numpy as np
import pytest

from apps import lens_blur
from apps.catalog import APPS
from apps.photographs import photograph
from backend.reference import evaluate
from tests.apps.formulas_lens_blur import lens_blur as formula
from tests.apps.small_runs import SmallRun, apart

FEW = {"slices": 24, "samples": 4, "levels": 3}
CPU = ("default", "cpu")


@cache
def run():
    pipeline = lens_blur.pipeline(**FEW)
    inputs = APPS["lens_blur"].inputs(pipeline, photograph(83, 45))
    sizes, other = (
        {"output": (x, y, (0, 3))} for x, y in (((13, 49), (5, 21)), ((-2, 40), (9, 9)))
    )
    views = {n: apart(a) for n, a in inputs.items()}
    return SmallRun("lens_blur", pipeline, views, sizes, (other,))


def random(seed, *coordinates):
    """MurmurHash3's finaliser over the seed and the coordinates, 23 bits of it as a fraction."""
    step = state = np.array([0x9E3779B9], np.uint32)
    for word in (seed, *coordinates):
        bits = (state * np.uint32(5) + step) ^ np.asarray(word).astype(np.uint32)
        bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        bits = (bits ^ (bits >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        state = bits ^ (bits >> np.uint32(16))
    return (state >> np.uint32(9)) / 2.0**23


def test_the_pipeline_computes_its_formula():
    actual = run().reference["output"]
    expected = formula(run().inputs, run().sizes["output"], random, **FEW)
    assert np.unique(actual).size > 300
    close = np.abs(actual - expected) < 1e-6
    assert close.mean() > 0.98  # float32 finds another one of two depths that are nearly as good


@pytest.mark.parametrize("stem", CPU)
def test_compiled_for_the_cpu(stem):
    run().assert_same_on_cpu(stem)


def test_compiled_for_a_gpu_and_executed_on_the_cpu():
    run().assert_same_on_gpu()


@pytest.mark.parametrize("stem", CPU)
def test_halide_under_the_same_schedule(stem):
    run().assert_same_in_halide(stem)


def plane(depth):
    """The result for a flat scene at one depth, and its left view in [0, 1]."""
    wide = np.moveaxis(photograph(140, 36), 2, 0)
    views = {"left": wide[:, :, 60:], "right": wide[:, :, 60 - 2 * depth : 140 - 2 * depth]}
    inputs = {name: np.ascontiguousarray(view) for name, view in views.items()}
    sizes = {"output": ((14, 20), (10, 16), (0, 3))}
    pipeline = lens_blur.pipeline(**FEW)
    return evaluate(pipeline, inputs, sizes=sizes)["output"], views["left"][:, 10:26, 14:34] / 255


def test_what_is_in_focus_stays_as_it_is():
    blurred, sharp = plane(lens_blur.FOCUS)
    np.testing.assert_allclose(blurred, sharp, rtol=0, atol=1e-6)


def test_what_is_out_of_focus_is_blurred():
    blurred, sharp = plane(3)
    steep = [np.abs(np.diff(a, axis=1)).mean() for a in (blurred, sharp)]
    assert steep[0] < 0.8 * steep[1]
    assert abs(blurred.mean() - sharp.mean()) < 0.03
