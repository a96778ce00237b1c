"""A run of the fuzzer that goes on from another one says what it does not check."""

import json
import sys

import pytest

from tests.differential import __main__ as fuzzer
from tests.differential.cases import SHARED
from tests.differential.runner import done_before
from tests.differential.summary import Summary


def journal_of(path, *entries):
    lines = [{"seed": seed, "first": first, "summary": Summary().json()} for seed, first in entries]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_cases_of_a_journal_are_counted_once(tmp_path):
    twice = (5, 0), (5, SHARED), (5, SHARED), (6, 2 * SHARED)
    path = journal_of(tmp_path / "j", *twice)
    assert done_before(path, 5, 10 * SHARED) == 2 * SHARED
    assert done_before(path, 5, SHARED + 1) == SHARED + 1
    assert done_before(path, 7, SHARED) == 0
    assert done_before(tmp_path / "none", 5, SHARED) == 0


@pytest.mark.parametrize(("known", "status"), [(2, fuzzer.NOTHING_CHECKED), (1, 0), (0, 0)])
def test_a_finished_run_is_no_success(tmp_path, monkeypatch, capsys, known, status):
    path = journal_of(tmp_path / "j", *((5, SHARED * i) for i in range(known)))
    asked = []
    monkeypatch.setattr(fuzzer, "_run", lambda *_: asked.append(1) or Summary())
    words = ["fuzzer", "--cases", str(2 * SHARED), "--seed", "5", "--journal", str(path)]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(tmp_path / "out.json")])
    assert fuzzer.main() == status
    told = " ".join(capsys.readouterr().out.split())
    assert ("Nothing is checked; remove that file" in told) == (known == 2)
    assert (f"{known * SHARED} of {2 * SHARED} cases of seed 5 stand in" in told) == (known > 0)
    assert bool(asked) == (tmp_path / "out.json").exists() == (known < 2)


def test_a_line_that_was_being_written_is_taken_out(tmp_path):
    path = journal_of(tmp_path / "j", (5, 0), (5, SHARED))
    whole = path.read_text()
    path.write_text(whole + whole[:40])
    assert done_before(path, 5, 9 * SHARED) == 2 * SHARED
    assert path.read_text() == whole


def test_an_interrupted_run_says_how_it_goes_on(tmp_path, monkeypatch, capsys):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzzer, "_run", stop)
    path = tmp_path / "j"
    words = ["fuzzer", "--seed", "5", "--journal", str(path), "--out", str(tmp_path / "out.json")]
    monkeypatch.setattr(sys, "argv", words)
    assert fuzzer.main() == 130
    assert "Interrupted; a run with the same --seed goes on" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
