"""How far each price lies below its highest so far, for many series."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, values_in
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SERIES, DAYS = 5000, 2520


def pipeline() -> Pipeline:
    """A running maximum over the days, less the prices."""
    s, t = Var("s"), Var("t")
    prices = ImageParam(Int32, 2, "prices")
    peak, output = Func("peak"), Func("output")
    day = RDom([(1, prices.height() - 1)], "day")
    peak[s, t] = prices[s, t]
    peak[s, day] = spaces.max(peak[s, day - 1], prices[s, day])
    output[s, t] = peak[s, t] - prices[s, t]
    size = [SERIES, DAYS]
    return spaces.pipeline(output, name="drawdown", estimates={prices: size, output: size})


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's running maximum."""
    prices = inputs["prices"]
    below: Array = np.maximum.accumulate(prices) - prices
    return below


GALLERY_PIPELINE = GalleryPipeline(
    name="drawdown",
    kind=PipelineKind.SCANS,
    summary="running maximum less the value, 5000 series, int32",
    pipeline=pipeline,
    expected=expected,
    inputs={"prices": values_in(1, 1_000_000)},
    small={"prices": (37, 23), "output": (37, 23)},
)
