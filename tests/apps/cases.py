"""Apps at the sizes of tests: their inputs, schedules, and parts of their outputs."""

from functools import cache

import numpy as np

from spaces.apps.catalog import APPS
from spaces.apps.command_line.arguments import shapes
from spaces.apps.command_line.options import given_schedule
from spaces.apps.photographs import photograph as bundled
from tests.apps.formulas import photograph

SIZES = {"conv_layer": (7, 13), "sgemm": (71, 139), "stencil_chain": (23, 37)}
"""Rows and columns of photographs for schedules with larger tiles, or for more work a pixel."""

SMOOTH = {"max_filter"}
"""Apps that make only white of random pixels, so tests run them on the real photograph."""


def case(name, height=23, width=37):
    """Pipeline, inputs and output sizes of an app, on random pixels."""
    height, width = SIZES.get(name, (height, width))
    app = APPS[name]
    pipeline = app.pipeline()
    pixels = bundled(width, height) if name in SMOOTH else photograph(height, width)
    inputs = app.inputs(pipeline, pixels)
    if not inputs:
        return pipeline, inputs, {pipeline.outputs[0]: ((5, width), (-3, height))}
    return pipeline, inputs, app.sizes(pipeline, shapes(inputs))


@cache
def at_size(name):
    """The pipeline of an app as in its paper."""
    return APPS[name].pipeline()


@cache
def written(name, stem):
    """A pipeline and one of its hand-written schedules."""
    return at_size(name), given_schedule(APPS[name], at_size(name), stem).faultless()


def crop(ranges, whole=()):
    """``ranges`` without the first three and the last two coordinates of long dimensions, except
    the ``whole`` ones.
    """
    return tuple(
        (low + 3, extent - 5) if extent > 8 and d not in whole else (low, extent)
        for d, (low, extent) in enumerate(ranges)
    )


def embedded(array):
    """The same values with a stride between elements and gaps between rows."""
    *outer, inner = array.shape
    room = np.zeros((*outer, 2 * inner + 7), array.dtype)
    room[..., 3 : 3 + 2 * inner : 2] = array
    return room[..., 3 : 3 + 2 * inner : 2]
