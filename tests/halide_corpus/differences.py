"""Where our verdict and Halide's differ, why, and the documentation page about it.

``reasons.toml`` gives each difference one reason.
"""

from __future__ import annotations

import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from attrs import field, frozen

from tests.halide_corpus import directives
from tests.halide_corpus.corpus import FOLDER, cases
from tests.halide_corpus.record import BROKEN, End, Result

PAGE = FOLDER.parents[1] / "docs" / "halide.md"


@frozen
class Reason:
    """Why the verdicts on some cases differ.

    Attributes:
        title: the reason in a phrase.
        text: the reason in a few sentences.
        cases: the names of the cases.
        evidence: shows that the fault is Halide's; empty where Halide has no fault.
    """

    title: str
    text: str
    cases: tuple[str, ...] = field(converter=tuple)
    evidence: str = ""


def reasons() -> tuple[Reason, ...]:
    """All reasons, in the order of their file."""
    entries = tomllib.loads((FOLDER / "reasons.toml").read_text())["reason"]
    return tuple(Reason(**entry) for entry in entries)


def mistakes(results: Mapping[str, Result], given: Iterable[Reason]) -> list[str]:
    """Differences without exactly one reason, reasons without a difference, and schedules that we
    call legal but that break in Halide without evidence that the fault is Halide's.
    """
    given = tuple(given)
    count = Counter(name for reason in given for name in reason.cases)
    found = []
    for name, result in results.items():
        if result.differs and count[name] != 1:
            found.append(f"{name} differs and has {count[name]} reasons: {_summary(result)}.")
        if not result.differs and count[name]:
            found.append(f"{name} has a reason, but the verdicts agree: {_summary(result)}.")
    found += [f"There is no case {name}." for name in count if name not in results]
    for reason in given:
        for name in reason.cases:
            broken = name in results and results[name].legal and results[name].end in BROKEN
            if broken and not reason.evidence:
                found.append(f"{name} is legal but {results[name].end} in Halide.")
    return found


def _summary(result: Result) -> str:
    ours = "legal" if result.legal else f"illegal by {', '.join(result.rules)}"
    return f"{ours} here; Halide: {result.end}. {result.said}".strip().removesuffix(".")


def page(version: str, results: Mapping[str, Result], given: Iterable[Reason]) -> str:
    """The page, in Markdown."""
    given = tuple(given)
    differing = [result for result in results.values() if result.differs]
    lines = [
        *_paragraph(
            "<!-- Made by `python -m tests.halide_corpus` from tests/halide_corpus; edit "
            "reasons.toml there. -->"
        ),
        "# Where our verdict and Halide's differ",
        "",
        *_paragraph(
            f"`verify` and Halide {version} judge {len(results)} legal and illegal schedules of "
            f"{len({n.split('/')[0] for n in results})} small pipelines; in Halide each has a "
            "process of its own. Halide runs the schedules for the CPU, and every value is "
            "compared with the reference, bit for bit. It lowers the schedules for a GPU to a "
            "program with its kernels, which does not run. Our own code compiles and runs each "
            "schedule that is legal here, kernels in the emulator: all give the values of the "
            "reference. The schedules are in `tests/halide_corpus/schedules`, the results in "
            "`tests/halide_corpus/results.json`."
        ),
        *_counts(results),
        "",
        *_broken(results, given),
        f"## The {len(differing)} differences",
        "",
        *_paragraph(
            "Halide checks a schedule when a directive is called, when it lowers and when the "
            "program runs, and stops at the first fault. It finds faults that depend on sizes when "
            "the program runs, faults that depend on the device when a kernel is launched, and "
            "some faults never."
        ),
    ]
    for reason in given:
        lines += [f"### {reason.title}", "", *_paragraph(reason.text)]
        lines += _paragraph(reason.evidence) if reason.evidence else []
        lines += ["| schedule | tries | here | Halide |", "| --- | --- | --- | --- |"]
        lines += [_row(name, results[name]) for name in reason.cases]
        lines.append("")
    for part in directives.section():
        lines += [part, ""] if part.startswith(("|", "#")) else _paragraph(part)
    return "\n".join(lines).rstrip() + "\n"


def _paragraph(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, width=120, break_long_words=False, break_on_hyphens=False)
    yield ""


def _counts(results: Mapping[str, Result]) -> Iterator[str]:
    """The number of cases of each pair of verdicts, as a table."""
    yield "| in Halide | legal here | illegal here |"
    yield "| --- | --- | --- |"
    ends = Counter((result.end, result.legal) for result in results.values())
    for end in End:
        if ends[end, True] or ends[end, False]:
            yield f"| {end} | {ends[end, True]} | {ends[end, False]} |"


def _broken(results: Mapping[str, Result], given: tuple[Reason, ...]) -> Iterator[str]:
    """Schedules that we call legal but that crash or give wrong values in Halide."""
    names = [n for n, result in results.items() if result.legal and result.end in BROKEN]
    yield "## Legal here, and broken in Halide"
    yield ""
    if not names:
        yield from _paragraph(
            "None: no schedule that is legal here crashes or gives wrong values in Halide."
        )
        return
    titles = {name: reason.title for reason in given for name in reason.cases}
    yield from _paragraph(
        "These crash or give wrong values through faults of Halide, explained below."
    )
    for name in names:
        yield f"- `{name}` {results[name].end}: {titles.get(name, 'no reason is known')}"
    yield ""


def _row(name: str, result: Result) -> str:
    ours = "legal" if result.legal else ", ".join(f"`{rule}`" for rule in result.rules)
    said = f": {result.said}" if result.said else ""
    theirs = f"{result.end}{said}".replace("|", "\\|")
    return f"| `{name}` | {cases()[name].purpose} | {ours} | {theirs} |"
