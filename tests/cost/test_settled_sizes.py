"""Formulas with sizes as numbers count what formulas over sizes do."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from spaces.apps.catalog import APPS
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.extraction import extract_features
from spaces.model.formulas.algebra import FormulaError
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES

SCHEDULES = [
    (name, path.stem)
    for name in ("blur", "unsharp", "harris", "camera_pipe", "bgu", "depthwise_conv", "nl_means")
    for path in APPS[name].schedules.values()
    if path.stem.startswith("cpu")
]


@pytest.mark.parametrize(("app", "name"), SCHEDULES)
def test_prices_are_those_of_formulas_over_sizes(app: str, name: str) -> None:
    pipeline = APPS[app].pipeline()
    schedule = parse_schedule(Path(APPS[app].schedules[name]).read_text(), pipeline)
    batch = Batch.of(pipeline, schedule)
    over_sizes = evolve(batch, formulas=extract_features(pipeline, schedule))
    numbers = pipeline.scalar_defaults()
    with pytest.raises(FormulaError, match=r"\.extent\."):
        over_sizes.formulas.read(numbers)
    batch.formulas.read(numbers)  # needs no sizes any more
    cost = Reuse.of(FOUR_CORES).cost
    assert float(cost(batch)) == pytest.approx(float(cost(over_sizes)), rel=0.01)


def test_other_sizes_are_counted_anew() -> None:
    pipeline = APPS["blur"].pipeline()
    schedule = parse_schedule(Path(APPS["blur"].schedules["cpu"]).read_text(), pipeline)
    cost = Reuse.of(FOUR_CORES).cost
    sizes = pipeline.sizes()
    twice = {name: 2 * size if ".extent." in name else size for name, size in sizes.items()}
    small, large = (float(cost(Batch.of(pipeline, schedule, sizes=one))) for one in (sizes, twice))
    assert 3.5 < large / small < 4.5
