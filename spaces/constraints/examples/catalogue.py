"""All examples there are, found in the files of this folder, in the order of their rules."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from spaces.constraints import examples
from spaces.constraints.examples.example import Example
from spaces.constraints.rules.catalogue import ADVICE, RULES
from spaces.constraints.rules.rule import AdviceRule, ExactRule, Rule


def _found() -> list[Example]:
    """The ``EXAMPLES`` of every file that has some."""
    names = (f"{examples.__name__}.{file.name}" for file in pkgutil.iter_modules(examples.__path__))
    files = [import_module(name) for name in names if name != __name__]
    return [example for file in files for example in getattr(file, "EXAMPLES", ())]


def _of(rules: Iterable[Rule | AdviceRule]) -> tuple[Example, ...]:
    return tuple(example for rule in rules for example in _ALL if example.rule == rule.id)


_ALL = _found()

EXAMPLES = _of(rule for rule in RULES if not isinstance(rule, ExactRule))
"""For each rule a schedule that breaks it, and a legal neighbor."""

EXACT_EXAMPLES = _of(rule for rule in RULES if isinstance(rule, ExactRule))
"""The same for the rules that apply only if results must be exact."""

ADVICE_EXAMPLES = _of(ADVICE)
"""The same of advice."""
