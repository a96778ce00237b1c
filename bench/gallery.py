"""Our search against Halide's autoschedulers on pipelines that nobody tuned to.

``python -m bench gallery`` measures the pipelines of the gallery that only judge: no price and no
rule of the search was chosen by them. ``--use learn`` or ``--use choose`` measures those that
prices were learned from or chosen by; names measure some alone. Each processor has its file in
``bench/results/gallery``. Each pipeline is written there when it is measured, and the next start
goes on with those that are missing; ``--again`` measures all.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.against_autoschedulers import BEST_OF_5, OURS, best_of, compare
from bench.cost_quality.split import USES, Use, gallery_name, pipelines_to
from bench.machine import machine, processor_of
from spaces.apps.files import write_text
from spaces.apps.gallery.catalog import GALLERY
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS
from spaces.constraints.devices.device import host_cpu

FOLDER = Path(__file__).parent / "results" / "gallery"
"""A file for each processor, by LLVM's name of it."""

MEASURING = 6.0
"""Seconds after which no round of a pipeline begins."""

LOST = 0.95
"""Below this ratio an autoscheduler's schedule counts as faster than ours."""

WHAT = """\
The first schedule that our search finds for pipelines of the gallery, and the fastest of its first
five, beside the fastest that Halide's autoschedulers find. Numbers say how many times as long
Halide takes. No price and no rule of the search was chosen by the pipelines that only judge."""
"""What the table shows, printed above it."""

HEADERS = (
    *("gallery", "processor", "pipelines", "geometric mean", "lowest", f"under {LOST}"),
    *("best of five: geometric mean", "lowest", f"under {LOST}"),
)
"""The headers of :func:`rows`."""

_NAMES = {
    Use.JUDGE: "kinds that only judge",
    Use.CHOOSE: "kinds to choose by",
    Use.LEARN: "kinds to learn from",
}


def main(arguments: list[str]) -> None:
    """Measures what is missing, pipeline by pipeline."""
    parser = argparse.ArgumentParser(prog="python -m bench gallery", description=__doc__)
    parser.add_argument("name", nargs="*", type=gallery_name, help="a pipeline of the gallery")
    parser.add_argument("--use", action="append", choices=tuple(Use), metavar="USE")
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args(arguments)
    uses = chosen.use or ([] if chosen.name else [Use.JUDGE])
    wanted = dict.fromkeys([*chosen.name, *(name for use in uses for name in pipelines_to(use))])
    file = FOLDER / f"{host_cpu().model}.json"
    document = json.loads(file.read_text("utf-8")) if file.exists() else {"pipelines": {}}
    for name in wanted:
        if name in document["pipelines"] and not chosen.again:
            continue
        found = compare(name, (OURS, BEST_OF_5, *AUTOSCHEDULERS), MEASURING)
        document["machine"] = machine()
        document["pipelines"][name] = found
        write_text(file, json.dumps(document, indent=2) + "\n")
        print(f"{name}: {ratio(found, OURS)}, best of five {ratio(found, BEST_OF_5)}", flush=True)
    for row in rows(document):
        print(*row, sep="  ")


def measured() -> list[dict[str, Any]]:
    """What is measured on each processor, in the order of their names."""
    return [json.loads(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.json"))]


def ratio(found: Mapping[str, Any], ours: str) -> float | None:
    """How many times as long as ours the fastest autoscheduler's schedule takes; None where ours or
    all of theirs fail.
    """
    ratios = best_of(found, AUTOSCHEDULERS, ours)
    return ratios[0] if ratios else None


def rows(document: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """A row for each use of the gallery that has results on a processor."""
    place, pipelines = processor_of(document["machine"]), document["pipelines"]
    made: list[tuple[object, ...]] = []
    for use, what in _NAMES.items():
        of = [one for name, one in pipelines.items() if USES[GALLERY[name].kind] is use]
        firsts, fives = (
            [one for found in of if (one := ratio(found, ours)) is not None]
            for ours in (OURS, BEST_OF_5)
        )
        if firsts:
            made.append((what, place, len(firsts), *_spread(firsts), *_spread(fives)))
    return made


def _spread(ratios: Sequence[float]) -> tuple[object, ...]:
    mean = statistics.geometric_mean(ratios)
    return f"{mean:.2f}", f"{min(ratios):.2f}", sum(one < LOST for one in ratios)


def losses(document: Mapping[str, Any]) -> str:
    """A sentence that names the pipelines whose first schedule is slower than Halide's."""
    pipelines = document["pipelines"]
    lost = {name: one for name, found in pipelines.items() if (one := ratio(found, OURS))}
    told = [f"{name} ({one:.2f})" for name, one in sorted(lost.items(), key=lambda x: x[1])
            if one < LOST]  # fmt: skip
    failed = [name for name, found in pipelines.items() if OURS in found["failed"]]
    place = f"On {processor_of(document['machine'])}"
    slower = f"these are slower with our first: {', '.join(told)}." if told else "none is slower."
    return f"{place} {slower}" + (f" Ours fails: {', '.join(failed)}." if failed else "")
