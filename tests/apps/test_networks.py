"""Networks, at few layers and pixels: what they compute, under each of their schedules."""

from functools import cache

import numpy as np
import pytest

from apps import depthwise_conv, learned_demosaic, vdsr
from apps.catalog import APPS
from apps.photographs import photograph
from backend.reference import evaluate
from tests.apps import formulas_networks
from tests.apps.formulas import photograph as noise
from tests.apps.small_runs import SmallRun, apart


@cache
def run(name):
    if name == "vdsr":
        pipeline, pixels = vdsr.pipeline(layers=4), noise(9, 23)
        sizes = {"output": ((3, 19), (-2, 5))}, {"output": ((-1, 25), (1, 2))}
    elif name == "learned_demosaic":
        pipeline, pixels = learned_demosaic.pipeline(layers=3), noise(14, 40)
        sizes = {"output": ((3, 33), (-1, 9), (0, 3))}, {"output": ((0, 41), (6, 10), (0, 3))}
    else:
        pipeline, pixels = depthwise_conv.pipeline(), noise(26, 34)
        first, second = ((1, 15), (2, 11), (1, 3)), ((0, 17), (0, 13), (0, 4))
        sizes = {"output": ((0, 16), *first)}, {"output": ((0, 16), *second)}
    inputs = APPS[name].inputs(pipeline, pixels)
    return SmallRun(name, pipeline, {n: apart(a) for n, a in inputs.items()}, sizes[0], sizes[1:])


NAMES = ("vdsr", "learned_demosaic", "depthwise_conv")
CPU = [(name, stem) for name in NAMES for stem in ("default", "cpu")]


@pytest.mark.parametrize("name", NAMES)
def test_the_network_computes_its_formula(name):
    case = run(name)
    actual = case.reference["output"]
    expected = getattr(formulas_networks, name)(case.inputs, case.sizes["output"])
    assert np.unique(actual).size > 50
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_compiled_for_the_cpu(name, stem):
    run(name).assert_same_on_cpu(stem)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_for_a_gpu_and_executed_on_the_cpu(name):
    run(name).assert_same_on_gpu()


@pytest.mark.parametrize(("name", "stem"), CPU)
def test_halide_under_the_same_schedule(name, stem):
    run(name).assert_same_in_halide(stem)


@pytest.mark.parametrize("level", [0, 100, 255])
def test_flat_pictures_stay_nearly_flat(level):
    pixels = np.full((8, 12, 3), level, np.uint8)
    inputs = APPS["learned_demosaic"].inputs(learned_demosaic.pipeline(layers=3), pixels)
    sizes = {"output": [12, 8, 3]}
    actual = evaluate(learned_demosaic.pipeline(layers=3), inputs, sizes=sizes)["output"]
    np.testing.assert_allclose(actual, (level + 1) / 256, rtol=0, atol=0.02)


def test_the_generated_weights_demosaic():
    pixels = photograph(64, 48)
    pipeline = learned_demosaic.pipeline(layers=3)
    inputs = APPS["learned_demosaic"].inputs(pipeline, pixels)
    actual = evaluate(pipeline, inputs, sizes={"output": [64, 48, 3]})["output"]
    wanted = (np.moveaxis(pixels, 2, 0) + 1.0) / 256
    gray = np.broadcast_to(inputs["input"], wanted.shape)
    assert np.abs(actual - wanted).mean() < 0.5 * np.abs(gray - wanted).mean()


def test_the_generated_weights_sharpen():
    pipeline = vdsr.pipeline(layers=5)
    inputs = APPS["vdsr"].inputs(pipeline, photograph(48, 36))
    sharp = evaluate(pipeline, inputs, sizes={"output": [48, 36]})["output"]
    steep = [np.abs(np.diff(a, axis=1)).mean() for a in (sharp, inputs["input"])]
    assert 1.1 < steep[0] / steep[1] < 1.8
    assert abs(sharp.mean() - inputs["input"].mean()) < 0.01


@pytest.mark.parametrize(("app", "layers"), [(vdsr, 20), (learned_demosaic, 16)])
def test_the_networks_have_the_layers_of_their_papers(app, layers):
    updated = [f for f in app.pipeline().functions if len(f.stages) == 2 and f.name != "mixed"]
    assert len(updated) == layers
