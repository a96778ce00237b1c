"""``spaces rules``: the catalogue on the command line, and advice beside a verdict."""

import json

import pytest
from typer.testing import CliRunner

from apps.cli import program


def spaces(*arguments: str, status: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(program, list(arguments))
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


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


@pytest.fixture
def schedule(tmp_path):
    path = tmp_path / "given.sched"
    path.write_text("blur_y.split(y, y, yi, 1).parallel(y)\nblur_x.vectorize(x, 8)")
    return str(path)


def test_verify_shows_advice_apart(schedule):
    out, _ = spaces("verify", "blur", "--schedule", schedule)
    head, told, *lines = out.splitlines()
    assert head == "The schedule is legal for cpu."
    assert told == "What has no effect in it:"
    assert [line.split(":")[0] for line in lines[:2]] == [
        "  advice.inlined-order",
        "  advice.split-by-one",
    ]
    assert not any("advice." in line for line in lines[2:])
    out, _ = spaces("verify", "blur", "--schedule", schedule, "--json")
    verdict = json.loads(out)
    assert verdict["legal"] is True
    assert [a["func"] for a in verdict["advice"]] == ["blur_x", "blur_y"]
