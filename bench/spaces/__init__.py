"""The spaces of all apps: what they contain, how exact, fast and punctual they are, and peers.

``python -m bench spaces`` measures all parts; ``--part NAME`` measures one anew and keeps the
others. Each measurement runs on one core with a limit of time, which the module of the part states;
one that reaches its limit stays in the results as such. Limits are of wall time; times and rates
are of processor time, but for the lateness of calls.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path

from bench.machine import machine
from bench.spaces import best_ones, limits_kept, lists, membership, peers, rates
from bench.spaces.limits import Found

PARTS: dict[str, Callable[[], Found]] = {
    "hand_schedules": membership.measure,
    "candidates": lists.candidates,
    "first_schedule": lists.first,
    "sample": lists.sample,
    "structures": rates.structures,
    "tile_choices": rates.tile_choices,
    "verdicts": rates.verdicts,
    "lateness": limits_kept.measure,
    "top_five": best_ones.measure,
    "peers": peers.measure,
}


def measure(chosen: Collection[str] = (), earlier: Path | None = None) -> Found:
    """Measures some parts, or all.

    Args:
        chosen: names of :data:`PARTS`; none for all.
        earlier: the file of results from which the other parts are kept.
    """
    found: Found = {}
    if chosen and earlier is not None and earlier.is_file():
        found = json.loads(earlier.read_text("utf-8"))["results"]
    for name in chosen or PARTS:
        print(f"  {name} ...", flush=True)
        start = time.perf_counter()
        results = PARTS[name]()
        seconds = round(time.perf_counter() - start, 1)
        load = machine()["load_average"]
        found[name] = {"measured_in_s": seconds, "load_average": load, "found": results}
    return {name: found[name] for name in PARTS if name in found}
