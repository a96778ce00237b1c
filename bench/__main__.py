"""``python -m bench [NAME ...]``: measure, write ``bench/results``, and renew README's tables."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from apps.files import write_text
from bench.machine import machine
from bench.report import RESULTS, renew_readme

NAMES = (
    "against_default",
    "against_plain",
    "against_halide",
    "against_blas",
    "throughput",
    "formal",
)


def main(names: list[str]) -> None:
    """Run the measurements named, or all."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"There is no measurement {', '.join(unknown)}; there are {', '.join(NAMES)}.")
    for name in names or NAMES:
        print(f"measuring {name} ...", flush=True)
        found = {
            "machine": machine(),
            "results": importlib.import_module(f"bench.{name}").measure(),
        }
        write_text(RESULTS / f"{name}.json", json.dumps(found, indent=2) + "\n")
    renew_readme(Path("README.md"))


if __name__ == "__main__":
    main(sys.argv[1:])
