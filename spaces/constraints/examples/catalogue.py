"""All examples there are, found in the files of this folder, in the order of their rules."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.constraints import examples
from spaces.constraints.examples.example import Example
from spaces.constraints.rules.catalogue import ADVICE, RULES
from spaces.constraints.rules.rule import AdviceRule, ExactRule, Rule
from spaces.model.discovery import find_in_files


def _of(rules: Iterable[Rule | AdviceRule]) -> tuple[Example, ...]:
    return tuple(example for rule in rules for example in _ALL if example.rule == rule.id)


_ALL: list[Example] = [one for of_file in find_in_files(examples, "EXAMPLES") for one in of_file]

EXAMPLES = _of(rule for rule in RULES if not isinstance(rule, ExactRule))
"""For each rule a schedule that breaks it, and a legal neighbor."""

EXACT_EXAMPLES = _of(rule for rule in RULES if isinstance(rule, ExactRule))
"""The same for the rules that apply only if results must be exact."""

ADVICE_EXAMPLES = _of(ADVICE)
"""The same of advice."""
