"""Run all cases, and write what was found and the page of the documentation.

``python -m tests.halide_corpus``; the exit status is 1 where a difference lacks its reason, or a
legal schedule gives wrong values in our own code.
"""

from __future__ import annotations

import sys
from importlib import metadata

from spaces.constraints.verdict import CheckedSchedule
from tests.halide_corpus.corpus import cases
from tests.halide_corpus.differences import PAGE, mistakes, page, reasons
from tests.halide_corpus.halide_side import outcome
from tests.halide_corpus.our_side import wrong_outputs
from tests.halide_corpus.record import Result, broken_rules, write


def main() -> int:
    """Run all cases, in their order."""
    results, found = {}, []
    for name, case in cases().items():
        verdict, theirs = case.verdict(), outcome(case)
        results[name] = Result(verdict.legal, broken_rules(verdict), theirs.end, theirs.said)
        print(f"{name}: {'' if verdict.legal else 'il'}legal; Halide: {theirs.end}", flush=True)
        if isinstance(verdict, CheckedSchedule):
            wrong = wrong_outputs(case, verdict)
            found += [f"{name} is legal but computes wrong values of {out}." for out in wrong]
    version = metadata.version("halide")
    write(version, results)
    found += mistakes(results, reasons())
    if not found:
        PAGE.write_text(page(version, results, reasons()))
    print("\n".join(found) or f"{len(results)} cases; every difference has its reason.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
