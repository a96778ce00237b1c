"""The results of the last run of all cases: ``results.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

import attrs
from attrs import field, frozen

from spaces.constraints.legality.verdict import Verdict
from tests.halide_corpus.corpus import FOLDER

_FILE = FOLDER / "results.json"


class End(StrEnum):
    """How a case ends in Halide."""

    DIRECTIVE = "refused at the directive"
    LOWERING = "refused while lowering"
    CODEGEN = "refused while generating code"
    RUN = "refused while running"
    CRASH = "crashes"
    TIMEOUT = "does not end"
    WRONG = "gives wrong values"
    EQUAL = "gives the values of the reference"
    LOWERS = "lowers to a GPU program"


ACCEPTED = (End.WRONG, End.EQUAL, End.LOWERS)
"""Ends at which Halide accepts the schedule, whatever it computes."""

BROKEN = (End.WRONG, End.CRASH, End.TIMEOUT)
"""Ends that a legal schedule reaches only through a fault of Halide."""


@frozen
class Outcome:
    """How a case ends in Halide, and Halide's message or a sentence about the wrong values."""

    end: End = field(converter=End)
    said: str = ""


@frozen
class Result:
    """Our verdict on a case, the rules it breaks, and how it ends in Halide."""

    legal: bool
    rules: tuple[str, ...] = field(converter=tuple)
    end: End = field(converter=End)
    said: str = ""

    @property
    def differs(self) -> bool:
        """Whether only one side accepts the schedule, or a legal one breaks in Halide."""
        return self.legal is not (self.end in ACCEPTED) or (self.legal and self.end in BROKEN)


def broken_rules(verdict: Verdict) -> tuple[str, ...]:
    """The rules that a verdict names, as the record keeps them: sorted, each once."""
    return tuple(sorted({v.rule for v in verdict.violations}))


def recorded() -> Mapping[str, Result]:
    """The results by the names of their cases."""
    document = json.loads(_FILE.read_text())
    return {name: Result(**entry) for name, entry in document["results"].items()}


def recorded_version() -> str:
    """The version of Halide that gave the results."""
    return str(json.loads(_FILE.read_text())["halide"])


def write(version: str, results: Mapping[str, Result]) -> None:
    """Replaces the record."""
    entries = {name: attrs.asdict(result) for name, result in results.items()}
    _FILE.write_text(json.dumps({"halide": version, "results": entries}, indent=1) + "\n")
