"""The sizes at which apps are checked and timed: their inputs as recipes, and their references."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.contenders import legal, pipeline_of, sizes_of, written
from bench.gpu.random_cases import is_random, random_arguments, sizes_at, subject_pipeline
from bench.gpu.runner.checks import sampled
from bench.gpu.runner.folder import FULL, SMALL, write_arrays
from bench.gpu.runner.inputs import digest, made
from spaces.apps.catalog import APPS
from spaces.apps.command_line.arguments import shapes
from spaces.apps.photographs import photograph
from spaces.backend.arguments import Array, Sizes
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline

WIDTH, HEIGHT = 137, 43
"""Of the photograph of small sizes; no tile divides them."""

SMALLER = {"conv_layer": (13, 7), "vdsr": (17, 9), "learned_demosaic": (18, 12)}
"""The same, for apps with much work for a pixel."""

WHOLE = 1 << 16
"""Up to this many values of an output, all are kept."""

SAMPLE = 1 << 15
"""How many values are kept of larger ones."""

_SMOOTH = 0.5
"""Correlation between neighbors from which an input counts as smooth."""


def shown_at(app: str) -> dict[str, tuple[int, int]]:
    """Width and height of the photograph at each size."""
    if is_random(app):
        return sizes_at(app)
    return {SMALL: SMALLER.get(app, (WIDTH, HEIGHT)), FULL: APPS[app].paper_size}


def arguments_at(app: str, width: int, height: int) -> tuple[dict[str, Any], Sizes]:
    """The recipes of the inputs for a photograph of this size, and the sizes of all buffers."""
    if is_random(app):
        return random_arguments(app, width, height)
    pipeline = pipeline_of(app)
    make = APPS[app].inputs
    models = make(pipeline, photograph(*SMALLER.get(app, (WIDTH, HEIGHT))))
    sizes: Sizes
    if (width, height) == APPS[app].paper_size:
        sizes = sizes_of(app)
        wanted = {name: tuple(extent for _, extent in reversed(sizes[name])) for name in models}
    else:
        inputs = make(pipeline, photograph(width, height))
        sizes = (
            APPS[app].sizes(pipeline, shapes(inputs))
            if inputs
            else {pipeline.outputs[0]: ((5, width), (-3, height))}
        )
        wanted = {name: array.shape for name, array in inputs.items()}
    names = sorted(models)
    return {n: _recipe(seed, models[n], wanted[n]) for seed, n in enumerate(names)}, sizes


def size_record(app: str, size: str, width: int, height: int, folder: Path) -> dict[str, Any]:
    """What a bundle says of one size of an app. Writes the references into the bundle.

    Small sizes, and random pipelines, are evaluated by NumPy without a schedule, full ones by the
    schedule for CPUs.
    """
    pipeline = subject_pipeline(app)
    recipes, sizes = arguments_at(app, width, height)
    images = {name: made(recipe) for name, recipe in recipes.items()}
    if size == SMALL or is_random(app):
        results = evaluate(pipeline, images, sizes=sizes)
    else:
        results = compile_cpu(legal(pipeline, written(app, "cpu"))).run(images, sizes=sizes)
    file = f"references/{app}.{size}.npz"
    kept, outputs = {}, {}
    for name, array in results.items():
        outputs[name], kept[name] = _reference(array, file)
    (folder / "references").mkdir(exist_ok=True)
    write_arrays(folder / file, kept)
    return {
        "photograph": [width, height],
        "images": {
            name: {**recipe, "sha256": digest(images[name])} for name, recipe in recipes.items()
        },
        "outputs": outputs,
        "mins": _mins(pipeline, sizes, {**images, **results}),
    }


def _mins(pipeline: Pipeline, sizes: Sizes, arrays: Mapping[str, Array]) -> dict[str, list[int]]:
    """The least coordinate along each dimension of each buffer, dimension 0 first."""
    given = {
        buffer: ranges
        for name, ranges in sizes.items()
        for buffer in (pipeline.function(name).buffers if name in pipeline.outputs else (name,))
    }
    return {
        name: [_low(one) for one in given[name]] if name in given else [0] * array.ndim
        for name, array in arrays.items()
    }


def _low(given: int | tuple[int, int]) -> int:
    return given[0] if isinstance(given, tuple) else 0


def _reference(array: Array, file: str) -> tuple[dict[str, Any], Array]:
    """The record of an output, and the values that are kept of it."""
    record = {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "sha256": digest(array),
        "file": file,
    }
    if array.size <= WHOLE:
        return record, np.ascontiguousarray(array)
    seed = len(file)
    return {**record, "seed": seed}, array.reshape(-1)[sampled(array.shape, SAMPLE, seed)]


def _recipe(seed: int, array: Array, shape: tuple[int, ...]) -> dict[str, Any]:
    """How to make an array of a shape much like one: as smooth, and with values of the same range,
    or with the same mean and variance where it is not smooth.
    """
    values = array.astype(np.float64)
    low, high = float(values.min()), float(values.max())
    smooth = _is_smooth(values)
    if not smooth and array.dtype.kind == "f":
        reach = float(np.sqrt(3) * values.std())
        low, high = max(low, values.mean() - reach), min(high, values.mean() + reach)
    return {
        "dtype": str(array.dtype),
        "shape": list(shape),
        "seed": seed,
        "smooth": smooth,
        "low": float(np.float32(low)),
        "high": float(np.float32(high)),
    }


def _is_smooth(values: Array) -> bool:
    if values.ndim < 2 or min(values.shape[-2:]) < 2 or values.std() == 0:
        return False
    along = [np.moveaxis(values, axis, -1) for axis in (-1, -2)]
    return all(_correlation(one[..., 1:], one[..., :-1]) > _SMOOTH for one in along)


def _correlation(a: Array, b: Array) -> float:
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(np.corrcoef(a.reshape(-1), b.reshape(-1))[0, 1])
