"""Behavior that all commands share: usage messages, and what goes to which stream."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spaces.apps.catalog import APPS
from spaces.apps.command_line.program import STATUSES, examples, imported_commands, program
from tests.apps.command_line import SCRIPT, files, spaces


def test_output_in_a_pipe_is_plain_text():
    result = subprocess.run([SCRIPT, "list"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("verify", "blurr", "--schedule", "cpu"), "There is no app 'blurr'"),
        (("verify", "blur", "--schedule", "fast"), "There is no file fast"),
        (("verify", "blur", "--schedule", "./gone.sched"), "Cannot read the schedule"),
        (("verify", "blur", "--schedule", "cpu", "--device", "sm_1"), "No device is called 'sm_1'"),
        (("verify", "blur"), "Missing option '--schedule'"),
        (("verify", "blur", "--schedule", "cpu", "--loud"), "No such option"),
        (("run", "blur", "--threads", "0"), "Invalid value for '--threads'"),
        (("list", "all"), "unexpected extra argument"),
        (("count", "gone.py:f"), "There is no file gone.py"),
        (("verfy", "blur"), "No such command 'verfy'. Did you mean 'verify'?"),
        (("verify", "blur", "--schedule", "."), "Cannot read the schedule .: Is a directory."),
        (("verify", "blur", "--schedule", ""), "There is no file ''"),
        (("run", "blur", "--size", "0x4"), "every extent must be at least 1"),
        (("run", "blur", "--size", "4x"), "'4x' is not a size"),
        (("run", "blur", "--input", "."), "Cannot read the picture .: Is a directory."),
    ],
)
def test_wrong_usage_exits_2_with_a_sentence(arguments, sentence):
    out, err = spaces(*arguments, status=2)
    assert out == ""
    assert sentence in err


def test_a_failed_run_of_the_real_program_shows_no_stack(tmp_path):
    command = [SCRIPT, "run", "blur", "--input", "gone.png", "--output", tmp_path / "o.png"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "toy_sum", "--output", "no/such/o.png"),
        ("run", "toy_sum", "--output", "file/o.png"),
        ("run", "toy_sum", "--output", "folder.png"),
        ("compile", "toy_sum", "--schedule", "cpu", "-o", "file"),
        ("compile", "toy_sum", "--schedule", "cpu", "-o", "file/x"),
        ("prove", "toy_sum", "--schedule", "cpu", "--certificates", "file"),
        ("verify", "toy_sum", "--schedule", "cpu", "--repair", "-o", "folder.png"),
        ("verify", "toy_sum", "--schedule", "cpu", "--repair", "-o", "no/such/x.sched"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.png").mkdir()
    result = CliRunner().invoke(program, list(arguments))
    assert result.exit_code in (1, 2)
    assert result.stdout == ""
    assert re.fullmatch(r".*Cannot (write|make the folder).*\n", result.stderr)
    assert files(tmp_path) == ["file", "folder.png"]
    assert (tmp_path / "file").read_text() == "mine"


def test_help_fits_80_columns_and_has_examples_and_statuses(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    pages = {name: spaces(name, "--help")[0] for name in examples()} | {"": spaces("--help")[0]}
    for name, page in pages.items():
        assert max(map(len, page.splitlines())) <= 80, name
        assert "Examples:\n    spaces " in page or not name
    assert "..." not in pages[""].partition("Commands:")[2]
    for status, said in STATUSES.items():
        assert re.search(rf"^ *{status} +{re.escape(said)}$", pages[""], re.MULTILINE)


def test_every_command_is_in_the_order_and_tells_json():
    listed = [*examples()]
    assert sorted(listed) == sorted(c.name for c in imported_commands.registered_commands)
    assert re.findall(r"^  (\w+)  ", spaces("--help")[0].partition("Commands:")[2], re.M) == listed
    for name in listed:
        assert "--json" in spaces(name, "--help")[0]


def test_a_light_command_loads_no_heavy_one():
    code = "import sys; from spaces.apps.command_line.cli import main\ntry: main()\n"
    code += "finally: print(*sys.modules)"
    run = [sys.executable, "-c", code, "list"]
    loaded = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    assert "spaces.apps.command_line.list" in loaded.split()
    assert not {"numpy", "z3", "llvmlite", "spaces.model", "spaces.backend"} & set(loaded.split())


def test_json_of_what_is_shown_and_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    apps = {app["name"]: app for app in json.loads(spaces("list", "--json")[0])}
    assert list(apps) == list(APPS)
    assert apps["toy_sum"]["size"] == [2048, 2048]
    told = json.loads(spaces("show", "blur", "--json")[0])
    assert [f["name"] for f in told["functions"]] == ["blur_x", "blur_y"]
    assert told["outputs"] == ["blur_y"]
    assert told["functions"][1]["reads"] == ["blur_x"]
    out, _ = spaces("run", "toy_sum", "--size", "64x32", "--json", "--output", "o.npy")
    assert json.loads(out)["outputs"] == [{"output": "f", "file": "o.npy", "size": [64, 32]}]
    out, _ = spaces("compile", "toy_sum", "--schedule", "cpu", "-o", "made", "--json")
    assert sorted(json.loads(out)["files"]) == [f"made/{name}" for name in files(Path("made"))]
