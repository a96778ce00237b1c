"""Runs all cases, and writes the results and the documentation page.

``python -m tests.halide_corpus [NAME ...]``: with names of pipelines or of cases, runs only these
and keeps the earlier results of all others. The exit status is 1 where a difference lacks its
reason, or where a legal schedule gives wrong values in our own code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

from spaces.constraints.legality.verdict import CheckedSchedule
from tests.halide_corpus.corpus import Case, cases
from tests.halide_corpus.differences import PAGE, mistakes, page, reasons
from tests.halide_corpus.halide_side import outcome
from tests.halide_corpus.our_side import wrong_outputs
from tests.halide_corpus.record import Result, broken_rules, recorded, recorded_version, write


def chosen(names: Sequence[str], version: str) -> list[Case]:
    """The named cases and the cases of the named pipelines; all cases without a name.

    Raises:
        SystemExit: a name is unknown, or the recorded results are of another version of Halide.
    """
    known = {*cases(), *(name.split("/")[0] for name in cases())}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"There is no pipeline or case {', '.join(unknown)} in the corpus.")
    if names and version != recorded_version():
        raise SystemExit(
            f"The results are of Halide {recorded_version()}, this is {version}; run all cases."
        )
    return [c for n, c in cases().items() if not names or {n, n.split("/")[0]} & set(names)]


def main(names: Sequence[str]) -> int:
    """Runs cases, in their order."""
    version = metadata.version("halide")
    results, found = dict(recorded()) if names else {}, []
    for case in chosen(names, version):
        name, verdict, theirs = case.name, case.verdict(), outcome(case)
        results[name] = Result(verdict.legal, broken_rules(verdict), theirs.end, theirs.said)
        print(f"{name}: {'' if verdict.legal else 'il'}legal; Halide: {theirs.end}", flush=True)
        if isinstance(verdict, CheckedSchedule):
            wrong = wrong_outputs(case, verdict)
            found += [f"{name} is legal but computes wrong values of {out}." for out in wrong]
    results = {name: results[name] for name in cases() if name in results}
    write(version, results)
    found += mistakes(results, reasons())
    if not found:
        PAGE.write_text(page(version, results, reasons()))
    print("\n".join(found) or f"{len(results)} cases; every difference has its reason.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
