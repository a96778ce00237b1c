"""Every pipeline of the gallery computes its formula, as the evaluator and as machine code do."""

import json
from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
from attrs import evolve

from spaces.apps.catalog import APPS, find
from spaces.apps.gallery.catalog import GALLERY
from spaces.apps.gallery.kind import PipelineKind
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.legality.verify import verify
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from tests.apps.command_line import spaces
from tests.cpus import FOUR_CORES
from tests.differential.quick_code import quick_code
from tests.draw_counts import some


@cache
def pipeline_of(name):
    return GALLERY[name].pipeline()


def small_run(name):
    """The pipeline, its small inputs and the small size of its output."""
    one, pipeline = GALLERY[name], pipeline_of(name)
    inputs = one.arrays(pipeline, one.small)
    (output,) = pipeline.outputs
    return pipeline, inputs, {output: list(one.small[output])}


def estimated_as(pipeline, extents):
    """The pipeline with other estimates."""
    estimates = [
        evolve(one, ranges=tuple((0, extent) for extent in extents[one.buffer]))
        for one in pipeline.estimates
    ]
    return evolve(pipeline, estimates=tuple(estimates))


def assert_expected(one, inputs, actual):
    expected = one.expected(inputs)
    assert actual.shape == expected.shape
    if actual.dtype.kind in "iub":
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
        assert np.unique(actual).size > 1
    else:
        assert expected.dtype == np.float64
        scale = np.abs(expected).max()
        np.testing.assert_allclose(actual, expected, rtol=0, atol=one.tolerance * scale)
        assert np.ptp(expected) > 100 * one.tolerance * scale


@pytest.mark.parametrize("name", GALLERY)
def test_a_pipeline_computes_its_formula(name):
    one = GALLERY[name]
    pipeline, inputs, sizes = small_run(name)
    (output,) = pipeline.outputs
    assert_expected(one, inputs, evaluate(pipeline, inputs, sizes=sizes)[output])


# Searching and compiling larger ones takes seconds each.
SMALL = some(name for name in GALLERY if len(pipeline_of(name).functions) <= 3)
OPTIMISED = set(some(SMALL))


@pytest.mark.parametrize("name", SMALL)
def test_a_found_schedule_computes_its_formula(name):
    one = GALLERY[name]
    pipeline, inputs, sizes = small_run(name)
    (output,) = pipeline.outputs
    space = ScheduleSpace(estimated_as(pipeline, one.small), FOUR_CORES)
    found = best(search(space, strategy="stagewise", limits=Limits(top=1, structures=8)))
    checked = verify(space.pipeline, found.best[0].schedule, FOUR_CORES)
    with nullcontext() if name in OPTIMISED else quick_code():
        compiled = compile_cpu(checked, threads=2)
    assert_expected(one, inputs, compiled.run(inputs, sizes=sizes)[output])


def test_names_and_kinds_are_told_apart():
    assert not GALLERY.keys() & APPS.keys()
    assert {one.kind for one in GALLERY.values()} == set(PipelineKind)
    for name in GALLERY:
        assert pipeline_of(name).name == name


@pytest.mark.parametrize("name", GALLERY)
def test_the_inputs_have_the_estimated_sizes_in_total_below_a_gigabyte(name):
    pipeline = pipeline_of(name)
    sizes = {e.buffer: [extent for _, extent in e.ranges] for e in pipeline.estimates}
    elements = [np.prod(sizes[one]) for one in [i.name for i in pipeline.images]]
    assert sum(elements) * 8 < 2**30
    assert set(sizes) == {*(i.name for i in pipeline.images), *pipeline.outputs}


def test_commands_know_the_pipelines_of_the_gallery():
    app = find("guided_filter")
    inputs = app.inputs(app.pipeline(), np.zeros((2, 2, 3), np.uint8))
    assert {name: array.shape for name, array in inputs.items()} == {
        "guide": (1096, 1936),
        "image": (1096, 1936),
    }


def test_the_list_names_the_gallery_by_kind():
    listed = json.loads(spaces("list", "--gallery", "--json")[0])
    assert {one["name"]: one["kind"] for one in listed} == {
        name: one.kind for name, one in GALLERY.items()
    }
    shown, _ = spaces("list", "--gallery")
    assert "3840 x 2160" in next(row for row in shown.splitlines() if "integral_boxes" in row)
