"""The terms of reuse: each counts for something, and goes with its name or with its prices."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import attrs
import numpy as np
import pytest

from spaces.apps.catalog import APPS
from spaces.cost.batch import Batch
from spaces.cost.cpu.catalogue import PRICES, TERMS, UnknownTermError, term_names
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.cpu.term import CostTerm
from spaces.cost.training import PricedRun
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES

SUMS = (
    # Each vector of sums waits for its last term, and reads what was stored just before.
    "out.update(0).split(x, x, xv, 8).reorder(xv, r.x, x).vectorize(xv)\n"
    "near.compute_at(out, x).split(x, x, xv, 8).vectorize(xv)",
    # Threads add to the same elements.
    "out.update(0).reorder(x, r.x).atomic().parallel(r.x)\nnear.compute_root()",
    # A vector takes more registers than there are; so do the sums of an unrolled loop.
    "out.split(x, x, xv, 1024).vectorize(xv)\nnear.compute_root()",
    "out.update(0).split(x, x, xi, 64).reorder(xi, r.x, x).unroll(xi)\nnear.compute_root()",
    "out.split(x, x, xi, 32).fuse(x, xi, f).parallel(f)\nnear.compute_root()",
)


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    """Schedules in which each term counts for something."""
    found = []
    for app in ("harris", "sgemm"):
        pipe = APPS[app].pipeline()
        text = APPS[app].schedules["cpu"].read_text()
        found.append(Batch.of(pipe, parse_schedule(text, pipe, 256)))
    x, r = Var("x"), RDom([(0, 64)], name="r")
    image, near, out = ImageParam(Float32, 1, "image"), Func("near"), Func("out")
    near[x] = image[x] * 2.0
    out[x] = 0.0
    out[x] += near[x + r.x]
    pipe = pipeline(out, estimates={out: [4096], image: [4160]})
    found += [Batch.of(pipe, parse_schedule(text, pipe)) for text in SUMS]
    return [*found, _sums_over_rows(), _cut_off_sums(), _sliding(), _foreign()]


def _foreign() -> Batch:
    """Foreign code whose cost is not stated."""
    x, image, code = Var("x"), ImageParam(Float32, 1, "image"), Func("code")
    code.define_extern("smooth", [image], Float32, [x])
    return Batch.of(pipeline(code, estimates={code: [4096]}), parse_schedule("", pipeline(code)))


def _sliding() -> Batch:
    """A window that slides along rows."""
    x, y = Var("x"), Var("y")
    near, out = Func("near"), Func("out")
    near[x, y] = x + y
    out[x, y] = near[x, y] + near[x + 1, y]
    pipe = pipeline(out, estimates={out: [64, 64]})
    return Batch.of(pipe, parse_schedule("near.compute_at(out, x).store_at(out, y)", pipe))


def _sums_over_rows() -> Batch:
    """Each of many lanes reads another row, and their lines do not fit the first cache."""
    x, r = Var("x"), RDom([(0, 1024)], name="r")
    image, out = ImageParam(Float32, 2, "image"), Func("out")
    out[x] = 0.0
    out[x] += image[r, x]
    pipe = pipeline(out, estimates={out: [4096], image: [1024, 4096]})
    text = "out.update(0).split(x, x, xv, 64).reorder(xv, r.x, x).vectorize(xv)"
    return Batch.of(pipe, parse_schedule(text, pipe))


def _cut_off_sums() -> Batch:
    """A guard switches off lanes of sums that no register keeps."""
    x, y, r = Var("x"), Var("y"), RDom([(0, 8)], name="r")
    image, out = ImageParam(Float32, 3, "image"), Func("out")
    out[x, y] = 0.0
    out[x, y] += image[x, r, y]
    pipe = pipeline(out, estimates={out: [24, 64]})
    row = "split(x, x, xv, 16, TailStrategy::GuardWithIf).vectorize(xv)"
    text = f"out.update(0).{row}.reorder(xv, x, r.x, y)"
    return Batch.of(pipe, parse_schedule(text, pipe))


def without(*names: str) -> Reuse:
    return Reuse(FOUR_CORES).without(*names)


def costs(model: Reuse, batches: list[Batch]) -> list[float]:
    return [float(model.cost(one)) for one in batches]


def test_names_are_those_of_one_term_and_of_one_price() -> None:
    for names in (term_names(), [one.name for one in PRICES]):
        assert max(Counter(names).values()) == 1
    assert {"loads", "missing pointers", "stalls", "rows from l3"} <= set(term_names())
    assert [one.name for one in attrs.fields(Prices)] == [one.name for one in PRICES]


@pytest.mark.parametrize("term", TERMS, ids=lambda one: one.name)
def test_a_term_counts_until_it_is_left_out(term: CostTerm[Any], batches: list[Batch]) -> None:
    """A term that is off by default gets a price."""
    prices = attrs.evolve(Prices(), **{one.name: one.cycles or 1.0 for one in term.owns})
    model = Reuse(FOUR_CORES, prices)
    whole, less = costs(model, batches), costs(model.without(term.name), batches)
    assert all(a <= b for a, b in zip(less, whole, strict=True))
    assert less != whole


@pytest.mark.parametrize("term", [one for one in TERMS if one.owns], ids=lambda one: one.name)
def test_twice_its_prices_are_twice_its_cycles(term: CostTerm[Any], batches: list[Batch]) -> None:
    """So a term whose prices are all 0 need not be calculated, whatever other prices are."""
    others = [one.name for one in TERMS if one is not term]
    once, twice = (
        attrs.evolve(Prices(), **{one.name: times * (one.cycles or 1.0) for one in term.owns})
        for times in (1, 2)
    )
    single = costs(Reuse(FOUR_CORES, once).without(*others), batches)
    assert costs(Reuse(FOUR_CORES, twice).without(*others), batches) == [2 * one for one in single]
    assert any(single)


def test_terms_are_left_out_together(batches: list[Batch]) -> None:
    model = without("stalls", "loads")
    assert model == without("loads").without("stalls")
    assert pickle.loads(pickle.dumps(model)) == model
    assert costs(without(*term_names()), batches) == [0.0] * len(batches)
    for batch in batches:
        parts = model.parts(batch.features)
        whole = sum(float(one) for of in parts.values() for one in of.values())
        assert whole == pytest.approx(float(model.cost(batch)), rel=1e-12)


def test_names_that_no_term_has_are_told() -> None:
    with pytest.raises(UnknownTermError, match=r"'mising pointers' .is missing pointers meant"):
        without("loads", "mising pointers")
    with pytest.raises(TypeError, match=r"No price is called 'lode' .is load meant"):
        Prices(lode=1.0)


def test_a_fit_leaves_prices_of_0_alone(batches: list[Batch]) -> None:
    """Times of loads that cost 3 times as much as at the start."""
    start = attrs.evolve(Prices(), stall=0.0)
    times = costs(Reuse(FOUR_CORES, attrs.evolve(start, load=2.7)), batches)
    runs = [PricedRun("one", *of) for of in zip(batches, times, strict=True)]
    found = Reuse(FOUR_CORES, start).retrain(runs).prices
    assert attrs.asdict(found)["stall"] == 0.0
    assert attrs.asdict(found)["load"] / attrs.asdict(found)["store"] > 1.5


def test_a_fit_passes_over_times_that_nothing_explains(batches: list[Batch]) -> None:
    """One schedule in eight takes 50 times as long as its price; the others count."""
    truth = attrs.evolve(Prices(), load=2.7)
    times = costs(Reuse(FOUR_CORES, truth), batches)
    odd = [50.0 if place % 8 == 4 else 1.0 for place in range(len(batches))]
    runs = [
        PricedRun("one", batch, time * factor)
        for batch, time, factor in zip(batches, times, odd, strict=True)
    ]
    found = costs(Reuse(FOUR_CORES).retrain(runs), batches)
    ratios = np.array([a / b for a, b, one in zip(found, times, odd, strict=True) if one == 1.0])
    assert np.log(ratios / np.median(ratios)).std() < 0.02


def test_a_run_without_weight_teaches_nothing(batches: list[Batch]) -> None:
    times = costs(Reuse(FOUR_CORES, attrs.evolve(Prices(), load=2.7)), batches)
    runs = [PricedRun("one", *of) for of in zip(batches, times, strict=True)]
    wrong = [PricedRun("one", batch, 1.0, weight=0.0) for batch in batches]
    with_wrong = Reuse(FOUR_CORES).retrain([*runs, *wrong]).prices
    assert attrs.astuple(with_wrong) == pytest.approx(
        attrs.astuple(Reuse(FOUR_CORES).retrain(runs).prices), rel=1e-6
    )
