"""Tables for people on a terminal and for programs in a pipe."""

import io

import pytest
from rich.console import Console

from spaces.apps.command_line import console
from spaces.markup.card import Styled, Tree, TreeRow

ROWS = [("a", 1234, 0.5, "one\ntwo"), ("long name", 7, 12345.6, "three")]
COLUMNS = ("name", "count", "ratio", "text")


def test_in_a_pipe_a_row_is_a_line_and_columns_line_up(capsys):
    console.table(COLUMNS, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "name       count   ratio  text",
        "a          1,234     0.5  one; two",
        "long name      7  12,346  three",
    ]


def test_a_table_without_rows_is_its_head(capsys):
    console.table(COLUMNS, [])
    assert capsys.readouterr().out == "name  count  ratio  text\n"


@pytest.mark.parametrize("width", [40, 100])
def test_on_a_terminal_nothing_is_cut_off(monkeypatch, width):
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=width)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    console.table(COLUMNS, [*ROWS, ("b", 1, 1.0, "q" * 60)])
    assert shown.getvalue().count("q") == 60
    assert "one" in shown.getvalue()


def test_a_tree_has_colours_on_a_terminal_and_none_in_a_pipe(monkeypatch, capsys):
    rows = (TreeRow(0, ("root",)), TreeRow(1, (Styled("parallel", "parallel"), " f.y")))
    console.tree(Tree(rows), "in a pipe")
    assert capsys.readouterr().out == "in a pipe\n"
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, color_system="standard", width=50)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    console.tree(Tree(rows), "in a pipe")
    assert "\x1b[1;35mparallel\x1b[0m f.y" in shown.getvalue()


def test_complaints_go_to_the_error_stream(capsys):
    console.complain("No.")
    assert capsys.readouterr() == ("", "No.\n")


def test_on_a_terminal_names_stay_whole(monkeypatch):
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=50)
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    console.table(("name", "one", "two"), [("local_laplacian", "a word " * 40, "more " * 40)])
    assert "local_laplacian" in shown.getvalue()
