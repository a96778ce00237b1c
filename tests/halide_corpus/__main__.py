"""Run all cases, and write what was found and the page of the documentation.

``python -m tests.halide_corpus``; the exit status is 1 where a difference lacks its reason.
"""

from __future__ import annotations

import sys
from importlib import metadata

from tests.halide_corpus.corpus import cases
from tests.halide_corpus.differences import PAGE, mistakes, page, reasons
from tests.halide_corpus.halide_side import outcome
from tests.halide_corpus.record import Result, judged, write


def main() -> int:
    """Run all cases, in their order."""
    results = {}
    for name, case in cases().items():
        legal, rules = judged(case)
        theirs = outcome(case)
        results[name] = Result(legal, rules, theirs.end, theirs.said)
        print(f"{name}: {'legal' if legal else 'illegal'} here; Halide: {theirs.end}", flush=True)
    version = metadata.version("halide")
    write(version, results)
    found = mistakes(results, reasons())
    print("\n".join(found) or f"{len(results)} cases; every difference has its reason.")
    if not found:
        PAGE.write_text(page(version, results, reasons()))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
