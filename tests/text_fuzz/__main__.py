"""Check mutated texts and documents: ``python -m tests.text_fuzz --cases 20000 --seed 1``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.machine import machine
from tests.text_fuzz.check import draw_case
from tests.text_fuzz.runner import (
    COMMAND_SECONDS,
    MEGABYTES,
    SECONDS,
    Counts,
    outcome,
    run,
)


def main() -> int:
    """Check cases of each family and write what was seen; 1 where there is a finding."""
    parser = argparse.ArgumentParser(prog="python -m tests.text_fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("bench/results/text_fuzz.json"))
    parser.add_argument(
        "--journal", type=Path, help="what is done so far; a run with the same one goes on from it"
    )
    parser.add_argument(
        "--again", action="store_true", help="check again what was a finding in the journal"
    )
    parser.add_argument("--only", help="check one case, such as text/17, and print it")
    arguments = parser.parse_args()
    if arguments.only is not None:
        return _only(arguments.seed, arguments.only)
    journal = arguments.journal or Path(f"out/text_fuzz-{arguments.seed}.jsonl")
    began = time.monotonic()
    counts = run(
        arguments.seed,
        arguments.cases,
        journal,
        processes=arguments.processes,
        again=arguments.again,
        progress=_progress,
    )
    report = {
        "command": f"python -m tests.text_fuzz --cases {arguments.cases} --seed {arguments.seed}",
        "machine": machine(),
        "wall seconds of the last run": round(time.monotonic() - began, 1),
        "processor seconds for a text": SECONDS,
        "processor seconds for a command": COMMAND_SECONDS,
        "megabytes for a text": MEGABYTES,
        **_report(counts),
    }
    arguments.out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    findings = [finding for each in counts.values() for finding in each.findings]
    for finding in findings[:20]:
        print(f"{finding.family}/{finding.number}: {finding.what}")
    print(f"{sum(sum(c.ends.values()) for c in counts.values())} cases, {len(findings)} findings")
    return 1 if findings else 0


def _report(counts: Mapping[str, Counts]) -> dict[str, Any]:
    return {
        family: {
            "cases": sum(each.ends.values()),
            "findings": len(each.findings),
            "findings mended and asked again": each.again,
            "ends": dict(sorted(each.ends.items())),
            "slowest text, processor seconds": each.slowest,
            "processor seconds": round(each.processor_seconds, 1),
            "told": [f"{f.number}: {f.what}" for f in each.findings[:50]],
        }
        for family, each in counts.items()
    }


def _progress(done: int, findings: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} cases, {findings} findings", end="", file=sys.stderr)


def _only(seed: int, named: str) -> int:
    family, _, number = named.partition("/")
    case = draw_case(seed, int(number), family)
    print(f"{case.kind} made of {case.seed}, for {case.subject}:\n{case.text}\n")
    end, wrong, seconds = outcome(case)
    print(f"{end}, {seconds:.2f} s\n{wrong}".rstrip())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
