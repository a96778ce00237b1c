"""Pages about studies: they stand alone, have a part for each question, and name what is odd."""

import pytest
from attrs import evolve

import spaces
from spaces.pages.study_page import study_page
from tests.pages_html import Read, assert_stands_alone
from tests.tuning.studies import TRIALS, known_study


@pytest.fixture(scope="module")
def record():
    with known_study() as store:
        yield spaces.study_record(store, 1)


@pytest.fixture(scope="module")
def report(record):
    return spaces.study_report(record)


def test_a_page_needs_nothing_from_elsewhere(report):
    assert_stands_alone(report.html)


def test_every_part_is_there(report):
    read = Read(report.html)
    assert [section["id"] for section in read.all("section")] == [
        "trials", "time", "standing", "funnel", "predictions", "odd", "decisions", "shared",
        "schedules", "list",
    ]  # fmt: skip
    ids = {attributes["id"] for _, attributes in read.elements if "id" in attributes}
    assert {a["href"] for a in read.all("a")} <= {f"#{one}" for one in ids}


def test_the_page_says_what_was_found(report):
    text = Read(report.html).text
    assert "Trial 1, by hand, takes 1.33 times as long" in text  # 0.8 / 0.6
    assert "the reference takes 1.67 times as long as the fastest schedule" in text
    assert "10.0 times as long as its price says" in text
    assert "2 without a time" in text
    assert "Its process ended with SIGSEGV." in text
    assert "blur_y.parallel" in text or "parallel(y)" in text


def test_numbers_are_json(report):
    told = report.json()
    assert told["funnel"]["stages"][0] == {
        "name": "made", "count": 64, "lost": {"without a cost": 15},
    }  # fmt: skip
    assert told["standing"][0]["number"] == 7
    assert told["progress"][3]["milliseconds"] is None


def test_a_study_without_results_has_a_page(record):
    waiting = tuple(evolve(one, result=None) for one in record.trials)
    read = Read(study_page(evolve(record, trials=waiting, reference_seconds=None)))
    assert [section["id"] for section in read.all("section")] == ["funnel", "list"]
    assert f"{len(TRIALS)} trials still open" in read.text


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="takes a Study or a StudyRecord, not a str"):
        spaces.study_report("blur.sqlite")
