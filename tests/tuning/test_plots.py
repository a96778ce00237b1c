"""The numbers of plots about studies, and a drawing of each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as some

from spaces.markup.charts.svg import chart_svg
from spaces.model.writing.text import parse_schedule
from spaces.plots import figures
from spaces.plots.decisions import (
    ScheduleDecision,
    decisions_of,
    explained_share,
    shared_by_best,
)
from spaces.plots.figures import PlotsUnavailable
from spaces.plots.plot import NothingToPlotError
from spaces.tuning.plots.decisions import study_decisions
from spaces.tuning.plots.funnel import FASTEST, OPEN, SLOWER, study_funnel
from spaces.tuning.plots.kinds import PlotKind, study_chart
from spaces.tuning.plots.plot import study_plot
from spaces.tuning.plots.predictions import rank_correlation, study_predictions
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.plots.standing import study_standings
from spaces.tuning.plots.study_record import StudyRecord, study_record, tuning_seconds
from spaces.tuning.schema import StoreError
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.trial import Trial, fastest
from tests.enumerate.pipelines import blur
from tests.pages_html import Read
from tests.tuning.studies import REFERENCE_SECONDS, TRIALS, known_study


@pytest.fixture(scope="module")
def record() -> Iterator[StudyRecord]:
    with known_study() as store:
        yield study_record(store, 1)


@cache
def empty() -> StudyRecord:
    with known_study(()) as store:
        return evolve(study_record(store, 1), reference_seconds=REFERENCE_SECONDS)


def results(ratios: Sequence[Sequence[float] | None]) -> StudyRecord:
    """A study whose runs have these ratios; None for an open trial, nothing for a failed one."""
    made = [evolve(TRIALS[n % 12], ratios=one) for n, one in enumerate(ratios)]
    trials = [Trial(n, one.proposal, one.result) for n, one in enumerate(made)]
    return evolve(empty(), trials=tuple(trials))


RATIOS = some.lists(
    some.none() | some.lists(some.floats(0.1, 10.0), max_size=7), min_size=1, max_size=8
)


@settings(max_examples=20, deadline=None)
@given(RATIOS)
def test_properties_that_hold_for_all_results(ratios: list[list[float] | None]) -> None:
    made = results(ratios)
    points = study_progress(made)
    assert len(points) == sum(one is not None for one in ratios)
    bests = [one.best for one in points if one.best is not None]
    assert bests == sorted(bests, reverse=True)  # it never rises
    ranked = fastest(made.trials)
    assert bool(bests) == bool(ranked)
    if ranked:
        assert bests[-1] == made.milliseconds(ranked[0])
    funnel = study_funnel(made)
    counts = [stage.count for stage in funnel.stages]
    assert counts == sorted(counts, reverse=True)  # it never grows
    assert sum(funnel.classes.values()) == len(ratios)  # every trial is in exactly one class
    for stage, later in zip(funnel.stages, funnel.stages[1:], strict=False):
        assert stage.count - sum(stage.lost.values()) == later.count
    standings = study_standings(made)
    assert [one.number for one in standings] == [
        one.number for one in ranked if one.number in {other.number for other in standings}
    ]


def test_best_so_far_is_chosen_by_the_sure_end_of_intervals(record: StudyRecord) -> None:
    points = study_progress(record)
    told = [(one.number, one.results) for one in points]
    assert told == [(number, number + 1) for number in range(11)]
    assert points[4].milliseconds == pytest.approx(7.1)  # the lucky one does not lead
    expected = [10, 8, 8, 8, 8, 7, 6.5, 6.0, 6.0, 6.0, 6.0]
    assert [one.best for one in points] == pytest.approx(expected)
    assert [one.number for one in points if one.milliseconds is None] == [3, 10]


def test_the_store_knows_when_results_came() -> None:
    before = time.time()
    with known_study() as store:
        (told,) = store.rows("SELECT min(told), max(told), count(told) FROM trials")
        (began,) = store.rows("SELECT began, count(*) FROM sessions")
        made = study_record(store, 1)
    assert before - 0.01 <= began[0] <= told[0] <= told[1] <= time.time() + 0.01
    assert (told[2], began[1]) == (11, 1)
    assert set(made.told) == set(range(11))
    assert made.told[10] == pytest.approx(told[1] - began[0])


def test_time_between_two_processes_does_not_count() -> None:
    told = {0: 90.0, 1: 103.0, 2: 110.0, 3: 1002.0, 4: 2001.0}
    began = [100.0, 1000.0, 1500.0, 2000.0]
    assert tuning_seconds(told, began) == {1: 3.0, 2: 10.0, 3: 12.0, 4: 13.0}
    assert tuning_seconds(told, []) == {}


def test_funnel_and_classes(record: StudyRecord) -> None:
    made = study_funnel(record)
    # 55 structures, and nine trials from elsewhere; three of the structures became trials
    counts = {stage.name: stage.count for stage in made.stages}
    assert counts == {
        "made": 64, "priced": 49, "legal": 29, "proposed": 12, "tried": 11, "measured": 9,
        FASTEST: 3,
    }  # fmt: skip
    lost = {stage.name: stage.lost for stage in made.stages}
    assert lost["made"] == {"without a cost": 15}
    assert lost["priced"] == {"too dear to judge, or illegal": 20}
    assert lost["legal"] == {"not proposed": 17}
    assert lost["tried"] == {"crashed": 2}
    # two lie beside each other, and the one with two runs may be anywhere
    assert made.classes == {OPEN: 1, "crashed": 2, SLOWER: 6, FASTEST: 3}


def test_funnels_of_older_stores_begin_with_prices(record: StudyRecord) -> None:
    made = study_funnel(evolve(record, counts=SearchCounts(40)))
    assert [(one.name, one.count) for one in made.stages[:2]] == [("priced", 49), ("proposed", 12)]
    assert made.stages[0].lost == {"not proposed": 37}


def test_predictions_name_the_odd_ones(record: StudyRecord) -> None:
    made = study_predictions(record)
    assert {one.number for one in made.points} == {2, 4, 5, 6, 7, 8, 9}
    assert made.unpriced == 2
    (odd,) = made.odd
    assert odd.prediction.number == 8
    # 50 ms for a cost of 20; the median trial takes 7 ms for 28
    assert odd.prediction.error == pytest.approx(50 / 20 / (7 / 28))
    assert (ScheduleDecision("blur_y", "split y by"), 8, 3 / 9) not in odd.rare
    # the ranks of costs and times differ by 1, 1, 2, 2, 2, 6 and 0
    assert made.ranks == pytest.approx(1 - 6 * 50 / (7 * 48))


def test_rank_correlation_is_that_of_ranks() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 1e9]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # 1 - 6 * (1 + 1) / (4 * 15)
    assert rank_correlation([1, 2, 3, 4], [2, 1, 3, 4]) == pytest.approx(0.8)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    assert rank_correlation([1, 2], [1, 2]) is None


def test_decisions_have_the_names_of_dimensions() -> None:
    text = (
        "blur_y.split(y, y, yi, 32).parallel(y).vectorize(x, 16);"
        "blur_x.store_at(blur_y, y).compute_at(blur_y, yi).unroll(x, 2)"
    )
    found = {
        str(one): value for one, value in decisions_of(blur(), parse_schedule(text, blur())).items()
    }
    assert found == {
        "blur_y: computed": "root",
        "blur_y: split y by": 32,
        "blur_y: split x by": 16,
        "blur_y: parallel": "y.0",
        "blur_y: vectorized": "x.1",
        "blur_y: loops": "y.0 y.1 x.0 x.1",
        "blur_x: computed": "in blur_y y.1",
        "blur_x: stored": "in blur_y y.0",
        "blur_x: split x by": 2,
        "blur_x: unrolled": "x.1",
        "blur_x: loops": "y x.0 x.1",
    }
    inlined = decisions_of(blur(), parse_schedule("", blur()))
    assert inlined[ScheduleDecision("blur_x", "computed")] == "inline"
    assert [one.what for one in inlined if one.stage == "blur_x"] == ["computed"]


def test_a_table_has_what_differs_and_the_best_share_lanes(record: StudyRecord) -> None:
    table = study_decisions(record)
    assert [row.name for row in table.rows] == [f"trial {one.number}" for one in record.ranked]
    columns = {str(one.decision): one for one in table.columns}
    assert set(columns) == {"blur_y: split y by", "blur_y: split x by"}
    assert columns["blur_y: split x by"].values == tuple(
        TRIALS[one.number].lanes for one in record.ranked
    )
    assert table.common[ScheduleDecision("blur_y", "parallel")] == "y.0"
    shared = shared_by_best(table, 3)  # trials 7, 9 and 6
    assert [row.name for row in table.rows[:3]] == ["trial 7", "trial 9", "trial 6"]
    assert not shared.shared
    shared = shared_by_best(table, 1)
    assert {(str(one.decision), one.value, one.others) for one in shared.shared} == {
        ("blur_y: split y by", 64, 0), ("blur_y: split x by", 8, 3),
    }  # fmt: skip


def test_explained_share_of_groups() -> None:
    assert explained_share(["a", "a", "b", "b"], [1.0, 1.0, 2.0, 2.0]) == 1.0
    assert explained_share(["a", "b", "a", "b"], [1.0, 1.0, 2.0, 2.0]) == 0.0
    assert explained_share(["a", "b", "c"], [1.0, 2.0, 3.0]) == 0.0  # each is its own group


def test_standing_has_the_reference_and_the_hand_schedule(record: StudyRecord) -> None:
    made = {one.number: one for one in study_standings(record, 2)}
    assert set(made) == {7, 9, 1, 0}
    assert made[0].times_best == pytest.approx(1 / 0.6)
    assert (made[1].milliseconds, made[1].low, made[1].high) == pytest.approx((8.0, 8.0, 8.0))


@pytest.mark.parametrize("kind", PlotKind)
def test_every_plot_is_drawn(record: StudyRecord, kind: PlotKind) -> None:
    plot = study_plot(record, kind)
    read = Read(plot._repr_html_())
    assert plot.chart.title in read.text
    values = [value for _, attributes in read.elements for value in attributes.values()]
    assert not any("nan" in value or "inf" in value for value in values)


def test_matplotlib_draws_the_same(record: StudyRecord, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    for kind in PlotKind.TRIALS, PlotKind.DECISIONS, PlotKind.STANDING:
        plot = study_plot(record, kind)
        (axes,) = plot.figure().axes
        written = {text.get_text() for text in axes.texts}
        drawn = set(Read(chart_svg(plot.chart)).words)
        assert written < drawn
        hints = {words for words in drawn - written if words.startswith("trial ")}
        assert drawn - written - hints == {plot.chart.title}
    for format, magic in ("png", b"\x89PNG"), ("svg", b"<?xml"):
        path = tmp_path / f"funnel.{format}"
        study_plot(record, PlotKind.FUNNEL).write(path)
        assert path.read_bytes().startswith(magic)


def test_names_stand_apart(record: StudyRecord) -> None:
    chart = study_chart(record, PlotKind.PREDICTIONS)
    assert chart is not None
    assert "trial 8" in Read(chart_svg(chart)).text


def test_a_study_without_results_says_what_it_lacks() -> None:
    made = results([None, None])
    assert study_chart(made, PlotKind.FUNNEL) is not None
    for kind in set(PlotKind) - {PlotKind.FUNNEL}:
        with pytest.raises(NothingToPlotError, match=r"^Study 1 of :memory: has no numbers for"):
            study_plot(made, kind)
    with pytest.raises(ValueError, match="There is no plot 'pie' of a study; there are trials,"):
        study_plot(made, "pie")
    with known_study() as store, pytest.raises(StoreError, match="has no study 7"):
        study_record(store, 7)


def test_pictures_name_the_extra(record: StudyRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(figures.importlib, "import_module", missing)
    with pytest.raises(PlotsUnavailable, match=r"need matplotlib, .*: pip install '.\[plots\]'"):
        study_plot(record).figure()
