"""Searches price the nests that a decision changes, and return the costs of whole schedules."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from spaces import ScheduleSpace, best, cost_model, device, search
from spaces.apps.catalog import APPS
from spaces.apps.command_line.options import given_schedule
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.model import AdditiveModel, FunctionModel
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.stagewise.changed_nests import nests_of
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.var import Var
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import some


@cache
def searched(app: str) -> Found:
    """What a search finds of patterns."""
    space = ScheduleSpace(APPS[app].pipeline(), FOUR_CORES).of_patterns
    return best(search(space, Reuse.of(FOUR_CORES))).best[0]


@pytest.mark.parametrize("app", some(["unsharp", "harris", "hist", "sgemm"]))
def test_a_search_returns_the_cost_of_the_whole_schedule(app: str) -> None:
    space = ScheduleSpace(APPS[app].pipeline(), FOUR_CORES).of_patterns
    model = Reuse.of(FOUR_CORES)
    assert isinstance(model, AdditiveModel)
    found = searched(app)
    assert found.cost == pytest.approx(float(model.cost(Batch.of(space.pipeline, found.schedule))))


@pytest.mark.parametrize(("app", "name"), [("unsharp", "occupancy"), ("harris", "roofline")])
def test_a_search_for_a_gpu_does_so_too(app: str, name: str) -> None:
    gpu = device("sm_90")
    space, model = ScheduleSpace(APPS[app].pipeline(), gpu).of_patterns, cost_model(name, gpu)
    assert isinstance(model, AdditiveModel)
    found = best(search(space, model)).best[0]
    assert found.cost == pytest.approx(float(model.cost(Batch.of(space.pipeline, found.schedule))))
    by_hand = given_schedule(APPS[app], space.pipeline, "gpu").faultless()
    assert found.cost <= 1.1 * float(model.cost(Batch.of(space.pipeline, by_hand)))


@pytest.mark.parametrize("app", some(["unsharp", "harris", "hist"]))
def test_the_price_of_some_nests_ranks_like_that_of_all(app: str) -> None:
    """The same model as a function is asked about whole pipelines; what is found costs the same."""
    space = ScheduleSpace(APPS[app].pipeline(), FOUR_CORES).of_patterns
    whole = FunctionModel(Reuse.of(FOUR_CORES).cost)
    assert not isinstance(whole, AdditiveModel)
    found = best(search(space, whole)).best[0]
    assert np.isclose(searched(app).cost, found.cost, rtol=0.05)


def test_nests_have_the_funcs_that_are_inlined_into_others_too() -> None:
    x = Var("x")
    shared, first, out = Func("shared"), Func("first"), Func("out")
    shared[x] = x * 2
    first[x] = shared[x] + 1
    out[x] = first[x] + shared[x + 1] + shared[x + 2]
    pipe = pipeline(out, estimates={out: [64]})
    entries = parse_schedule("first.compute_root()", pipe).funcs
    found = nests_of(pipe, entries, ["first"])
    assert found is not None
    assert (found.roots, found.funcs) == ({"first"}, {"first", "shared"})
