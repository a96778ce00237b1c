"""Every rule, at its boundary: what breaks it alone, and what is legal beside it."""

import pytest

from spaces import verify
from spaces.constraints.encode import encode, explain
from spaces.constraints.rules.catalogue import RULES, rule
from spaces.constraints.rules.rule import MatchRule
from spaces.constraints.universe import Universe
from tests.constraints.examples import EXAMPLES, Example

by_rule = pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rule)


@by_rule
def test_breaks_this_rule_alone(example: Example):
    subject = example.broken
    verdict = verify(subject.pipeline, subject.schedule, subject.device)
    assert not verdict
    assert {v.rule for v in verdict.violations} == {example.rule}


@by_rule
def test_neighbor_is_legal(example: Example):
    subject = example.legal
    verdict = verify(subject.pipeline, subject.schedule, subject.device)
    assert verdict, str(verdict)


@by_rule
def test_message_is_two_sentences_with_all_quantities_filled_in(example: Example):
    subject = example.broken
    for violation in verify(subject.pipeline, subject.schedule, subject.device).violations:
        assert violation.message[-1] in ".)"
        assert "{" not in violation.message
        assert "  " not in violation.message
        assert violation.func == "by" or violation.func in violation.message
        assert violation.loop in violation.message


@pytest.mark.parametrize(
    "example",
    [e for e in EXAMPLES if not isinstance(rule(e.rule), MatchRule)],
    ids=lambda e: e.rule,
)
def test_solver_gives_the_same_verdict_and_names_the_rule(example: Example):
    for subject, answer in ((example.broken, "illegal"), (example.legal, "legal")):
        universe = Universe(subject.pipeline, (), lambda _, s=subject.schedule: s)
        explanation = explain(encode(universe, subject.device), {})
        assert explanation.answer == answer
        rules = {label.rule for label in explanation.rules}
        assert rules == ({example.rule} if answer == "illegal" else set())


def test_every_rule_has_an_example():
    assert sorted(e.rule for e in EXAMPLES) == sorted(r.id for r in RULES)


def test_rules_say_what_they_are():
    assert len({r.id for r in RULES}) == len(RULES)
    for each in RULES:
        assert each.statement.endswith(".")
        assert each.source.endswith((".", ")", "]", "block", "thread"))
        assert each.id.count(".") == 1


def test_an_unknown_rule_is_named_with_those_there_are():
    with pytest.raises(KeyError, match=r"No rule is called 'order\.none'.*order\.factor"):
        rule("order.none")
