"""Counts of outcomes: what a run of the fuzzer has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

from attrs import define, field

from tests.differential.check import Outcome
from tests.differential.claims import CLAIMS, Claim

MOST_TOLD = 50
"""Mismatches that are kept as text; all are counted."""


Met = tuple[tuple[int, ...], bool, tuple[str, ...]]


@define
class Summary:
    """Counts that add up; ``cases`` are keyed by ``kind/drawn/target/verdict``.

    Attributes:
        named: cases in which a rule is broken, by rule.
        alone: cases in which it is the only one.
        shown: of those, cases in which something was seen to go wrong unchecked.
        seen: what went wrong there, as ``rule/what``.
        runs: compiled runs compared with the reference, those refused for their sizes, programs of
            GPU kernels that were interpreted or emulated.
        seconds: processor time by what it was spent on.
        mismatches: what is not as the verdict says, as text.
        failing: the numbers of these cases, but of those that ended their process.
        met: of each case added, its constructs by number, whether it is legal, and the rules that
            it breaks; sums of summaries leave it out.
        reached: the numbers of cases that took new branches, with these; likewise.
    """

    cases: Counter[str] = field(factory=Counter)
    named: Counter[str] = field(factory=Counter)
    alone: Counter[str] = field(factory=Counter)
    shown: Counter[str] = field(factory=Counter)
    seen: Counter[str] = field(factory=Counter)
    runs: Counter[str] = field(factory=Counter)
    seconds: Counter[str] = field(factory=Counter)
    mismatches: list[str] = field(factory=list)
    failing: list[int] = field(factory=list)
    met: list[Met] = field(factory=list)
    reached: list[tuple[int, tuple[int, ...]]] = field(factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome; how it reads where it is a mismatch is added by the caller."""
        verdict = "legal" if outcome.legal else "illegal"
        target = "cpu" if outcome.target == "cpu" else "gpu"
        self.cases[f"{outcome.kind}/{outcome.drawn}/{target}/{verdict}"] += 1
        self.met.append((outcome.constructs, outcome.legal, outcome.rules))
        self.named.update(outcome.rules)
        self.runs.update(outcome.runs)
        if len(outcome.rules) == 1:
            (rule,) = outcome.rules
            self.alone[rule] += 1
            if CLAIMS.get(rule) is Claim.WRONG:
                self.shown[rule] += bool(outcome.shown)
                self.seen[f"{rule}/{outcome.shown or 'nothing'}"] += 1

    def merge(self, other: Self) -> None:
        """Add the counts of another."""
        for name in ("cases", "named", "alone", "shown", "seen", "runs", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.mismatches.extend(other.mismatches)
        self.failing.extend(other.failing)

    def count(self, **wanted: str) -> int:
        """Cases with the given ``kind``, ``drawn``, ``target`` and ``verdict``."""
        return sum(
            number
            for key, number in self.cases.items()
            if all(_parts(key)[name] == value for name, value in wanted.items())
        )

    def json(self) -> dict[str, Any]:
        """As JSON's types; read back by :meth:`of`."""
        return {
            name: dict(sorted(getattr(self, name).items()))
            for name in ("cases", "named", "alone", "shown", "seen", "runs")
        } | {
            "seconds": {name: round(s, 3) for name, s in self.seconds.items()},
            "mismatches": self.mismatches,
            "failing": self.failing,
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """What :meth:`json` wrote; ``met`` is not in it."""
        return cls(
            **{k: list(v) if isinstance(v, list) else Counter(v) for k, v in document.items()}
        )

    def report(self) -> dict[str, Any]:
        """What a person wants to know, as JSON's types."""
        return {
            "cases": sum(self.cases.values()),
            "legal": self.count(verdict="legal"),
            "mismatches": len(self.mismatches),
            "by class": self._table("drawn"),
            "by pipeline kind": self._table("kind"),
            "by target": self._table("target"),
            "runs": dict(sorted(self.runs.items())),
            "rules": {rule: self._rule(rule) for rule in sorted(self.named)},
            "claims never shown": self.silent(),
            "processor seconds": {k: round(v, 1) for k, v in sorted(self.seconds.items())},
            "told": self.mismatches[:MOST_TOLD],
        }

    def silent(self, least: int = 1) -> dict[str, int]:
        """Rules that claim wrong results, were broken alone at least that often, and never seen
        to be right about it; with how often.
        """
        return {
            rule: number
            for rule, number in sorted(self.alone.items())
            if CLAIMS.get(rule) is Claim.WRONG and number >= least and not self.shown[rule]
        }

    def _table(self, column: str) -> dict[str, dict[str, int]]:
        table: dict[str, dict[str, int]] = {}
        for key, number in sorted(self.cases.items()):
            parts = _parts(key)
            row = table.setdefault(parts[column], {"legal": 0, "illegal": 0})
            row[parts["verdict"]] += number
        return table

    def _rule(self, rule: str) -> dict[str, Any]:
        claim = CLAIMS.get(rule)
        found: dict[str, Any] = {
            "claims": str(claim),
            "named": self.named[rule],
            "alone": self.alone[rule],
        }
        if claim is Claim.WRONG:
            prefix = f"{rule}/"
            found["shown"] = self.shown[rule]
            found["seen"] = {
                key.removeprefix(prefix): number
                for key, number in sorted(self.seen.items())
                if key.startswith(prefix)
            }
        return found


def _parts(key: str) -> dict[str, str]:
    kind, drawn, target, verdict = key.split("/")
    return {"kind": kind, "drawn": drawn, "target": target, "verdict": verdict}


def merged(summaries: Iterable[Summary]) -> Summary:
    """The sum of all."""
    total = Summary()
    for summary in summaries:
        total.merge(summary)
    return total
