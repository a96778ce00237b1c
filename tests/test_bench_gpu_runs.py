"""What a run does where processes end, and what is made of its results."""

import json
import shutil
import time
from types import SimpleNamespace

import pytest

from bench.gpu import command
from bench.gpu.runner.processes import Died
from bench.gpu.runner.run import Run, is_bad, is_good
from bench.gpu.table import conditions, means, table
from spaces.backend.cuda.errors import CudaUnavailable

RIGHT, FAULT = {"right": True, "same_bits": True}, {"failed": "unspecified launch failure"}


def began(name):
    return {"began": name}


def told(name, found):
    return {"contender": name, "found": found}


@pytest.mark.parametrize(
    ("what", "scripts", "wanted"),
    [
        (  # a fault breaks the card for its process, which ends; another one goes on
            "check",
            [
                ("abc", [began("a"), told("a", RIGHT), began("b"), told("b", FAULT)]),
                ("c", [began("c"), told("c", RIGHT)]),
            ],
            {"a": RIGHT, "b": FAULT, "c": RIGHT},
        ),
        (  # it dies at b
            "check",
            [
                ("abc", [began("a"), told("a", RIGHT), began("b"), Died("signal 11")]),
                ("c", [began("c"), told("c", RIGHT)]),
            ],
            {"a": RIGHT, "b": {"failed": "signal 11"}, "c": RIGHT},
        ),
        (  # it dies before it begins
            "check",
            [("abc", [Died("no memory")])],
            {name: {"failed": "no memory"} for name in "abc"},
        ),
        (  # it dies in a turn of c: the others are timed again
            "time",
            [
                ("abc", [*(told(name, RIGHT) for name in "abc"), began("c"), Died("silent")]),
                ("ab", [*(told(name, RIGHT) for name in "ab"), {"contender": "a", "times": {}},
                        {"contender": "b", "times": {}}]),
            ],
            {"a": RIGHT, "b": RIGHT, "c": {"failed": "silent"}},
        ),
        (  # it dies when all is said
            "time",
            [("a", [told("a", RIGHT), {"contender": "a", "times": {}}, Died("exit")])],
            {"a": RIGHT},
        ),
        (  # it says nothing at all
            "check",
            [("ab", [told("a", RIGHT)]), ("b", [])],
            {"a": RIGHT, "b": {"failed": "its process said nothing of it"}},
        ),
    ],
)  # fmt: skip
def test_another_process_goes_on_where_one_ends(what, scripts, wanted, monkeypatch):
    rest = iter(scripts)

    def lines(self, task):
        names, script = next(rest)
        assert task["contenders"] == list(names)
        for said in script:
            if isinstance(said, Died):
                raise said
            yield said

    monkeypatch.setattr(Run, "_lines", lines)
    run = Run.__new__(Run)
    run.end = float("inf")
    said = list(run._said({"what": what}, scripts[0][0]))
    assert {one["contender"]: one["found"] for one in said if "found" in one} == wanted
    assert next(rest, None) is None


def test_what_there_was_no_time_for_is_neither_right_nor_wrong(monkeypatch):
    run = Run.__new__(Run)
    run.end = 0.0
    found = [one["found"] for one in run._said({"what": "check"}, "ab")]
    assert found == [{"not_reached": "there was no time left"}] * 2
    assert not any(is_good(one) or is_bad(one) for one in found)


def timed(ms):
    return {"right": True, "graph": {"cold": {"ms": ms}}, "launched": {"cold": {"ms": 9 * ms}}}


RESULTS = {
    "card": {"card": "A Card", "arch": "sm_90", "driver_of_cuda": 13000},
    "machine": {"python": "3.12.3"},
    "bundle": {"commit": "abc"},
    "ceilings": {"copy": {"gb_per_s": 3000.0}, "matmul": {"failed": "no library"}},
    "check": {"b": {"Halide, by hand": {"small": {"right": False, "why": "all"}}}},
    "times": {
        "a": {"by hand, strict": timed(3.0), "found, fast": timed(2.0),
              "Halide, by hand": timed(4.0), "library": timed(1.0)},
        "b": {"by hand, strict": timed(1.0), "by hand, fast": {"failed": "signal 6"}},
    },
}  # fmt: skip


def test_the_table_divides_by_the_fastest_of_ours():
    headers, rows = table(RESULTS)
    shown = dict(zip(headers, rows[0], strict=True))
    assert shown["found, fast"] == 2.0
    assert shown["Halide, by hand / ours"] == "2.00"
    assert shown["library / ours"] == "0.50"
    of_b = dict(zip(headers, rows[1], strict=True))
    assert of_b["by hand, fast"] == "failed"
    assert of_b["Halide, by hand / ours"] == "wrong"
    assert means(RESULTS) == {"Halide, by hand": (2.0, 1), "library": (0.5, 1)}
    assert "A Card (sm_90)" in conditions(RESULTS)
    assert "products of matrices: not measured" in conditions(RESULTS)
    ours = {**RESULTS, "times": {"sgemm": {"by hand, fast": timed(2.0)}}}
    assert "3.62 TFLOP/s (ours of 1536 x 1536)" in conditions(ours)  # 2 * 1536**3 in 2 ms


def test_one_command_makes_checks_and_times_within_its_minutes(monkeypatch):
    asked = []

    def run(arguments, check):
        asked.append(arguments)
        return SimpleNamespace(returncode=int("check" in arguments))

    def made(making, apps, end, processes):
        asked.append((making.arch, apps, end - time.monotonic()))
        return ["blur"]

    monkeypatch.setattr(command, "Card", lambda: SimpleNamespace(arch="sm_86"))
    monkeypatch.setattr(command, "make", made)
    monkeypatch.setattr(command.subprocess, "run", run)
    given = ["gpu", "--apps", "blur", "hist", "--minutes", "30", "-o", "found.json"]
    with pytest.raises(SystemExit, match="1"):  # something is wrong
        command.main(given)
    (arch, apps, making), checking, timing = asked
    assert (arch, apps) == ("sm_86", ["blur", "hist"])
    assert 800 < making <= 900  # half of the minutes
    for what, arguments, minutes in ("check", checking, 10), ("time", timing, 30):
        _, runner, *rest = arguments
        assert runner.endswith("run.pyz")
        assert rest[:4] == [what, "--apps", "blur", "--minutes"]
        assert minutes - 1 < float(rest[4]) <= minutes
        assert rest[5:] == ["-o", "found.json"]


def test_the_command_says_that_there_is_no_gpu(monkeypatch, capsys):
    def missing():
        raise CudaUnavailable("there is no CUDA driver")

    monkeypatch.setattr(command, "Card", missing)
    with pytest.raises(SystemExit, match="2"):
        command.main(["gpu", "-o", "found.json"])
    assert "no GPU that can run kernels: there is no CUDA driver." in capsys.readouterr().err


def test_pages_tell_of_a_gpu_once_its_results_are_there(tmp_path, monkeypatch):
    report = pytest.importorskip("bench.report", reason="the tables need the extra `halide`")
    few = shutil.ignore_patterns("*.jsonl")
    shutil.copytree(report.RESULTS, tmp_path, ignore=few, dirs_exist_ok=True)
    (tmp_path / "gpu.json").unlink(missing_ok=True)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert not report._was_on_gpu()
    assert "A Card" not in report.summary()
    (tmp_path / "gpu.json").write_text(json.dumps(RESULTS))
    assert "| time on A Card, beside Halide, by hand | 2.00 | 1 |" in report.summary()
    assert "| a | 3.0 |  |  | 2.0 | 2.00 |  |  | 0.50 |" in report._on_gpu()
