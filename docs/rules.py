"""The page of the rules: ``python -m docs.rules`` writes ``docs/rules.md``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from spaces.constraints.examples.catalogue import ADVICE_EXAMPLES, EXACT_EXAMPLES, EXAMPLES
from spaces.constraints.examples.example import Example, ExampleSubject
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.rules.catalogue import ADVICE, RULES, rule
from spaces.constraints.rules.findings import Finding
from spaces.constraints.rules.rule import AdviceRule, Rule
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

PAGE = Path(__file__).with_name("rules.md")
HALIDE = Path(__file__).with_name("halide.toml")

SUBJECTS = {
    "derive": "Funcs added by directives",
    "schedule": "Entries of a schedule",
    "order": "Domain order",
    "race": "Races",
    "exact": "Results bit for bit",
    "call": "Call schedule",
    "with": "Fused loops of several Funcs",
    "prefetch": "Prefetches",
    "specialize": "Specializations",
    "kind": "Vectors and unrolled loops",
    "storage": "Storage",
    "bounds": "Bounds",
    "gpu": "GPU: structure and resources",
    "advice": "Advice",
}
"""The first part of an id, and its headline."""

_HEAD = """\
<!-- Made by `python -m docs.rules` from the rules and their examples; change those, not this. -->

# Rules

What makes a schedule illegal, and what is advised of legal ones. `spaces.verify` asks all rules;
`spaces rules` lists them on the command line. Tags in brackets are those of `papers.md`. Each is
shown with examples at its boundary: a schedule that breaks this rule alone, what `verify` says of
it, and a legal neighbor. The examples are tests (`spaces/constraints/examples/`), on the small
pipelines of `spaces/constraints/examples/algorithms.py`.
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    examples = (*EXAMPLES, *EXACT_EXAMPLES, *ADVICE_EXAMPLES)
    every: tuple[Rule | AdviceRule, ...] = (*RULES, *ADVICE)
    for subject, rules in groupby(sorted(every, key=_place), key=_subject):
        parts.append(f"## {SUBJECTS[subject]}\n")
        for each in rules:
            parts += _rule(each, [e for e in examples if e.rule == each.id])
    parts += _coverage()
    return "\n".join(parts)


def _subject(about: Rule | AdviceRule) -> str:
    return about.id.split(".")[0]


def _place(about: Rule | AdviceRule) -> int:
    return list(SUBJECTS).index(_subject(about))


def _rule(about: Rule | AdviceRule, examples: Sequence[Example]) -> Iterator[str]:
    yield f"### `{about.id}`\n"
    yield f"{about.statement}\n"
    yield f"Source: {about.source}\n"
    if about.units:
        told = ", ".join(f"{name} in {unit}" for name, unit in about.units.items())
        yield f"Quantities: {told}.\n"
    for example in examples:
        yield from _example(example, "gets it" if isinstance(about, AdviceRule) else "breaks it")


def _example(example: Example, verb: str) -> Iterator[str]:
    case = f" ({example.case})" if example.case else ""
    yield f"On {example.broken.device.name}{case}, this {verb}:\n"
    yield _block(example.broken)
    for finding in _findings(example.broken):
        yield f"> {finding.message}\n"
    on = (
        "" if example.legal.device == example.broken.device else f", on {example.legal.device.name}"
    )
    yield f"and this does not{on}:\n"
    yield _block(example.legal)


def _findings(subject: ExampleSubject) -> tuple[Finding, ...]:
    verdict = subject.verdict
    found = verdict.advice if isinstance(verdict, CheckedSchedule) else verdict.violations
    return tuple({finding.message: finding for finding in found}.values())


def _block(subject: ExampleSubject) -> str:
    return f"```\n{_text(subject)}\n```\n"


def _text(subject: ExampleSubject) -> str:
    """The schedule as directives; entries that no directives give in words."""
    default = Schedule.default(derived(subject.pipeline, subject.schedule))
    given = [(f.name, len(f.stages)) for f in subject.schedule.funcs]
    if given != [(f.name, len(f.stages)) for f in default.funcs]:
        entries = ", ".join(f"{name} ({stages} domain orders)" for name, stages in given)
        return f"a schedule with entries for {entries}"
    return format_schedule(subject.schedule, subject.pipeline) or "the default schedule"


def _coverage() -> Iterator[str]:
    yield "## What Halide refuses, and what it does not\n"
    yield (
        "For the directives that there are: what is wrong, when Halide refuses it, and the rule "
        "that covers it here.\n"
    )
    yield "| what | Halide refuses it | here |\n| --- | --- | --- |"
    for check in tomllib.loads(HALIDE.read_text("utf-8"))["check"]:
        rules = ", ".join(f"`{rule(id).id}`" for id in check["rules"])
        here = ". ".join(filter(None, (rules, check.get("note", ""))))
        yield f"| {check['what']} | {check['halide']} | {here} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
