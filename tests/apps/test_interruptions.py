"""Ctrl-C in commands that take long: one sentence, status 130, and the results so far."""

import json
import signal
import subprocess
import sys

import pytest

from spaces import Expanded, Found, Improved, Schedule, Scored
from spaces.apps.command_line import cli, interrupting
from spaces.apps.command_line import complete as complete_command
from spaces.apps.command_line import listing as listing_commands
from spaces.apps.command_line import search as search_commands
from tests.apps.command_line import files, spaces


def test_a_real_program_ends_with_a_sentence_when_interrupted():
    code = "from spaces.apps.command_line.cli import main; main()"
    words = ("enumerate", "unsharp", "--options", "small", "--limit", "0")
    command = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "# 1\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read().endswith("\n")
    assert process.stderr is not None
    assert process.stderr.read() == "Interrupted.\n"
    assert process.wait(timeout=60) == 130


def test_the_program_is_interrupted_while_it_is_loaded(monkeypatch, capsys):
    def stop(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.importlib, "import_module", stop)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "Interrupted.\n")


def test_little_is_loaded_before_the_program_can_be_interrupted():
    code = "import sys; import spaces.apps.command_line.cli; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def interrupted_after(items):
    yield from items
    raise KeyboardInterrupt


def searches(monkeypatch, *events):
    def search(space, *_):
        found = (e(Schedule.default(space.pipeline)) if callable(e) else e for e in events)
        return interrupted_after(found)

    monkeypatch.setattr(search_commands, "search_space", search)


def test_an_interrupted_search_shows_the_best_so_far(monkeypatch):
    improved = [lambda s, c=cost: Improved(Found(c, s)) for cost in (3.0, 2.0)]
    searches(monkeypatch, Expanded(1, 2, "x"), *improved, Scored(7, 50))
    out, err = spaces("search", "toy_sum", "--options", "small", status=130)
    assert err == "Interrupted.\n"
    assert out.startswith("7 structures, 50 choices of tile sizes scored\nThe search was cut ")
    out, _ = spaces("search", "toy_sum", "--options", "small", "--json", status=130)
    told = json.loads(out)
    assert (told["interrupted"], told["complete"]) == (True, False)
    assert [found["cost"] for found in told["schedules"]] == [2.0]


def test_a_search_interrupted_before_it_found_anything_says_no_more(monkeypatch):
    searches(monkeypatch, Scored(1, 4))
    assert spaces("search", "toy_sum", "--options", "small", status=130) == ("", "Interrupted.\n")


def test_interrupted_lists_are_whole_documents(monkeypatch):
    def few(*_):
        return interrupted_after([Schedule.default(pipeline)] * 3)

    pipeline = listing_commands.find("toy_sum").pipeline()
    monkeypatch.setattr(listing_commands.itertools, "islice", few)
    told = json.loads(spaces("enumerate", "toy_sum", "--options", "small", "--json", status=130)[0])
    assert (told["interrupted"], len(told["schedules"])) == (True, 3)
    out, err = spaces("enumerate", "toy_sum", "--options", "small", status=130)
    assert [line for line in out.splitlines() if line.startswith("#")] == ["# 1", "# 2", "# 3"]
    assert err == "Interrupted.\n"
    monkeypatch.setattr(complete_command.Completions, "__iter__", few)
    arguments = ("complete", "toy_sum", "--schedule", "default")
    told = json.loads(spaces(*arguments, "--json", status=130)[0])
    assert (told["end"], len(told["schedules"])) == ("interrupted", 3)


def test_the_second_interruption_ends_at_once(monkeypatch, capfd):
    ended = []
    monkeypatch.setattr(interrupting.os, "_exit", ended.append)
    # Shells let programs in the background ignore it.
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGINT)
    with interrupting.twice_ends_at_once():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert ended == []
        signal.raise_signal(signal.SIGINT)
        assert ended == [130]
    assert signal.signal(signal.SIGINT, outside) is before
    assert capfd.readouterr() == ("", "Interrupted.\n")


def test_a_program_that_ignores_interruptions_goes_on_ignoring_them():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupting.twice_ends_at_once():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("when", ["before", "while"])
def test_an_interrupted_run_leaves_the_picture_that_was_there(monkeypatch, tmp_path, when):
    picture = tmp_path / "o.npy"
    arguments = ("run", "toy_sum", "--size", "64x64", "--output", picture)
    spaces(*arguments)
    before = picture.read_bytes()

    def stop(*_, **__):
        raise KeyboardInterrupt

    what = (
        "spaces.apps.command_line.run.compile_cpu"
        if when == "before"
        else "spaces.apps.files.np.save"
    )
    monkeypatch.setattr(what, stop)
    assert spaces(*arguments, status=130) == ("", "Interrupted.\n")
    assert picture.read_bytes() == before
    assert files(tmp_path) == ["o.npy"]
