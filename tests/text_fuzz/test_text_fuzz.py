"""A few hundred mutated texts, and whether the fuzzer itself notices what it is for."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from pathlib import Path

import pytest

from tests.draw_counts import examples
from tests.text_fuzz import runner
from tests.text_fuzz.check import Case, check, draw_case

CASES = examples(100, fewest=40)


@pytest.mark.parametrize("family", runner.FAMILIES)
def test_mutated_texts_are_read_or_refused(family: str) -> None:
    ends: Counter[str] = Counter()
    for number in range(1, CASES + 1):
        case = draw_case(2, number, family)
        if case.kind != "command":
            ends[check(case)] += 1
    assert {"refused", "legal", "illegal"} <= ends.keys()
    assert ends["refused"] < 0.9 * CASES


def test_commands_end_with_a_documented_status() -> None:
    for number in (0, 100, 200, 300, 500):
        case = draw_case(1, number, "text")
        assert case.kind == "command"
        assert " ends with " in check(case)


def test_cases_are_the_same_in_every_run() -> None:
    assert draw_case(1, 17, "json") == draw_case(1, 17, "json")
    texts = {draw_case(seed, n, "text").text for seed in (1, 2) for n in range(1, 30)}
    assert len(texts) > 50


def _loops(case: Case) -> str:
    while True:
        pass


def _grows(case: Case) -> str:
    return str(len(bytearray(400 << 20)))


def _fails(case: Case) -> str:
    raise KeyError(case.seed)


@pytest.mark.parametrize(
    ("ends", "told"), [(_loops, "TooSlow"), (_grows, "MemoryError"), (_fails, "KeyError")]
)
def test_what_is_no_answer_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, ends: object, told: str
) -> None:
    monkeypatch.setattr(runner, "check", ends)
    monkeypatch.setattr(runner, "SECONDS", 0.05)
    _, wrong, seconds = runner.outcome(draw_case(1, 1, "text"))
    assert wrong.startswith(told)
    assert seconds < 10


def test_a_run_goes_on_from_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_context", multiprocessing.get_context("fork"))
    journal = tmp_path / "journal.jsonl"
    known = [
        {"seed": 1, "family": "json", "number": n, "end": "Schedule: refused", "seconds": 0.5}
        for n in range(3)
    ]
    known[1]["wrong"] = "KeyError at x.py:1 f: 'x'"
    lines = [*map(json.dumps, known), '{"seed": 1, "fam']
    journal.write_text("\n".join(lines))
    told: list[tuple[int, int]] = []

    def progress(done: int, wrong: int) -> None:
        told.append((done, wrong))

    counts = runner.run(1, 4, journal, ("json",), 1, progress=progress)
    assert told == [(4, 1)]
    (finding,) = counts["json"].findings
    assert (finding.number, finding.what) == (1, "KeyError at x.py:1 f: 'x'")
    assert sum(counts["json"].ends.values()) == 4
    assert len(journal.read_text().splitlines()) == 4
    assert runner.run(1, 4, journal, ("json",), 1, progress=progress) == counts
    assert len(told) == 1
    mended = runner.run(1, 4, journal, ("json",), 1, again=True)["json"]
    assert (mended.findings, mended.again, sum(mended.ends.values())) == ([], 1, 4)
