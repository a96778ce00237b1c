"""The measurements of spaces: limits that end, peers that count alike, tables that hide nothing."""

import itertools
import json
import time

import pytest

from bench import __main__ as program
from bench import spaces as measured
from bench.spaces import lists, peers, table
from bench.spaces.limits import is_failed, limited
from bench.spaces.subjects import SUBJECTS, hand_schedules
from spaces.apps.catalog import APPS


def test_a_measurement_ends_at_its_limit_or_says_its_error():
    assert limited(lambda: {"number": 3}, 60.0)["number"] == 3
    assert limited(lambda: time.sleep(36_000), 0.2) == {"timed_out_s": 0.2}  # it is killed
    found = limited(lambda: {"number": int("three")}, 60.0)
    assert found["error"].startswith("ValueError: invalid literal")
    assert is_failed(found)
    assert "MemoryError" in limited(lambda: {"number": len(bytearray(6 << 30))}, 60.0)["error"]


def test_all_apps_and_hand_schedules_are_measured():
    assert {subject.app for subject in SUBJECTS} == set(APPS)
    assert len(SUBJECTS) == 2 * len(APPS) == 46
    assert len(list(hand_schedules())) == 47


def test_peers_get_the_rules_that_the_library_applies():
    texts = peers.restrictions()
    choices = itertools.product(*peers.MENUS.values())
    compiled = [compile(text, "rule", "eval") for text in texts]
    legal = sum(
        all(eval(code, {}, {"tx": tx, "ty": ty}) for code in compiled) for tx, ty in choices
    )
    assert legal == peers._ours()["legal"] == 2272


def test_a_peer_that_is_not_installed_is_a_sentence(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(peers.importlib, "import_module", missing)
    found = {"ours": {"legal_per_second": 5.0}, "kernel_tuner": peers._kernel_tuner()}
    found["z3"] = {"timed_out_s": 7.0}
    (_, ours, tuner), (_, _, solver) = table._peers(found)
    assert ours == "5"
    assert tuner == f"Kernel Tuner: {peers.MISSING}"
    assert solver == "z3 listing models: out of time after 7 s"


def test_the_table_shows_limits_and_errors():
    each = {"a": {"s": 0.25}, "b": {"timed_out_s": 5.0}, "c": {"error": "ValueError: Why."}}
    (row, *_) = table.rows({"candidates": {"found": {"small": each}}})
    limit = f"limit {lists.SECONDS:g} s an app"
    assert row[0] == f"number of candidates, `small`, {limit}"
    assert row[1] == "1 of 3; median 0.250 s, longest 0.25 s; 1 out of time; 1 with an error"


def test_each_part_has_rows():
    assert measured.PARTS.keys() == table._ROWS.keys()


def test_parts_are_measured_by_name(monkeypatch, tmp_path):
    file = tmp_path / "spaces.json"
    file.write_text(json.dumps({"results": {"sample": 1, "peers": 2}}))
    monkeypatch.setitem(measured.PARTS, "peers", lambda: {"ours": 3})
    found = measured.measure(["peers"], file)
    assert (found["sample"], found["peers"]["found"]) == (1, {"ours": 3})
    with pytest.raises(SystemExit):
        program.main(["formal", "--part", "peers"])


def test_slow_rates_are_not_shown_as_none():
    rates = {"stagewise": {"structures_per_second": 0.214}}
    rates["random"] = {"structures_per_second": 1234.5}
    shown = [row[1] for row in table._structures({"harris": rates})]
    assert shown == ["0.21", "1,234"]
