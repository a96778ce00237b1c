"""Non-local means on noise, and on a picture whose pixels all look alike."""

import numpy as np

from spaces import APPS, evaluate
from spaces.apps.photographs import photograph
from spaces.apps.pipelines import nl_means


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
