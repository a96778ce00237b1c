"""The table of pairs says what the journal of the long run has."""

from __future__ import annotations

import json

import pytest

from tests.gate.aims import WANTED
from tests.gate.check import SHARED
from tests.gate.claims import CLAIMS
from tests.gate.impossible import why_impossible
from tests.gate.journal import Journal
from tests.gate.pairs import Pairs, numbers
from tests.gate.table import (
    ENOUGH_REFUSED,
    FORBIDDEN,
    IMPOSSIBLE,
    JOURNAL,
    OPEN,
    PAGE,
    PAIRS,
    REACHED,
    SEED,
    all_pairs,
    page,
    report,
)


@pytest.fixture(scope="module")
def journal() -> Journal:
    return Journal.read(JOURNAL, SEED, SHARED)


def test_the_table_is_made_from_the_journal(journal: Journal) -> None:
    table = report(journal)
    assert json.loads(PAIRS.read_text()) == table
    assert PAGE.read_text() == page(table)


def test_no_case_of_the_long_run_is_not_as_its_verdict_says(journal: Journal) -> None:
    assert not journal.total.mismatches
    assert sum(journal.total.cases.values()) == SHARED * len(journal.done)


def test_pairs_are_forbidden_by_rules_alone(journal: Journal) -> None:
    for pair in all_pairs(journal.pairs):
        if pair.state == FORBIDDEN:
            assert pair.why, pair
            assert set(pair.why) <= set(CLAIMS), pair
        if pair.state == IMPOSSIBLE:
            assert not pair.drawn, pair


@pytest.mark.parametrize(
    ("legal", "refused", "rules", "state"),
    [
        (WANTED, 0, ("order.tail",), REACHED),
        (WANTED - 1, 500, ("order.tail",), OPEN),
        (0, ENOUGH_REFUSED, ("order.tail",), FORBIDDEN),
        (0, ENOUGH_REFUSED - 1, ("order.tail",), OPEN),
        (0, ENOUGH_REFUSED, (), OPEN),
    ],
)
def test_states(legal: int, refused: int, rules: tuple[str, ...], state: str) -> None:
    pairs, both = Pairs(), tuple(numbers(("value: lerp", "tail: predicate")))
    for _ in range(legal):
        pairs.add(both, True, ())
    for number in range(refused):
        pairs.add(both, False, (*rules, f"other.{number % 2}"))
    (found,) = (
        p for p in all_pairs(pairs) if {p.first, p.last} == {"value: lerp", "tail: predicate"}
    )
    assert found.state == state
    assert found.why == (rules if state == FORBIDDEN else ())


def test_what_excludes_what() -> None:
    assert why_impossible("device: cpu", "device: gpu")
    assert why_impossible("images: 0", "image type: int8")
    assert why_impossible("outputs: of unequal sizes", "outputs: 1")
    assert not why_impossible("device: cpu", "device: cpu")
    assert not why_impossible("images: 1", "image type: int8")
