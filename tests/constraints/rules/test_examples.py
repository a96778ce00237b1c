"""Every rule and advice at its boundary: a schedule that breaks it alone, and a legal neighbor."""

from functools import cache

import pytest
from attrs import evolve

from spaces import CheckedSchedule, Schedule, Universe, parse_schedule, schedule
from spaces.constraints.examples import algorithms
from spaces.constraints.examples.catalogue import ADVICE_EXAMPLES, EXACT_EXAMPLES, EXAMPLES
from spaces.constraints.examples.example import Example, ExampleSubject
from spaces.constraints.legality.verdict import Illegal, Verdict
from spaces.constraints.rules.catalogue import ADVICE, RULES, rule
from spaces.constraints.rules.findings import Finding
from spaces.constraints.rules.inlining import inline_size
from spaces.constraints.rules.rule import MatchRule, ProofRule, Rule
from spaces.constraints.solver.encode import encode, explain
from spaces.model.schedules.derivations import Clone, RFactor

pytestmark = pytest.mark.usefixtures("few_steps")

by_rule = pytest.mark.parametrize("example", [*EXAMPLES, *EXACT_EXAMPLES], ids=lambda e: e.name)

by_advice = pytest.mark.parametrize("example", ADVICE_EXAMPLES, ids=lambda e: e.name)
by_finding = pytest.mark.parametrize(
    "example", [*EXAMPLES, *EXACT_EXAMPLES, *ADVICE_EXAMPLES], ids=lambda e: e.name
)


@cache
def verdict_on_broken(example: Example) -> Verdict:
    return example.broken.verdict


@by_rule
def test_breaks_this_rule_alone(example: Example):
    verdict = verdict_on_broken(example)
    assert isinstance(verdict, Illegal)
    assert {v.rule for v in verdict.violations} == {example.rule}


@by_rule
def test_neighbor_is_legal(example: Example):
    subject = example.legal
    verdict = subject.verdict
    assert verdict, str(verdict)


@by_advice
def test_gets_this_advice_alone(example: Example):
    verdict = verdict_on_broken(example)
    assert isinstance(verdict, CheckedSchedule)
    assert {a.rule for a in verdict.advice} == {example.rule}
    assert verdict.json()["advice"] == [a.json() for a in verdict.advice]


@by_advice
def test_neighbor_gets_no_advice(example: Example):
    subject = example.legal
    verdict = subject.verdict
    assert isinstance(verdict, CheckedSchedule)
    assert verdict.advice == ()


def findings(example: Example) -> tuple[Finding, ...]:
    """What is found in the broken schedule."""
    verdict = verdict_on_broken(example)
    return verdict.violations if isinstance(verdict, Illegal) else verdict.advice


@by_finding
def test_message_is_sentences_with_all_quantities_filled_in(example: Example):
    for found in findings(example):
        assert found.message[-1] in ".)"
        assert found.message[0].isupper() or found.message.startswith(found.func)
        assert "{" not in found.message
        assert "  " not in found.message
        assert ".s0." not in found.message
        assert found.func == "by" or found.func in found.message
        assert found.loop in found.message


@by_finding
def test_numbers_have_definitions_and_units(example: Example):
    for found in findings(example):
        numbers = {name for name, value in found.values.items() if isinstance(value, int)}
        assert numbers <= set(rule(found.rule).quantities) <= set(found.values)


PYTHON = {**vars(algorithms), "Schedule": Schedule, "schedule": schedule, "evolve": evolve}


@by_finding
def test_text_of_an_example_gives_its_schedule(example: Example):
    for subject in (example.broken, example.legal):
        if subject.python:
            names = {**PYTHON, "Clone": Clone, "RFactor": RFactor}
            assert eval(subject.text, names) == subject.schedule
        else:
            assert parse_schedule(subject.text, subject.pipeline) == subject.schedule


def test_few_examples_need_python():
    every = (*EXAMPLES, *EXACT_EXAMPLES, *ADVICE_EXAMPLES)
    assert not any(e.legal.python for e in every)
    assert [e.rule for e in every if e.broken.python] == [
        "derive.unknown-func",
        "derive.update",
        "schedule.unknown-func",
        "schedule.missing-func",
        "schedule.stages",
    ]


# Entries that do not match have no universe; those that only inline too much are a clause.
PROVEN = [e for e in EXAMPLES if isinstance(rule(e.rule), ProofRule)]
"""What only a proof decides is no formula over the decisions of a space."""

MATCHING = [e for e in EXAMPLES if isinstance(rule(e.rule), MatchRule) and e.rule != inline_size.id]


def universe(subject: ExampleSubject) -> Universe:
    """The universe of one schedule, without decisions."""
    return Universe(subject.pipeline, (), lambda _: subject.schedule)


@pytest.mark.parametrize("example", MATCHING, ids=lambda e: e.name)
def test_there_is_no_universe_of_entries_that_do_not_match(example: Example):
    with pytest.raises(ValueError, match=rf"{example.rule}\.$"):
        encode(universe(example.broken), example.broken.device)
    legal = encode(universe(example.legal), example.legal.device)
    assert explain(legal, {}).answer == "legal"


@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e not in (*MATCHING, *PROVEN)], ids=lambda e: e.name
)
def test_solver_gives_the_same_verdict_and_names_the_rule(example: Example):
    for subject, answer in ((example.broken, "illegal"), (example.legal, "legal")):
        explanation = explain(encode(universe(subject), subject.device), {})
        assert explanation.answer == answer
        # Minimal: one rule about one Func suffices.
        rules = [label.rule for label in explanation.rules]
        assert rules == ([example.rule] if answer == "illegal" else [])


def test_every_rule_has_an_example():
    assert {e.rule for e in (*EXAMPLES, *EXACT_EXAMPLES)} == {r.id for r in RULES}
    assert {e.rule for e in ADVICE_EXAMPLES} == {r.id for r in ADVICE}
    names = [e.name for e in (*EXAMPLES, *EXACT_EXAMPLES, *ADVICE_EXAMPLES)]
    assert len(set(names)) == len(names)


def test_a_statement_is_one_sentence_that_defines_and_gives_the_reason():
    every = (*RULES, *ADVICE)
    assert len({r.id for r in every}) == len(every)
    for each in every:
        assert each.statement.endswith(".")
        assert ". " not in each.statement
        assert " because " in each.statement
        assert (" illegal" in each.statement) == isinstance(each, Rule)
        assert each.source.endswith((".", ")", "]", "block", "thread"))
        assert each.id.count(".") == 1


def test_an_unknown_rule_is_named_with_those_there_are():
    with pytest.raises(KeyError, match=r"No rule is called 'order\.none'.*order\.factor"):
        rule("order.none")
