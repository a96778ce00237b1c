"""How well cost models rank schedules: times of random schedules, and prices beside them.

``python -m bench cost_quality`` measures the random schedules that are missing in
``bench/results/cost_quality`` and then prices all with each cost model; ``--part NAME`` does one of
these. It may be stopped at any time; the next start goes on, for each batch is in its file. The
apps take half an hour on two cores. A file holds the times of one processor, which is
described in ``devices.json`` beside them and for which they are priced: remove the file to measure
on another one.

Noise: a schedule is timed up to 15 times, each time beside a run of the reference in the same
round. Its time is the median over the rounds of the ratio of the two, so a slow moment of the
machine counts for both. Slow schedules get fewer rounds, down to one beyond 20 times the reference:
an error of a tenth changes their ranks little. Each record also has the medians and the least
times. A schedule that did not end in time counts as slower than all others. One that did not
compile, crashed or ran wrong is not priced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from bench.cost_quality.collecting import collect
from bench.cost_quality.pricing import Quality, medians, qualities, timed
from bench.cost_quality.records import FOLDER, records
from bench.cost_quality.subjects import APPS, RANDOM, SINGLE, Subject
from spaces.apps.gallery.catalog import GALLERY

RANDOM_FILE = FOLDER / "random.jsonl"
"""The measured schedules of all random pipelines of several stages."""

SINGLE_FILE = FOLDER / "single.jsonl"
"""The measured schedules of all random pipelines of one idea."""

WANTED = 40
"""How many schedules of each app are measured."""

WANTED_OF_RANDOM = 12
"""How many schedules of each random pipeline are measured."""

WANTED_OF_SINGLE = 24
"""How many schedules of each random pipeline of one idea are measured."""

WANTED_OF_GALLERY = 64
"""How many schedules of each pipeline of the gallery are measured."""


def measure(chosen: Collection[str] = (), earlier: Path | None = None) -> dict[str, Any]:
    """Measures what is missing, and prices what is there.

    Args:
        chosen: names of :data:`PARTS`; none for all. The prices are always made anew.
        earlier: not read; the measured schedules are in their own files.
    """
    for name in chosen or PARTS:
        PARTS[name]()
    return priced()


def collect_apps(apps: Collection[str] = APPS) -> None:
    """Measures what is missing in the files of apps."""
    collect(apps, Subject.of_app, file_of, WANTED, together=len(apps))


def collect_random() -> None:
    """Measures what is missing in the file of random pipelines of several stages."""
    collect(RANDOM, Subject.of_random, lambda _: RANDOM_FILE, WANTED_OF_RANDOM, together=1)


def collect_single() -> None:
    """Measures what is missing in the file of random pipelines of one idea."""
    collect(SINGLE, Subject.of_single, lambda _: SINGLE_FILE, WANTED_OF_SINGLE, together=1)


def collect_gallery(names: Collection[str] = ()) -> None:
    """Measures what is missing in the files of the gallery."""
    chosen = names or GALLERY
    collect(chosen, Subject.of_gallery, gallery_file_of, WANTED_OF_GALLERY, together=1)


def file_of(app: str) -> Path:
    """The file of an app's measured schedules."""
    return FOLDER / f"{app}.jsonl"


def gallery_file_of(name: str) -> Path:
    """The file of the measured schedules of a pipeline of the gallery."""
    return FOLDER / "gallery" / f"{name}.jsonl"


def priced() -> dict[str, Any]:
    """The quality of each model for each app with measured schedules, the medians over apps, and
    the processors that measured.
    """
    read = {app: records(file_of(app)) for app in APPS}
    measured = {app: timed(found) for app, found in read.items()}
    found = qualities(
        {app: each for app, each in measured.items() if each}, timed(records(RANDOM_FILE))
    )
    return {
        "apps": {
            app: {
                "measured": len(read[app]),
                "priced": len(measured[app]),
                "ended": sum(math.isfinite(one.ratio) for one in measured[app]),
                "models": _rounded(each),
            }
            for app, each in found.items()
        },
        "medians": _rounded(medians(found)),
        "processors": sorted({one.cpu for each in read.values() for one in each}),
    }


def _rounded(found: dict[str, Quality]) -> dict[str, dict[str, float]]:
    return {
        name: {"spearman": round(one.spearman, 3), "top_5_regret": round(one.regret, 3)}
        for name, one in found.items()
    }


PARTS: dict[str, Callable[[], None]] = {
    "apps": collect_apps,
    "random_pipelines": collect_random,
    "single_pipelines": collect_single,
    "gallery": collect_gallery,
    "prices": lambda: None,
}
"""The parts by name; each start ends with the prices."""
