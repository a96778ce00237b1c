"""The lens blur keeps the focused depth sharp and blurs the others."""

import numpy as np

from spaces.apps.photographs import photograph
from spaces.apps.pipelines import lens_blur
from spaces.backend.reference import evaluate
from tests.apps.runs import FEW


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
