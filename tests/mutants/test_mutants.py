"""Every planted bug still fits the code, and every area has some."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.mutants.catalogue import AREAS, MUTANTS
from tests.mutants.mutant import DoesNotApplyError, Mutant
from tests.mutants.trial import SANITY, Trial
from tests.mutants.workshop import ROOT


@pytest.mark.parametrize("mutant", [*MUTANTS, SANITY], ids=lambda m: m.name)
def test_applies_once_and_still_parses(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    changed = mutant.changed(text)
    assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_asks_tests_there_are(mutant: Mutant) -> None:
    assert [test for test in mutant.tests if not (ROOT / test).is_file()] == []
    assert len(set(mutant.tests)) == len(mutant.tests)


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
    changes = Counter((m.file, m.old, m.new) for m in MUTANTS)
    assert [n for n, times in (names + changes).items() if times > 1] == []


def test_at_most_two_percent_may_survive() -> None:
    assert sum(bool(m.equivalent) for m in MUTANTS) <= 0.02 * len(MUTANTS)


def test_what_does_not_apply_is_said() -> None:
    mutant = Mutant("m", "f.py", "a", "b", "why", ("tests/t.py",))
    assert mutant.changed("ca") == "cb"
    with pytest.raises(DoesNotApplyError, match=r"once in f\.py, but it occurs 2 times: 'a'"):
        mutant.changed("aa")
    with pytest.raises(DoesNotApplyError, match="0 times"):
        mutant.changed("b")


@pytest.mark.parametrize(
    ("equivalent", "fate", "explained"),
    [("", "killed", True), ("", "survived", False), ("", "out of time", False),
     ("so", "survived", True), ("so", "killed", False)],
)  # fmt: skip
def test_only_equivalent_ones_may_survive(equivalent: str, fate: str, explained: bool) -> None:
    mutant = Mutant("m", "f.py", "a", "b", "why", ("tests/t.py",), equivalent)
    assert Trial(mutant, fate, "", "", 1.0, "likely tests").is_explained is explained
