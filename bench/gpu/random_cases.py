"""Random pipelines under random schedules: a bundle checks them beside the apps."""

from __future__ import annotations

from typing import Any

from bench.contenders import pipeline_of
from bench.cost_quality.random_pipelines import by_name
from bench.gpu.runner.folder import FULL, SMALL
from spaces.backend.arguments import Sizes
from spaces.model.algorithm.pipeline import Pipeline

CASES = 12
"""How many random pipelines are in a bundle of all apps."""

SCHEDULES = 4
"""How many schedules of each."""

DRAWS = 12
"""Schedules that are drawn at most for these; some leave a stage on the CPU."""

_WIDTH, _HEIGHT = 512, 256
"""Of the small images; whole tiles fit into most of them."""

_PREFIX = "random_"

_LIMITS = {"u": (0.0, 255.0), "f": (-1.0, 1.0)}
"""Between which the values of an image lie, by its kind of type."""


def names(count: int) -> tuple[str, ...]:
    """The names of that many random pipelines."""
    return tuple(f"{_PREFIX}{seed}" for seed in range(count))


def is_random(name: str) -> bool:
    """Whether a subject is a random pipeline, not an app."""
    return name.startswith(_PREFIX)


def subject_pipeline(name: str) -> Pipeline:
    """The pipeline of an app, or of a random case."""
    return by_name(name) if is_random(name) else pipeline_of(name)


def sizes_at(name: str) -> dict[str, tuple[int, int]]:
    """Width and height of the image at each size."""
    width, height = _estimated(subject_pipeline(name))["image"]
    return {SMALL: (_WIDTH, _HEIGHT), FULL: (width, height)}


def random_arguments(name: str, width: int, height: int) -> tuple[dict[str, Any], Sizes]:
    """The recipe of the image, and the size of the output."""
    pipeline = subject_pipeline(name)
    (image,), (output,) = pipeline.images, pipeline.outputs
    estimated = _estimated(pipeline)
    scaled = zip((width, height), estimated[output], estimated["image"], strict=True)
    sizes: Sizes = {output: tuple(n * part // whole for n, part, whole in scaled)}
    low, high = _LIMITS[image.type.dtype.kind]
    recipe = {
        "dtype": str(image.type.dtype),
        "shape": [height, width],
        "seed": seed_of(name),
        "smooth": False,
        "low": low,
        "high": high,
    }
    return {image.name: recipe}, sizes


def seed_of(name: str) -> int:
    """The seed of a random pipeline."""
    return int(name.removeprefix(_PREFIX))


def _estimated(pipeline: Pipeline) -> dict[str, tuple[int, ...]]:
    """The estimated extents of each buffer, innermost dimension first."""
    return {one.buffer: tuple(extent for _, extent in one.ranges) for one in pipeline.estimates}
