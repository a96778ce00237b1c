"""The examples and notebooks print what they show."""

from __future__ import annotations

import ast
import re
import runpy
import textwrap
from pathlib import Path

import pytest

from docs.notebooks import NOTEBOOKS, code_cells, read_notebook, run_cells, texts, varies

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
LIMIT = 300_000
"""Bytes of a notebook."""

SCREEN = 30
"""Lines that a screen shows below a cell."""


pytestmark = pytest.mark.usefixtures("known_patterns")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    said = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == textwrap.dedent(said.partition("::\n\n")[2]) + "\n"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_answers_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = read_notebook(path)
    for number, (cell, outputs) in enumerate(run_cells(notebook), 1):
        assert cell["execution_count"] == number
        assert bool(outputs) == bool(cell["outputs"])
        if not varies(cell):
            assert texts(outputs) == texts(cell["outputs"]), "".join(cell["source"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small(path):
    assert path.stat().st_size < LIMIT
    for cell in code_cells(read_notebook(path)):
        for text in texts(cell["outputs"]):
            assert len(text.splitlines()) <= SCREEN
        for output in cell["outputs"]:
            assert "http" not in re.sub(r'xmlns="[^"]*"', "", str(output.get("data", "")))


def test_a_notebook_that_answers_otherwise_is_found():
    cell = {"cell_type": "code", "metadata": {}, "source": ["x = 2\n", "print(x)\n", "x + 1"]}
    [(_, outputs)] = run_cells({"cells": [cell]})
    assert texts(outputs) == ["2\n", "3"]
