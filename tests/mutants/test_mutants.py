"""Every planted bug still fits the code, and every area has some."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import report
from tests.mutants.catalogue import AREAS, MUTANTS
from tests.mutants.mutant import DoesNotApplyError, Mutant, TextMutant
from tests.mutants.trial import SANITY, Fate, Trial, without_false_alarms
from tests.mutants.workshop import ROOT, Run, Workshop


@pytest.mark.parametrize("mutant", [*MUTANTS, SANITY], ids=lambda m: m.name)
def test_applies_once_and_still_parses(mutant: Mutant) -> None:
    planted = mutant.planted(ROOT)
    changed = ast.unparse(ast.fix_missing_locations(planted.changed))
    assert changed != ast.unparse(planted.definition.node)
    assert ast.unparse(ast.parse(changed)) == changed


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_asks_tests_there_are(mutant: Mutant) -> None:
    assert len(set(mutant.paths(ROOT))) == len(mutant.tests)


def test_there_are_enough_in_every_area() -> None:
    assert len(MUTANTS) >= 60
    assert set(AREAS) >= {
        "regions",
        "sliding window",
        "folding",
        "lowering",
        "barriers",
        "rules",
        "prover",
    }
    assert all(len(mutants) >= 5 for mutants in AREAS.values())


def test_no_two_are_the_same() -> None:
    names = Counter(m.name for m in MUTANTS)
    changes = Counter((m.where, m.old, m.new) for m in MUTANTS)
    assert [n for n, times in (names + changes).items() if times > 1] == []


def test_at_most_two_percent_may_survive() -> None:
    assert sum(bool(m.equivalent) for m in MUTANTS) <= 0.02 * len(MUTANTS)


def test_what_does_not_apply_is_said(tmp_path: Path) -> None:
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces" / "f.py").write_text("def f(a):\n    return a + g(a)\n")
    assert "return b + g(a)" in _mutant("f", "a + g(a)", "b + g(a)").planted(tmp_path).text
    with pytest.raises(
        DoesNotApplyError, match=r"occurs 2 times:\na\n\nf now is\nspaces/f\.py:1\n"
    ):
        _mutant("f", "a", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="occurs 0 times"):
        _mutant("f", "c", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match=r"stands in f \(spaces/f\.py:1\)"):
        _mutant("g", "a + g(a)", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match=r"nothing is called g:f .* define f are spaces\.f"):
        _mutant("g:f", "a", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="a fragment is not Python"):
        _mutant("f", "a b", "b").planted(tmp_path)
    with pytest.raises(DoesNotApplyError, match="more wildcards"):
        _mutant("f", "a + g(a)", "b + ...").planted(tmp_path)


def test_where_a_file_lies_and_how_it_is_laid_out_do_not_matter(tmp_path: Path) -> None:
    """Only what a function means is part of the key of a result."""
    keys = set()
    laid_out = (
        "def f(a):\n    return a + 1\n",
        "x = 1\ndef f(a):\n    return (a  # Why.\n        +1)",
        'def f(a):\n    """What f gives."""\n    return a + 1\n',
    )
    for number, text in enumerate(laid_out):
        for room in (f"spaces/{number}", "tests"):
            (tmp_path / str(number) / room).mkdir(parents=True)
        (tmp_path / str(number) / "spaces" / str(number) / "f.py").write_text(text)
        (tmp_path / str(number) / "tests" / "test_t.py").write_text(f"import m{number}\nf()")
        keys.add(_mutant("f", "a + 1", "a").key(tmp_path / str(number)))
    assert len(keys) == 1
    (tmp_path / "3" / "spaces").mkdir(parents=True)
    (tmp_path / "3" / "tests").mkdir()
    (tmp_path / "3" / "spaces" / "f.py").write_text(laid_out[0])
    (tmp_path / "3" / "tests" / "test_t.py").write_text("g()")
    keys.add(_mutant("f", "a + 1", "a").key(tmp_path / "3"))
    (tmp_path / "4" / "spaces").mkdir(parents=True)
    (tmp_path / "4" / "tests").mkdir()
    (tmp_path / "4" / "spaces" / "f.py").write_text("def f(a):\n    return a + 1, a\n")
    (tmp_path / "4" / "tests" / "test_t.py").write_text("f()")
    keys.add(_mutant("f", "a + 1", "a").key(tmp_path / "4"))
    keys.add(_mutant("f", "a + 1", "1").key(tmp_path / "4"))
    assert len(keys) == 4


def test_results_are_kept_until_code_or_tests_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "mutants.json")
    killed, survivor, changed = (
        Trial(mutant, fate, "", "", 1.0, key, "likely tests")
        for mutant, fate, key in (
            (MUTANTS[0], "killed", MUTANTS[0].key(ROOT)),
            (MUTANTS[1], "survived", MUTANTS[1].key(ROOT)),
            (MUTANTS[2], "killed", "another"),
        )
    )
    report.keep([killed], Workshop(ROOT, "first"))
    report.keep([survivor, changed], Workshop(ROOT, "second"))
    kept = json.loads(report.RESULTS.read_text())
    assert [entry["commit"] for entry in kept["mutants"]] == ["first", "second", "second"]
    assert (kept["planted"], kept["killed"]) == (3, 2)
    assert kept["not tried"] == [mutant.name for mutant in MUTANTS[3:]]
    assert kept["changed since"] == [MUTANTS[2].name]
    assert report.pending(ROOT) == (*MUTANTS[3:], *MUTANTS[1:3])


def test_methods_keep_their_depth(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    method = '    @property\n    def f(self):\n        """F\n        f."""\n        return 1\n'
    text = f"class C:\n{method}\nx = 1\n"
    (tmp_path / "apps" / "c.py").write_text(text)
    planted = _mutant("C.f", "1", "2").planted(tmp_path).text
    assert ast.dump(ast.parse(planted)) == ast.dump(ast.parse(text.replace("return 1", "return 2")))


def test_text_inside_of_strings(tmp_path: Path) -> None:
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "c.py").write_text('C = """if (x) y;\n" y;"""\n')
    mutant = TextMutant("m", "C", "(x)", "(!x)", "why", ("test_t.py",))
    assert ast.literal_eval(ast.parse(mutant.planted(tmp_path).text).body[0].value) == (  # type: ignore[attr-defined]
        'if (!x) y;\n" y;'
    )
    with pytest.raises(DoesNotApplyError, match="occurs 2 times"):
        TextMutant("m", "C", " y;", "", "why", ("test_t.py",)).planted(tmp_path)


def _mutant(where: str, old: str, new: str) -> Mutant:
    return Mutant("m", where, old, new, "why", ("test_t.py",))


def test_what_only_broken_tests_notice_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(workshop: Workshop, tests: tuple[str, ...], seconds: float) -> Run:
        broken = [test for test in tests if test == "broken"]
        return Run("failed" if broken else "passed", "broken[2]" if broken else "", 1.0, "why")

    monkeypatch.setattr(Workshop, "run", run)
    by: list[tuple[Fate, str]] = [
        ("killed", "broken[1]"),
        ("killed", "good[1]"),
        ("survived", ""),
        ("killed", "broken"),
    ]
    trials = [
        Trial(mutant, fate, test, "failed", 1.0, "key", "likely tests")
        for mutant, (fate, test) in zip(MUTANTS, by, strict=False)
    ]
    left, problems = without_false_alarms(Workshop(ROOT, "commit"), trials)
    assert left == trials[1:3]
    assert problems == ["broken[2] fails without any planted bug (failed):\nwhy"]


@pytest.mark.parametrize(
    ("equivalent", "fate", "explained"),
    [("", "killed", True), ("", "survived", False), ("", "out of time", False),
     ("so", "survived", True), ("so", "killed", False)],
)  # fmt: skip
def test_only_equivalent_ones_may_survive(equivalent: str, fate: str, explained: bool) -> None:
    mutant = Mutant("m", "f", "a", "b", "why", ("test_t.py",), equivalent)
    assert Trial(mutant, fate, "", "", 1.0, "key", "likely tests").is_explained is explained
