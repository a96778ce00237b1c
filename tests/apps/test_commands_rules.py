"""``spaces rules``: the catalogue on the command line."""

import json

from tests.apps.command_line import spaces


def test_all_rules_and_advice_are_listed_with_statement_and_source():
    out, _ = spaces("rules")
    rows = [line for line in out.splitlines() if line.strip()]
    ids = [row.split()[0] for row in rows]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "rule"
    row = rows[ids.index("gpu.threads-per-block")]
    assert "no more threads than the device allows" in row
    assert "CUDA C++ Programming Guide" in row
    assert ids.index("advice") < ids.index("advice.split-by-one")


def test_one_rule_is_told_whole():
    out, _ = spaces("rules", "gpu.threads-per-block")
    head, statement, source, asked, *quantities = out.splitlines()
    assert head == "gpu.threads-per-block"
    assert statement.startswith("A block")
    assert source.startswith("Source: CUDA C++ Programming Guide")
    assert asked == "Asked: One check for each kernel."
    assert "Quantity threads: in threads" in quantities


def test_rules_as_json():
    out, _ = spaces("rules", "--json")
    every = {each["id"]: each for each in json.loads(out)}
    assert every["order.factor"]["kind"] == "rule"
    assert every["advice.split-by-one"]["kind"] == "advice"
    out, _ = spaces("rules", "order.factor", "--json")
    assert json.loads(out) == every["order.factor"]


def test_an_unknown_rule_is_a_wrong_usage():
    out, err = spaces("rules", "order.none", status=2)
    assert out == ""
    assert "No rule is called 'order.none'" in err
