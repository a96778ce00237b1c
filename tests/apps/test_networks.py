"""The effects of the generated weights of the networks, and the number of layers."""

import numpy as np
import pytest

from spaces import APPS, evaluate
from spaces.apps.photographs import photograph
from spaces.apps.pipelines import learned_demosaic, vdsr


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
    inputs = APPS["vdsr"].inputs(pipeline, photograph(32, 24))
    sharp = evaluate(pipeline, inputs, sizes={"output": [32, 24]})["output"]
    steep = [np.abs(np.diff(a, axis=1)).mean() for a in (sharp, inputs["input"])]
    assert 1.1 < steep[0] / steep[1] < 1.8
    assert abs(sharp.mean() - inputs["input"].mean()) < 0.01


@pytest.mark.parametrize(("app", "layers"), [(vdsr, 20), (learned_demosaic, 16)])
def test_the_networks_have_the_layers_of_their_papers(app, layers):
    updated = [f for f in app.pipeline().functions if len(f.stages) == 2 and f.name != "mixed"]
    assert len(updated) == layers
