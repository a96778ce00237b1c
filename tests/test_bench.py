"""What is measured is right."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench import profile_overhead, report
from bench.against_halide import KEEPING, apart, variables

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/benchmarks.md")

FREES = """
import ctypes
from bench.page_faults import page_faults
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def run():
    block = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(1 << 26)))
    ctypes.memset(block, 1, 1 << 26)
    libc.free(block)
print(page_faults(run))
"""
"""Faults of pages of 64 MB that are freed and obtained again."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the variables are those of glibc")
@pytest.mark.parametrize(("values", "kept"), [({}, False), (KEEPING, True)])
def test_memory_is_kept_where_it_is_said(values, kept):
    with variables(values):
        run = subprocess.run([sys.executable, "-c", FREES], capture_output=True, text=True)
    faults = int(run.stdout)
    assert faults < 16 if kept else faults > 1000, run.stderr


def test_variables_are_as_they_were(monkeypatch):
    monkeypatch.setenv("MALLOC_TOP_PAD_", "7")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with variables(KEEPING):
        assert {name: os.environ[name] for name in KEEPING} == KEEPING
    assert os.environ["MALLOC_TOP_PAD_"] == "7"
    assert "MALLOC_TRIM_THRESHOLD_" not in os.environ


def test_the_table_tells_apart_what_is_kept_and_what_was_not_measured(tmp_path, monkeypatch):
    pair = {"ours_ms": 1.0, "halide_ms": 2.0, "ms_ours_over_halide": 0.5}
    kept = {**pair, "kept_ms_ours_over_halide": 1.25}
    apps = {"a": {"cpu": kept}, "b": {"cpu": pair}, "c": {"cpu": {"halide_refuses": "Why."}}}
    found = {"apps": apps, "geometric_means": {"apps": 2, "kept_ms_ours_over_halide": 1.25}}
    (tmp_path / "against_halide.json").write_text(json.dumps({"results": found}))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    table = report._halide().partition("\n\n")[2]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    column = cells[0].index("memory kept")
    assert [row[column] for row in cells[2:]] == ["1.25", "", "", "1.25"]
    assert [row[column - 1] for row in cells[2:]] == ["0.50", "0.50", "", ""]
    assert "refuses" in cells[4]


def test_the_pages_have_the_tables_of_the_results(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in PAGES:
        text = (ROOT / name).read_text("utf-8")
        begin, end = text.index(report.BEGIN), text.index(report.END)
        (tmp_path / name).write_text(f"{text[: begin + len(report.BEGIN)]}old{text[end:]}")
    report.renew_pages(tmp_path)
    for name in PAGES:
        assert (tmp_path / name).read_text("utf-8") == (ROOT / name).read_text("utf-8")


def test_overhead_is_the_median_of_ratios_of_rounds():
    """Ten rounds: the interval of 95 % leaves out one at each end (the sign test)."""
    plain = [1.0] * 10
    counting = [1.5, 1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07, 0.9]
    assert profile_overhead.overhead(plain, counting) == [0.035, 0.0, 0.07]
    apps = {
        "calm": {"plain_ms": 1.0, "profiled_ms": 1.01, "overhead": [0.01, 0.0, 0.02],
                 "timed": 2, "within": 0},
        "busy": {"plain_ms": 1.0, "profiled_ms": 1.09, "overhead": [0.09, 0.08, 0.1],
                 "timed": 3, "within": 1},
    }  # fmt: skip
    found = profile_overhead.rows({"apps": apps})
    assert found[1] == ("busy", 1.0, 1.09, "9.0% (8.0% to 10.0%)", 3, 1)
    assert found[2][3] == "5.0%"
    assert profile_overhead.verdict({"apps": apps}) == "Above 5%: busy."
    assert "No app" in profile_overhead.verdict({"apps": {"calm": apps["calm"]}})


def test_what_computes_something_else_is_not_measured():
    values = np.arange(1000.0).reshape(10, 100)
    assert apart({"f": values}, {"f": values * (1 + 1e-6)}) == 0
    changed = values.copy()
    changed[3, 4] = np.nan
    assert apart({"f": changed}, {"f": values}) == 1 / 1000
    with pytest.raises(ValueError, match="1 of f") as error:
        apart({"f": values, "g": values}, {"f": values + 2, "g": values})
    assert "hundredth" in str(error.value)
