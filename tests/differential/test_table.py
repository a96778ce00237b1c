"""The table of pairs says what the journal of the long run has."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from attrs import evolve

from spaces import Func, Var, device, pipeline, schedule, verify
from spaces.model.algorithm.pipeline import size_variable
from tests.differential.aims import WANTED
from tests.differential.cases import SHARED
from tests.differential.claims import CLAIMS
from tests.differential.impossible import why_impossible
from tests.differential.journal import Journal
from tests.differential.missed import DRAWN_BY
from tests.differential.pairs import Pairs, merged, numbers
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.summary import Summary
from tests.differential.table import (
    ENOUGH_REFUSED,
    FORBIDDEN,
    IMPOSSIBLE,
    OPEN,
    PAGE,
    PAIRS,
    REACHED,
    all_pairs,
    journals,
    page,
    report,
)
from tests.differential.universe import universe
from tests.differential.verdict_checks import CASES_PROVEN, PROVEN, REFUTED, UNKNOWN


@pytest.fixture(scope="module")
def kept() -> list[Journal]:
    return journals()


def test_the_table_is_made_from_the_journals(kept: list[Journal]) -> None:
    table = report(kept)
    assert json.loads(PAIRS.read_text()) == table
    assert PAGE.read_text() == page(table)


def test_no_case_of_the_long_runs_is_not_as_its_verdict_says(kept: list[Journal]) -> None:
    for journal in kept:
        assert not journal.total.mismatches
        assert sum(journal.total.cases.values()) == SHARED * len(journal.done)


def test_pairs_are_forbidden_by_rules_alone(kept: list[Journal]) -> None:
    for pair in all_pairs(merged(journal.pairs for journal in kept)):
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
    assert why_impossible("outputs: 1", "outputs: one reads another")
    assert not why_impossible("outputs: 2", "outputs: one reads another")
    assert not why_impossible("device: cpu", "device: cpu")
    assert not why_impossible("images: 1", "image type: int8")


def test_loops_of_a_gpu_are_legal_on_a_cpu_where_no_call_runs_them() -> None:
    """No rule forbids these pairs, although most cases with one break `gpu.device`."""
    x, f = Var("x"), Func("f")
    f[x] = x
    made = pipeline(f)
    general = schedule(made).func("f").gpu_single_thread().split("__thread", "__thread", "i", 2)
    special = general.specialize(size_variable("f", "extent", 0) >= 1)
    special = special.serial("__block").serial("__thread").serial("i")
    checked = evolve(general, schedule=special.schedule).specialize_fail("It is empty.").schedule
    found = {"loop: gpu_block", "loop: gpu_thread", "single: __block", "single: __thread"}
    found |= {"directive: split of one iteration"}
    assert found <= schedule_constructs(checked)
    assert verify(made, checked, device("cpu")).legal
    assert not verify(made, general.schedule, device("cpu")).legal


def test_constructs_that_the_page_explains_are_drawn() -> None:
    known = {*universe(), *(construct.partition(": ")[0] for construct in universe())}
    assert {name for names in DRAWN_BY for name in names} <= known


def test_the_page_shows_proofs_where_there_were_some() -> None:
    runs = Counter({PROVEN: 1234, UNKNOWN: 5, CASES_PROVEN: 67})
    wrong = Summary(runs=runs, mismatches=[f"{REFUTED}: s", "a value is wrong"])
    shown = page(report([Journal(8, SHARED), Journal(9, SHARED, total=wrong)]))
    assert "| seed 8 | 0 | 0 | 0 | - | - | - | - |" in shown
    assert "| seed 9 | 0 | 0 | 2 | 67 | 1,234 | 5 | 1 |" in shown


def test_the_page_tells_rare_pairs_from_those_without_a_legal_case() -> None:
    pairs = Pairs()
    for is_legal, constructs in (
        (True, ("value: lerp", "tail: predicate")),
        (False, ("value: mux", "tail: predicate")),
    ):
        pairs.add(tuple(numbers(constructs)), is_legal, () if is_legal else ("order.tail",))
    shown = page(report([Journal(1, SHARED, pairs=pairs)]))
    assert "value: mux + tail: predicate 1" in shown
    assert "value: lerp + tail: predicate" not in shown
