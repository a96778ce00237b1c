"""Pages about searches: they stand alone, have a part for each question, and compare with schedules
by hand.
"""

import itertools
import math
import re

import pytest
from attrs import evolve

import spaces
from spaces.markup.charts.chart import Bars, Parallel, Plane
from spaces.pages.search_page import search_page
from spaces.plots.decisions import RankedSchedule, ScheduleDecision, decision_table, shared_by_best
from spaces.plots.searches.search_decisions import BY_COST
from tests.cpus import FOUR_CORES
from tests.pages_html import Read, assert_stands_alone

CPU = FOUR_CORES

BLUR = spaces.APPS["blur"].pipeline()


def schedule(text):
    return spaces.parse_schedule(text, BLUR, 256)


BY_HAND = schedule("blur_y.split(y, y, yi, 32).parallel(y); blur_x.compute_at(blur_y, y)")


@pytest.fixture(scope="module")
def done():
    space = spaces.ScheduleSpace(BLUR, CPU, spaces.Options.small(CPU))
    return spaces.best(spaces.search(space, limits=spaces.Limits(top=5)))


@pytest.fixture(scope="module")
def report(done):
    space = spaces.ScheduleSpace(BLUR, CPU, spaces.Options.small(CPU))
    beside = {"rows": BY_HAND, "tiles": schedule("blur_y.gpu_tile(x, y, xi, yi, 16, 16)")}
    return spaces.search_report(done, space, by_hand=beside)


def test_a_page_needs_nothing_from_elsewhere(report):
    assert_stands_alone(report.html)


def test_every_part_is_there(report):
    read = Read(report.html)
    assert [section["id"] for section in read.all("section")] == [
        "time", "structures", "standing", "funnel", "costs", "decisions", "shared", "schedules",
        "list",
    ]  # fmt: skip
    ids = {attributes["id"] for _, attributes in read.elements if "id" in attributes}
    assert {a["href"] for a in read.all("a")} <= {f"#{one}" for one in ids}


def test_the_schedule_by_hand_stands_beside(done, report):
    """Its cost is that of the model alone."""
    alone = spaces.price(spaces.verify(BLUR, BY_HAND, CPU))
    times = alone.cost / done.best[0].cost
    assert times > 1
    text = Read(report.html).text
    assert f"{times:.2f} ×the cost of the cheapest: the schedule by hand, rows" in text
    assert "No schedule by hand is cheaper by the model." in text
    assert "From the schedule by hand, rows, to the cheapest that was found" in text
    assert "the space calls them illegal: tiles." in text
    (rows,) = [one for one in report.json()["schedules"] if one["by_hand"]]
    assert rows["cost"] == alone.cost
    assert math.isclose(sum(part["cost"] for part in rows["parts"]), alone.cost)


def test_shares_of_costs_are_of_the_cheapest(done, report):
    """Each column adds up to the cost of its schedule, over that of the first."""
    last = done.best[-1].cost / done.best[0].cost
    shown = f"{last:.1%}".replace("%", " %")
    text = Read(report.html).text
    assert re.search(rf"all100\.0 %.*{re.escape(shown)}", text)
    alone = spaces.price(spaces.verify(BLUR, done.best[0].schedule, CPU))
    (dearest, cost), *_ = alone.by_func.items()
    assert f"{dearest}{cost / alone.cost:.1%}".replace("%", " %") in text


def test_a_cheaper_schedule_by_hand_is_said(done, report):
    (mine,) = report.record.by_hand
    cheaper = evolve(mine, cost=done.best[0].cost / 2)
    text = Read(search_page(evolve(report.record, by_hand=(cheaper,)))).text
    assert "The schedule by hand, rows, is cheaper by the model than what was found" in text


def test_a_search_counts_what_it_looked_at(done):
    stages = spaces.search_funnel(done)
    assert [one.name for one in stages] == ["looked at", "priced", "legal", "returned"]
    assert stages[1].count == done.structures


def test_a_funnel_never_grows():
    found = (spaces.Found(1.0, BY_HAND),)
    known = spaces.Done(found, 40, 900, True, considered=100, legal=30)
    stages = spaces.search_funnel(known)
    assert [(one.name, one.count, one.lost) for one in stages] == [
        ("looked at", 100, {"without a cost": 60}),
        ("priced", 40, {"too dear to judge, or illegal": 10}),
        ("legal", 30, {"dearer": 29}),
        ("returned", 1, {}),
    ]
    judged_first = spaces.search_funnel(evolve(known, structures=20))
    assert [(one.name, one.count) for one in judged_first[1:3]] == [("legal", 30), ("priced", 20)]
    assert [one.name for one in spaces.search_funnel(evolve(known, considered=0, legal=0))] == [
        "priced", "returned",
    ]  # fmt: skip


def test_the_way_to_the_best_is_in_the_table_of_decisions(done, report):
    table = spaces.search_decisions(report.record)
    costs = [row.value for row in table.rows]
    assert costs == sorted(costs)
    assert sum(row.is_by_hand for row in table.rows) == 1
    passed = [row for row in table.rows if row.name.startswith("cheapest after")]
    assert passed
    assert {row.value for row in passed} <= {step.cost for step in done.improvements}
    assert len(table.rows) == len(done.best) + 1 + len(passed)
    assert {step.cost for step in done.improvements} <= set(costs)
    pairs = itertools.combinations(table.rows, 2)
    assert not any(spaces.same_schedule(BLUR, a.schedule, b.schedule) for a, b in pairs)
    last = done.improvements[-1]
    assert spaces.price(spaces.verify(BLUR, last.schedule, CPU)).cost == pytest.approx(last.cost)


def test_without_others_the_best_share_what_all_have():
    rows = [
        RankedSchedule("one", schedule("blur_y.parallel(y).vectorize(x, 8)"), 1.0),
        RankedSchedule("two", schedule("blur_y.parallel(y).vectorize(x, 16)"), 2.0),
    ]
    shared = shared_by_best(decision_table(BLUR, rows, BY_COST))
    assert [(str(one.decision), one.values) for one in shared.differing] == [
        ("blur_y: split x by", (8, 16)),
    ]  # fmt: skip
    found = {one.decision: (one.value, one.of_others) for one in shared.shared}
    assert found[ScheduleDecision("blur_y", "parallel")] == ("y", 0)
    assert found[ScheduleDecision("blur_x", "computed")] == ("inline", 0)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [("time", Plane), ("structures", Plane), ("funnel", Bars), ("standing", Bars),
     ("decisions", Parallel)],
)  # fmt: skip
def test_every_plot_is_drawn(report, kind, shape):
    plot = spaces.search_plot(report.record, kind)
    assert isinstance(plot.chart, shape)
    read = Read(plot._repr_html_())
    values = [value for _, attributes in read.elements for value in attributes.values()]
    assert not any("nan" in value or "inf" in value for value in values)


def test_a_search_without_prices_has_a_page_and_says_what_it_lacks(report):
    space = report.record.space
    unpriced = spaces.Done((spaces.Found(math.inf, BY_HAND),), 0, 0, complete=False)
    record = spaces.search_record(unpriced, space)
    read = Read(search_page(record))
    assert "The search was cut" in read.text
    assert "not priced" in read.text
    with pytest.raises(spaces.NothingToPlotError, match="search of blur has no numbers for"):
        spaces.search_plot(record, "standing")
    with pytest.raises(ValueError, match="no plot 'pie' of a search; there are time,"):
        spaces.search_plot(record, "pie")


def test_something_else_is_refused(done):
    with pytest.raises(TypeError, match="the last event of a search, a Done, not a str"):
        spaces.search_report("blur", None)
    with pytest.raises(TypeError, match="takes a ScheduleSpace, not"):
        spaces.search_report(done, BLUR)
