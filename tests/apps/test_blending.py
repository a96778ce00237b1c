"""Properties of pyramid blending and bilateral guided upsampling on every picture."""

import numpy as np

from spaces import APPS, evaluate
from spaces.apps.photographs import photograph
from spaces.apps.pipelines import bgu, pyramid_blend
from tests.apps.formulas import photograph as noise


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
