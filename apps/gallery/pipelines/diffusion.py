"""Anisotropic diffusion: four steps that stop at edges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, exp
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 512, 512
STEPS, RATE, EDGE = 4, 0.2, 0.15


def pipeline() -> Pipeline:
    """Each step adds the differences to four neighbours, each times a weight that falls with it."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    value: Func | ImageParam = image
    for n in range(STEPS):
        step = Func(f"step_{n}")
        centre = value[x + 1, y + 1]
        flow = None
        for i, j in ((0, 1), (2, 1), (1, 0), (1, 2)):
            apart = value[x + i, y + j] - centre
            part = apart * exp(-(apart * apart) / EDGE**2)
            flow = part if flow is None else flow + part
        assert flow is not None
        step[x, y] = centre + RATE * flow
        value = step
    assert isinstance(value, Func)
    around = [WIDTH + 2 * STEPS, HEIGHT + 2 * STEPS]
    return spaces.pipeline(
        value, name="diffusion", estimates={image: around, value: [WIDTH, HEIGHT]}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """The same with shifted arrays."""
    value: Array = inputs["image"].astype(np.float64)
    for _ in range(STEPS):
        centre = value[1:-1, 1:-1]
        neighbours = value[1:-1, :-2], value[1:-1, 2:], value[:-2, 1:-1], value[2:, 1:-1]
        apart = [one - centre for one in neighbours]
        value = centre + RATE * sum(d * np.exp(-((d / EDGE) ** 2)) for d in apart)
    return value


GALLERY_PIPELINE = GalleryPipeline(
    name="diffusion",
    kind=PipelineKind.BILATERAL,
    summary="four steps of anisotropic diffusion, 512x512, float32",
    pipeline=pipeline,
    expected=expected,
    small={"image": (45, 31), "step_3": (37, 23)},
)
