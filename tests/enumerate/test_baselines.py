"""Random draws, Latin hypercubes, the bandit over moves, and Optuna."""

from __future__ import annotations

import importlib
import math
import random
from collections import Counter

import pytest

import spaces
from spaces import Limits, Options, ScheduleSpace
from spaces.enumerate.search.neighbours.bandit import Credits
from spaces.enumerate.search.neighbours.latin_hypercube import LatinHypercube, Strata
from spaces.enumerate.search.neighbours.optuna_search import OptunaSearch, OptunaUnavailableError
from spaces.enumerate.search.neighbours.random_draws import RandomDraws
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

BLUR = blur(2048, 2048)
TILES = Options(
    root=("tiles",),
    placements=("inline", "root"),
    row_tiles=(32, 64, 128, 256),
    tiles=(8, 16),
    lanes=(1,),
)
EXPERT = ScheduleSpace(BLUR, FOUR_CORES, Options.expert(FOUR_CORES))


def test_a_round_hits_each_stratum_once() -> None:
    strata, size = Strata(8, random.Random(2)), 8
    for name in ("compute", "factor"):
        numbers = [strata.number(name, sample) for sample in range(size)]
        assert sorted(math.floor(number * size) for number in numbers) == list(range(size))


def test_options_come_equally_often() -> None:
    """Of eight schedules, two have each of four widths and four each of two heights; in half of
    them the producer is inlined.
    """
    space = ScheduleSpace(BLUR, FOUR_CORES, TILES)
    for seed in range(3):
        samples = LatinHypercube(size=8).draw_round(space, random.Random(seed), space.draws(0))
        schedules = [one.schedule for one in samples]
        splits = [one.of("blur_y").stages[0].splits for one in schedules]
        assert Counter(one[0].factor for one in splits) == dict.fromkeys((32, 64, 128, 256), 2)
        assert Counter(one[1].factor for one in splits) == dict.fromkeys((8, 16), 4)
        inlined = [one.of("blur_x").compute.is_inline for one in schedules]
        assert inlined.count(True) == 4


def test_loops_one_by_one_come_from_draws() -> None:
    """The structures are those of the draws; only numbers differ."""
    found = list(LatinHypercube(size=3).draw_round(EXPERT, random.Random(0), EXPERT.draws(5)))
    legal = (draw.schedule for draw in EXPERT.draws(5) if draw.schedule is not None)
    assert len(found) == 3
    for sample, schedule in zip(found, legal, strict=False):
        forms = [spaces.canonical_form(BLUR, one) for one in (sample.schedule, schedule)]
        assert forms[0].loops == forms[1].loops
        parts = [{n: p for n, p in one.parts.items() if " factor " not in n} for one in forms]
        assert parts[0] == parts[1]


def test_random_search_prices_the_draws_of_its_seed() -> None:
    space = ScheduleSpace(BLUR, FOUR_CORES, TILES)
    limits = Limits(top=200, apart=1, seed=4)
    done = spaces.best(spaces.search(space, "reuse", RandomDraws(draws=12), limits))
    legal = []
    for _, draw in zip(range(12), space.draws(4), strict=False):
        legal += [draw.schedule] if draw.schedule is not None else []
    assert done.structures == len(legal) > 4


def test_credit_by_area_under_the_curve() -> None:
    """By hand: of three uses the last two improved, so 2 * (2 + 3) / (3 * 4) = 5/6; of one use none
    did. h = 4 uses in all.
    """
    credits = Credits(("a", "b", "c"), window=4, exploration=0.05)
    assert credits.of("a") == math.inf
    for arm, improved in (("a", True), ("b", False), ("a", False), ("a", True), ("a", True)):
        credits.add(arm, improved)  # the window forgets the first
    explored = 0.05 * math.sqrt(2 * math.log(4) / 3)
    assert credits.of("a") == pytest.approx(5 / 6 + explored)
    assert credits.of("b") == pytest.approx(0.05 * math.sqrt(2 * math.log(4)))
    assert credits.next(random.Random(0)) == "c"  # never used
    credits.add("c", False)
    assert credits.next(random.Random(0)) == "b"  # the window forgets its use
    credits.add("b", False)
    assert credits.next(random.Random(0)) == "a"


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    space = ScheduleSpace(BLUR, FOUR_CORES, TILES)
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(OptunaUnavailableError, match=r"pip install '\.\[optuna\]'"):
        list(OptunaSearch()(space, spaces.cost_model("reuse", FOUR_CORES), Limits()))


def test_optuna_learns_what_is_cheap() -> None:
    """After 40 trials it is near the minimum."""
    pytest.importorskip("optuna")
    space = ScheduleSpace(BLUR, FOUR_CORES, TILES)
    exact = spaces.best(spaces.search(space, "reuse", "exhaustive")).best[0].cost
    found = spaces.best(spaces.search(space, "reuse", OptunaSearch(trials=40, startup=5)))
    assert found.best[0].cost <= exact * 1.05
