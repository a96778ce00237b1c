"""``spaces rules``: the catalogue on the command line."""

import json

import pytest

from tests.apps.command_line import spaces


def test_all_rules_and_advice_are_listed_with_statement_and_source():
    out, _ = spaces("rules")
    rows = [line for line in out.splitlines() if line.strip()]
    ids = [row.split()[0] for row in rows]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "rule"
    row = rows[ids.index("gpu.threads-per-block")]
    assert "more threads than the device allows" in row
    assert "CUDA C++ Programming Guide" in row
    assert ids.index("advice") < ids.index("advice.split-by-one")


def test_one_rule_is_told_whole():
    out, _ = spaces("rules", "gpu.threads-per-block")
    head, statement, source, asked, *quantities = out.splitlines()
    assert head == "gpu.threads-per-block"
    assert statement.startswith("A block")
    assert source.startswith("Source: CUDA C++ Programming Guide")
    assert asked == "Asked: One check for each kernel."
    assert "Quantity limit: most threads of a block on the device, in threads" in quantities


def test_rules_as_json():
    out, _ = spaces("rules", "--json")
    every = {each["id"]: each for each in json.loads(out)}
    assert every["order.factor"]["kind"] == "rule"
    assert every["advice.split-by-one"]["kind"] == "advice"
    factor = {"definition": "factor of the split", "unit": "iterations"}
    assert every["order.factor"]["quantities"] == {"factor": factor}
    out, _ = spaces("rules", "order.factor", "--json")
    assert json.loads(out) == every["order.factor"]


def test_rules_of_a_subject():
    out, _ = spaces("rules", "storage")
    head, *rows = out.splitlines()
    assert head.split() == ["rule", "statement", "source"]
    assert len(rows) > 5
    assert all(row.startswith("storage.") for row in rows)
    as_json, _ = spaces("rules", "storage", "--json")
    assert [each["id"] for each in json.loads(as_json)] == [row.split()[0] for row in rows]
    out, _ = spaces("rules", "advice")
    assert out.split()[0] == "advice"


@pytest.mark.parametrize(
    ("typed", "meant"), [("order.facto", "order.factor"), ("storag", "storage")]
)
def test_an_unknown_rule_is_answered_with_near_ones(typed, meant):
    out, err = spaces("rules", typed, status=2)
    assert out == ""
    assert f"There is no rule or subject '{typed}' (is {meant}" in err
    assert "; the subjects are " in err
    assert ", gpu, " in err
