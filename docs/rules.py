"""The page of the rules: ``python -m docs.rules`` writes ``docs/rules.md``."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.catalogue import ADVICE_EXAMPLES, EXACT_EXAMPLES, EXAMPLES
from spaces.constraints.examples.example import Example, ExampleSubject
from spaces.constraints.rules.catalogue import ADVICE, RULES, rule
from spaces.constraints.rules.findings import Finding
from spaces.constraints.rules.rule import AdviceRule, Rule
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.types import Float32

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
    "memoize": "Values kept for later calls",
    "ring": "Ring buffers",
    "async": "Funcs that are computed beside their readers",
    "foreign": "Foreign code",
    "bounds": "Bounds",
    "gpu": "GPU: structure and resources",
    "advice": "Advice",
}
"""The first part of an id, and the heading of its part of the page."""

_HEAD = """\
<!-- Made by `python -m docs.rules` from the rules and their examples; change those, not this. -->

# Rules

A **rule** defines which schedules are illegal, and why. **Advice** names directives of a legal
schedule that have no effect, or an effect that is easy to overlook. `spaces.verify` applies all
rules, and gives advice on a legal schedule. On the command line, `spaces rules` lists both, and
`spaces rules order.factor` shows one.

Each entry has an id, a definition, its source (`papers.md` lists the papers behind the tags in
brackets) and the quantities that its messages name. Examples follow. A *rejected* schedule breaks
this rule alone; the message of `verify` stands below it. An *accepted* schedule is legal and
differs by a small step. A test verifies every example. The functions that make the pipelines stand
[at the end](#the-pipelines-of-the-examples). To try an example, paste its directives:

```python
from spaces import device, parse_schedule, verify
from spaces.constraints.examples.algorithms import blur

directives = "by.split(x, x, xi, 0)"
print(verify(blur(), parse_schedule(directives, blur()), device("cpu")))
```

Directives in text cannot express a few illegal schedules. The page shows these in Python, with
`from attrs import evolve`, `from spaces import Schedule, schedule` and
`from spaces.model.schedules.derivations import Clone, RFactor`.
"""

ALGORITHMS = tuple(
    make
    for _, make in sorted(vars(algorithms).items())
    if inspect.isfunction(make)
    and make.__module__ == algorithms.__name__
    and all(
        p.default is not p.empty or p.kind is p.VAR_POSITIONAL
        for p in inspect.signature(make).parameters.values()
    )
)
"""The functions of ``algorithms`` that need no arguments."""

PIPELINES: tuple[tuple[Callable[..., Pipeline], tuple[object, ...]], ...] = (
    *((make, ()) for make in ALGORITHMS),
    (algorithms.blur, (16, 2560)),
    (algorithms.blur, (32, 65535)),
    (algorithms.blur, (32, 65536)),
    (algorithms.blur, (1536, 2560)),
    (algorithms.blur, (65534, 65538)),
    (algorithms.blur_of_image, ((96, 64), (98, 65))),
    (algorithms.blur_of_image, ((96, 64), (98, 66))),
    (algorithms.multiplying, (3, 700)),
    (algorithms.greatest, (Float32,)),
    (algorithms.bins, (2.0**-31,)),
    (algorithms.bins, (2.0**-30,)),
)
"""How the pipelines of the examples are made: a function, and its arguments."""


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    examples = (*EXAMPLES, *EXACT_EXAMPLES, *ADVICE_EXAMPLES)
    every: tuple[Rule | AdviceRule, ...] = (*RULES, *ADVICE)
    names = {make(*args): _call(make, args) for make, args in PIPELINES}
    for subject, rules in groupby(sorted(every, key=_place), key=_subject):
        parts.append(f"## {SUBJECTS[subject]}\n")
        for each in rules:
            parts += _entry(each, [e for e in examples if e.rule == each.id], names)
    parts += _coverage()
    parts += _pipelines({example.broken.pipeline for example in examples}, names)
    return "\n".join(parts)


def _subject(about: Rule | AdviceRule) -> str:
    return about.id.split(".")[0]


def _place(about: Rule | AdviceRule) -> int:
    return list(SUBJECTS).index(_subject(about))


def _call(make: Callable[..., Pipeline], args: Sequence[object]) -> str:
    """``blur(16, 2560)``."""
    return f"{make.__name__}({', '.join(map(str, args))})"


def _entry(
    about: Rule | AdviceRule, examples: Sequence[Example], names: Mapping[Pipeline, str]
) -> Iterator[str]:
    yield f"### `{about.id}`\n"
    yield f"{about.statement}\n"
    yield f"Source: {about.source}\n"
    yield from _quantities(about, examples)
    verb = "Advised" if isinstance(about, AdviceRule) else "Rejected"
    for example in examples:
        yield from _example(example, verb, names)


def _quantities(about: Rule | AdviceRule, examples: Sequence[Example]) -> Iterator[str]:
    """A table of the quantities, with their values in the example that has most numbers."""
    if not about.quantities:
        return
    example = max(examples, key=lambda e: sum(isinstance(v, int) for v in _values(e).values()))
    case = f" ({example.case})" if example.case else ""
    yield f"| quantity | definition | unit | in the rejected example{case} |"
    yield "| --- | --- | --- | --- |"
    for name, quantity in about.quantities.items():
        value = _values(example)[name]
        yield f"| `{name}` | {quantity.definition} | {quantity.unit} | {value} |"
    yield ""


@cache
def _findings(example: Example) -> tuple[Finding, ...]:
    return example.broken.findings


def _values(example: Example) -> Mapping[str, int | str]:
    return _findings(example)[0].values


def _example(example: Example, verb: str, names: Mapping[Pipeline, str]) -> Iterator[str]:
    case = f"{verb} ({example.case})" if example.case else verb
    yield f"{case}, {_where(example.broken, names)}:\n"
    yield _block(example.broken)
    for message in dict.fromkeys(finding.message for finding in _findings(example)):
        yield f"> {message}\n"
    there = _where(example.legal, names)
    yield f"Accepted{'' if there == _where(example.broken, names) else f', {there}'}:\n"
    yield _block(example.legal)


def _where(subject: ExampleSubject, names: Mapping[Pipeline, str]) -> str:
    exact = " with `exact=True`" if subject.exact else ""
    return f"`{names[subject.pipeline]}` on {subject.device.name}{exact}"


def _block(subject: ExampleSubject) -> str:
    language = "python" if subject.python else ""
    return f"```{language}\n{subject.text}\n```\n"


def _coverage() -> Iterator[str]:
    yield "## What Halide refuses, and what it does not\n"
    yield (
        "Each line names a mistake, says when Halide refuses it, and gives the rule of this "
        "library that covers it.\n"
    )
    yield "| mistake | Halide refuses it | here |\n| --- | --- | --- |"
    for check in tomllib.loads(HALIDE.read_text("utf-8"))["check"]:
        rules = ", ".join(f"`{rule(id).id}`" for id in check["rules"])
        here = ". ".join(filter(None, (rules, check.get("note", ""))))
        yield f"| {check['what']} | {check['halide']} | {here} |"
    yield ""


def _pipelines(shown: Iterable[Pipeline], names: Mapping[Pipeline, str]) -> Iterator[str]:
    """The definitions of the functions that make these pipelines."""
    yield "## The pipelines of the examples\n"
    yield (
        "These functions stand in `spaces/constraints/examples/algorithms.py`. `X`, `Y` and `Z` "
        "are the `Var`s x, y and z. Sizes in a call are estimates of the output, x first.\n"
    )
    called = {names[each].partition("(")[0] for each in shown}
    makers = dict.fromkeys(make for make, _ in PIPELINES if make.__name__ in called)
    if algorithms.blur in makers:
        makers[algorithms.blur_of_image] = None
    for make in makers:
        yield f"```python\n{inspect.getsource(make).rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
