"""The table of ``python -m bench halide_pipelines``, and what its targets came to."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from spaces.model.amounts import amount

HALIDE = "Halide"

SAME, FIRST, TUNED = "same", "first", "tuned"

FIRST_IN_HALIDE, TUNED_IN_HALIDE = f"{FIRST} in Halide", f"{TUNED} in Halide"

AUTOSCHEDULER = "autoscheduler"

CONTENDERS = {
    HALIDE: "Halide compiles its own object under the schedule that it has",
    SAME: "we compile the same pipeline under the same schedule",
    FIRST: "we compile it under the first schedule of our search",
    TUNED: "we compile it under the fastest schedule of our tuning",
    FIRST_IN_HALIDE: "Halide compiles its object with our first schedule applied to it",
    TUNED_IN_HALIDE: "Halide compiles its object with our tuned schedule applied to it",
    AUTOSCHEDULER: "Halide compiles it under the fastest of the schedules that its autoschedulers "
    "find",
}
"""What runs, with what it is. All others are compared with the first."""

KINDS = ("usual", "kept")
"""The names of the two rounds. In one of them freed memory is kept for the next call."""

GAIN = "autoscheduler over first in Halide"
"""How many times as long the best autoscheduler's schedule takes in Halide as our first one."""

MOST_SAME, MOST_OF_ANY = 0.85, 1.05
"""The targets of the same schedule: the geometric mean of the ratios, and each of them."""

LEAST_GAIN, LEAST_OF_ANY = 1.2, 1.0
"""The targets of our first schedule in Halide, beside the best autoscheduler."""

Found: TypeAlias = dict[str, Any]


def table(pipelines: Mapping[str, Found]) -> str:
    """The results as a table in Markdown, with a sentence for each column. Below it stands why
    contenders have no time, and what the targets came to.
    """
    shown = [c for c in CONTENDERS if c != HALIDE and _ratios(pipelines, "usual", c)]
    columns = [(contender, kind) for contender in shown for kind in KINDS]
    headers = [f"{c}{', memory kept' if kind == 'kept' else ''}" for c, kind in columns]
    lines = [
        f"*{HALIDE}*: {CONTENDERS[HALIDE]}. The other columns divide their times by it; below 1 "
        "they are faster. In brackets is the interval of 95 % over the rounds.",
        *(f"*{contender}*: {CONTENDERS[contender]}." for contender in shown),
        "*Memory kept*: both sides keep freed memory; else Halide's runtime frees it after each "
        "run. *Page faults*: the pages that a run of Halide, and of ours under the same schedule, "
        "gets from the system.",
        "",
        f"| pipeline | Halide, ms | {' | '.join(headers)} | page faults |",
        f"|{'---|' * (len(headers) + 3)}",
    ]
    for name, one in pipelines.items():
        if "failed" in one:
            lines.append(f"| {name} | {_in_a_line(one['failed'])} |{' |' * (len(headers) + 1)}")
            continue
        cells = [_cell(one[kind], contender) for contender, kind in columns]
        faults = one["usual"]["page_faults"]
        pages = f"{faults[HALIDE]:,} / {faults.get(SAME, 0):,}"
        lines.append(
            f"| {name} | {one['usual']['ms'][HALIDE]:.3g} | {' | '.join(cells)} | {pages} |"
        )
    means = [_mean(_ratios(pipelines, kind, contender)) for contender, kind in columns]
    lines.append(f"| geometric mean | | {' | '.join(means)} | |")
    reasons = [*_reasons(pipelines)]
    parts = [lines, reasons, [*targets(pipelines)]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def targets(pipelines: Mapping[str, Found]) -> Iterator[str]:
    """For each target a line that says what it came to, or that it is not measured."""
    for kind, memory in zip(KINDS, ("memory as users get it", "memory kept"), strict=True):
        same = {n: ratio for n, one in pipelines.items() if (ratio := _ratio(one, kind, SAME))}
        gains = {n: gain for n, one in pipelines.items() if (gain := _gain(one, kind))}
        slow = [name for name, ratio in same.items() if ratio > MOST_OF_ANY]
        lost = [name for name, gain in gains.items() if gain < LEAST_OF_ANY]
        yield (
            f"- Target of *{SAME}* ({memory}): {MOST_SAME} or less in geometric mean, none above "
            f"{MOST_OF_ANY}. {_came_to(same.values())}{_named(slow, 'above')}."
        )
        yield (
            f"- Target of *{FIRST_IN_HALIDE}* ({memory}): {LEAST_GAIN} times as fast as Halide's "
            "best autoscheduler in geometric mean, slower nowhere. "
            f"{_came_to(gains.values())}{_named(lost, 'slower')}."
        )


def _came_to(numbers: Collection[float]) -> str:
    if not numbers:
        return "Not measured"
    return f"It is {statistics.geometric_mean(numbers):.2f} over {amount(len(numbers), 'pipeline')}"


def _named(pipelines: Sequence[str], what: str) -> str:
    return f"; {len(pipelines)} {what}: {', '.join(pipelines)}" if pipelines else ""


def _ratio(one: Found, kind: str, contender: str) -> float | None:
    """The median ratio of a contender to Halide; None if it has no time."""
    ratios = one.get(kind, {}).get("ratios", {})
    return ratios[contender][0] if contender in ratios else None


def _gain(one: Found, kind: str) -> float | None:
    gain = one.get(kind, {}).get(GAIN)
    return None if gain is None else gain[0]


def _ratios(pipelines: Mapping[str, Found], kind: str, contender: str) -> list[float]:
    found = (_ratio(one, kind, contender) for one in pipelines.values())
    return [ratio for ratio in found if ratio is not None]


def _reasons(pipelines: Mapping[str, Found]) -> Iterator[str]:
    """Why contenders have no time, each reason once."""
    for name, one in pipelines.items():
        told = {**one.get("without", {})}
        for kind in KINDS:
            told |= one.get(kind, {}).get("refused", {})
        for contender, reason in told.items():
            yield f"- {name}, {contender}: {_in_a_line(reason)}"


def _in_a_line(text: str) -> str:
    return " ".join(text.split())


def _cell(one: Found, contender: str) -> str:
    if contender not in one["ratios"]:
        return "refused" if contender in one.get("refused", {}) else ""
    median, low, high = one["ratios"][contender]
    return f"{median:.2f} ({low:.2f}–{high:.2f})"


def _mean(ratios: Sequence[float]) -> str:
    return f"{statistics.geometric_mean(ratios):.2f} of {len(ratios)}" if ratios else ""
