"""What the long runs of the fuzzer drew: ``python -m tests.differential.table`` writes it down.

From the journals of the runs it makes ``bench/results/differential_pairs.json`` and the page
``docs/differential_fuzzing.md``. They list each construct and each pair of constructs, the number
of cases and of legal cases that contain it, and the rule that forbids a pair without legal cases.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.differential.aims import WANTED
from tests.differential.cases import SHARED
from tests.differential.impossible import why_impossible
from tests.differential.journal import Journal
from tests.differential.missed import MISSED
from tests.differential.pairs import Pairs, merged
from tests.differential.summary import merged as summed
from tests.differential.universe import is_of_pipelines, universe
from tests.differential.verdict_checks import CASES_PROVEN, PROVEN, REFUTED, UNKNOWN

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench/results"
JOURNALS = tuple(
    RESULTS / f"differential_{name}.jsonl"
    for name in ("journal", "proofs_journal", "families_journal", "directives_journal")
)
"""The journals of the runs, in turn: all but the first prove each legal schedule. The third draws
families of pipelines without aims, and the last, which is short, the directives that are younger
than the others.
"""

PAIRS, PAGE = ROOT / "bench/results/differential_pairs.json", ROOT / "docs/differential_fuzzing.md"

ENOUGH_REFUSED = 100
"""Cases with a pair after which a rule that all of them broke is taken to forbid it: a pipeline has
ten cases, so that these are of ten pipelines or more.
"""

_MOST_ROWS = 30
"""Rows of the page's tables of open pairs: the pairs of groups are over a hundred."""

REACHED, FORBIDDEN, IMPOSSIBLE, OPEN = "reached", "forbidden", "impossible", "open"


@frozen
class Pair:
    """Two constructs, or one alone twice; how many cases had both, and how many legal ones.

    Attributes:
        state: whether enough legal cases had it, a rule forbids it, no case can have it, or it is
            open.
        why: the rules that every case with it broke, or why no case can have it.
    """

    first: str
    last: str
    drawn: int
    legal: int
    state: str
    why: tuple[str, ...] = ()


def all_pairs(pairs: Pairs) -> Iterator[Pair]:
    """Every pair of the universe."""
    names = universe()
    for b, last in enumerate(names):
        for a, first in enumerate(names[: b + 1]):
            drawn, legal = int(pairs.drawn[a, b]), int(pairs.legal[a, b])
            yield Pair(first, last, drawn, legal, *_state(pairs, a, b, drawn, legal))


def _state(pairs: Pairs, a: int, b: int, drawn: int, legal: int) -> tuple[str, tuple[str, ...]]:
    impossible = why_impossible(universe()[a], universe()[b])
    if impossible:
        return IMPOSSIBLE, (impossible,)
    if legal >= WANTED:
        return REACHED, ()
    rules = pairs.common.get((a, b), frozenset())
    is_written = is_of_pipelines(universe()[a]) and is_of_pipelines(universe()[b])
    if not legal and drawn >= ENOUGH_REFUSED and rules and not is_written:
        return FORBIDDEN, tuple(sorted(rules))
    return OPEN, ()


def journals() -> list[Journal]:
    """Those of all long runs that there are."""
    return [Journal.whole(path, SHARED) for path in JOURNALS if path.exists()]


def report(kept: Sequence[Journal]) -> dict[str, Any]:
    """The table as JSON's types. Pairs that are reached are counted only; journals have them."""
    every = list(all_pairs(merged(journal.pairs for journal in kept)))
    states = Counter(pair.state for pair in every)
    alone = {p.first: [p.drawn, p.legal] for p in every if p.first == p.last}
    total = summed(journal.total for journal in kept)
    return {
        "command": "python -m tests.differential.table",
        "long runs": [_run_of(journal) for journal in kept],
        "cases": sum(total.cases.values()),
        "legal": total.count(verdict="legal"),
        "mismatches": len(total.mismatches),
        "runs": dict(sorted(total.runs.items())),
        "pairs": {state: states[state] for state in (REACHED, FORBIDDEN, IMPOSSIBLE, OPEN)},
        "fewest legal cases of a pair that is reached": min(
            (p.legal for p in every if p.state == REACHED), default=0
        ),
        "constructs: drawn, legal": alone,
        "forbidden: drawn, rules": {
            f"{p.first} + {p.last}": [p.drawn, *p.why] for p in every if p.state == FORBIDDEN
        },
        "open: drawn, legal": _by_first(p for p in every if p.state == OPEN),
    }


def _run_of(journal: Journal) -> dict[str, Any]:
    """The counts of one run; those of proofs are 0 where it did not prove."""
    total = journal.total
    return {
        "journal": journal.path.name if journal.path else "",
        "seed": journal.seed,
        "cases": sum(total.cases.values()),
        "legal": total.count(verdict="legal"),
        "mismatches": len(total.mismatches),
        "cases proven": total.runs[CASES_PROVEN],
        "proven": total.runs[PROVEN],
        "unknown": total.runs[UNKNOWN],
        "refuted": sum(REFUTED in text for text in total.mismatches),
    }


def _by_first(pairs: Iterable[Pair]) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    for pair in pairs:
        found.setdefault(pair.first, {})[pair.last] = [pair.drawn, pair.legal]
    return found


def page(table: dict[str, Any]) -> str:
    """The table as a page."""
    counts = table["pairs"]
    files = [f"`bench/results/{run['journal']}`" for run in table["long runs"]]
    lines = [
        "# What differential fuzzing draws",
        "",
        "`python -m tests.differential.table` makes this page from the journals of the long runs",
        f"({', '.join(files)}).",
        "The constructs of a case are read from its pipeline, its sizes, its arrays and its",
        f"schedule. A pair of constructs counts as reached when {WANTED} legal cases contained it.",
        "",
        *_runs(table["long runs"]),
        "",
        MISSED,
        "## Pairs of constructs",
        "",
        "| pairs reached | forbidden by a rule | impossible | open |",
        "| ---: | ---: | ---: | ---: |",
        f"| {counts[REACHED]:,} | {counts[FORBIDDEN]:,} | {counts[IMPOSSIBLE]:,} "
        f"| {counts[OPEN]:,} |",
        "",
        "## Constructs",
        "",
        *_constructs(table["constructs: drawn, legal"]),
        "## Pairs that a rule forbids",
        "",
        *_forbidden(table["forbidden: drawn, rules"]),
        "",
        "## Open pairs",
        "",
        *_open(table["open: drawn, legal"]),
    ]
    return "\n".join(lines) + "\n"


def _runs(runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| run | cases | legal | verdict is wrong | all proven | proven | unknown | refuted |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for run in runs:
        proofs = ("cases proven", "proven", "unknown", "refuted")
        counts = [run[name] for name in ("cases", "legal", "mismatches")]
        shown = [f"{run[name]:,}" if run["proven"] else "-" for name in proofs]
        yield f"| seed {run['seed']} | {' | '.join([f'{n:,}' for n in counts] + shown)} |"
    yield ""
    yield "*all proven*: legal cases in which `prove` decides every obligation. The next columns"
    yield "count obligations. One is *unknown* when the solver takes too long or when a formula has"
    yield "a value that the solver knows nothing about. A refuted obligation is a failing case."


def _constructs(table: dict[str, list[int]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for construct, (drawn, legal) in table.items():
        group, name = construct.split(": ", 1)
        groups.setdefault(group, []).append(f"{name} {drawn:,} ({legal:,})")
    yield "How many cases had each, and, in parentheses, how many legal ones."
    yield ""
    yield "| group | constructs |"
    yield "| --- | --- |"
    for group, names in groups.items():
        yield f"| {group} | {', '.join(names)} |"
    yield ""


def _forbidden(table: dict[str, list[Any]]) -> Iterator[str]:
    if not table:
        yield "None. A rule refuses constructs at a place or at sizes, seldom wherever they stand:"
        yield "loops of a GPU, for example, are legal on a CPU in the general case that a"
        yield "`specialize_fail` replaces."
        return
    yield "Every case with such a pair broke the rules named."
    yield ""
    yield "| rules | pairs |"
    yield "| --- | --- |"
    by_rules: dict[str, list[str]] = {}
    for pair, (_, *rules) in table.items():
        by_rules.setdefault(", ".join(f"`{r}`" for r in rules), []).append(pair)
    for rules, pairs in sorted(by_rules.items()):
        yield f"| {rules} | {'; '.join(pairs)} |"


def _open(table: dict[str, dict[str, list[int]]]) -> Iterator[str]:
    """How many of each two groups, most first, and each pair that no legal case had."""
    if not table:
        yield "None."
        return
    pairs = [(one, other, *counts) for one, some in table.items() for other, counts in some.items()]
    yield f"{len(pairs):,} pairs have fewer than {WANTED} legal cases so far, and no rule forbids"
    yield "them. Of each two groups, how many, and the cases that all of these together had:"
    yield ""
    yield "| groups | open pairs | cases | legal cases |"
    yield "| --- | ---: | ---: | ---: |"
    groups: dict[str, list[tuple[int, int]]] = {}
    for one, other, drawn, legal in pairs:
        first, last = (c.partition(": ")[0] for c in (one, other))
        groups.setdefault(f"{first} + {last}", []).append((drawn, legal))
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    for names, counts in ordered[:_MOST_ROWS]:
        yield _row(names, counts)
    if len(ordered) > _MOST_ROWS:
        others = [count for _, counts in ordered[_MOST_ROWS:] for count in counts]
        yield _row(f"{len(ordered) - _MOST_ROWS} others", others)
    yield ""
    yield from _without_legal(pairs)


def _row(names: str, counts: list[tuple[int, int]]) -> str:
    drawn, legal = (sum(column) for column in zip(*counts, strict=True))
    return f"| {names} | {len(counts):,} | {drawn:,} | {legal:,} |"


def _without_legal(pairs: list[tuple[str, str, int, int]]) -> Iterator[str]:
    """The pairs that no legal case had: those that were drawn, and the number of the others."""
    refused = [pair for pair in pairs if pair[2] and not pair[3]]
    never = sum(not drawn for _, _, drawn, _ in pairs)
    yield f"No case had {never:,} of the open pairs. Cases had {len(refused):,} others, but no"
    yield f"legal case did{'; the most frequent, with their cases:' if refused else '.'}"
    if refused:
        refused.sort(key=lambda pair: -pair[2])
        told = (f"{one} + {other} {drawn:,}" for one, other, drawn, _ in refused[:_MOST_ROWS])
        yield ""
        yield "; ".join(told) + "."


def main() -> None:
    """Write the table and the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.table", description=__doc__)
    parser.add_argument("--only-show", action="store_true", help="write no files")
    arguments = parser.parse_args()
    table = report(journals())
    if arguments.only_show:
        shown = ("long runs", "cases", "legal", "mismatches", "runs", "pairs")
        print(json.dumps({key: table[key] for key in shown}, indent=1))
        print("\n".join(_open(table["open: drawn, legal"])))
        print("\n".join(_forbidden(table["forbidden: drawn, rules"])))
        return
    parts = (f"{json.dumps(key)}: {json.dumps(table[key])}" for key in table)
    PAIRS.write_text("{\n" + ",\n".join(parts) + "\n}\n")
    PAGE.write_text(page(table))


if __name__ == "__main__":
    main()
