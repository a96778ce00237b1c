"""Pictures of the pages for a person's eye: ``python -m docs.screenshots`` writes them to
``out/screenshots``, at laptop and phone width, light and dark. Beside them are cards as terminals
of three widths show them.

It needs a Chromium; ``make test`` does not run it. Pages of the site are among them if
``python -m docs.site`` has built it.
"""

from __future__ import annotations

import html
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from rich.console import Console

import spaces
from spaces.constraints.legality.verdict import Verdict

FOLDER = Path("out/screenshots")

SITE = Path("out/site")

SITE_PAGES = (
    "index.html",
    "tutorial.html",
    "how_to/verify_a_schedule.html",
    "examples/own_cost_model.html",
    "examples/notebooks/search.html",
    "spaces.html",
    "api/searching.html",
    "rules/gpu-structure-and-resources.html",
    "benchmarks.html",
    "search.html?q=fold_storage",
)
"""One page of each kind, and the answer of a search."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

WIDTHS = {"laptop": (1280, 3600), "phone": (390, 5200)}
"""Width and height of the page."""

_NARROWEST = 500
"""A window of a headless Chromium is at least so wide; a narrower page stands in a frame."""

TERMINALS = (40, 80, 120)
"""Columns of terminals."""

DARK = {"light": (), "dark": ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")}


TRIALS = 60
"""The trials of the study whose page is looked at; a store in the folder keeps them."""


def reports() -> dict[str, spaces.Report | spaces.StudyReport | spaces.SearchReport]:
    """The pages to look at: a schedule with its times, two schedules, an illegal one, a refuted
    one, a study, and two searches.
    """
    cpu, gpu = _judged("unsharp", "cpu", "cpu"), _judged("unsharp", "gpu", "sm_80")
    return {
        "one": spaces.report(cpu, names=("cpu", ""), profiles=(spaces.profile(cpu), None)),
        "two": spaces.report(cpu, gpu, names=("cpu", "gpu")),
        "illegal": spaces.report(_judged("harris", "gpu", "cpu"), names=("gpu", "")),
        "refuted": _refuted(),
        "study": spaces.study_report(_study("unsharp")),
        "search": _search("unsharp", "cpu", "cpu"),
        "search_gpu": _search("harris", "gpu", "sm_80"),
    }


def _refuted() -> spaces.Report:
    """A page about a fold that loses a row which is still read."""
    pipeline = spaces.APPS["blur"].pipeline()
    text = "blur_x.store_root().compute_at(blur_y, y).fold_storage(y, 2)"
    schedule = spaces.parse_schedule(text, pipeline)
    verdict = spaces.verify(pipeline, schedule, spaces.device("cpu"))
    proofs = spaces.prove(spaces.loop_nest(pipeline, schedule))
    return spaces.report(verdict, names=("two rows", ""), proofs=proofs)


def _judged(app: str, schedule: str, device: str) -> Verdict:
    found = spaces.APPS[app]
    pipeline = found.pipeline()
    text = found.schedules[schedule].read_text("utf-8")
    return spaces.verify(
        pipeline, spaces.parse_schedule(text, pipeline, 256), spaces.device(device)
    )


def _terminals() -> Iterator[tuple[str, Path]]:
    """Pictures of cards on terminals."""
    for columns in TERMINALS:
        console = Console(file=io.StringIO(), record=True, force_terminal=True, width=columns)
        for one in _with_cards():
            console.print(one, "")
        picture = FOLDER / f"terminal_{columns}.svg"
        console.save_svg(str(picture), title=f"{columns} columns")
        yield f"terminal_{columns}", picture


def _with_cards() -> Iterator[object]:
    cpu, gpu = _judged("unsharp", "cpu", "cpu"), _judged("unsharp", "gpu", "sm_80")
    yield from (spaces.device("cpu"), _judged("harris", "gpu", "cpu"))
    for checked in (cpu, gpu):
        assert isinstance(checked, spaces.CheckedSchedule)  # the app's own
        yield from (checked.pipeline, checked, checked.nest, spaces.price(checked))
        yield spaces.schedule_tree(checked.pipeline, checked.schedule)


def addresses() -> Iterator[tuple[str, str]]:
    """The name and the address of each page; those of reports are written first."""
    for name, report in reports().items():
        page = FOLDER / f"{name}.html"
        report.write(page)
        yield name, page.resolve().as_uri()
    for name, picture in _terminals():
        yield name, picture.resolve().as_uri()
    for place in SITE_PAGES if SITE.exists() else ():
        path, mark, query = place.partition("?")
        name = path.removesuffix(".html").replace("/", "_")
        yield f"site_{name}", (SITE / path).resolve().as_uri() + mark + query


def _study(app: str) -> spaces.Study:
    checked = _judged(app, "cpu", "cpu")
    assert isinstance(checked, spaces.CheckedSchedule)  # the app's own
    store = FOLDER / f"{app}.sqlite"
    return spaces.tune(checked.pipeline, store=store, trials=TRIALS, start=[checked.schedule])


def _search(app: str, schedule: str, device: str) -> spaces.SearchReport:
    checked = _judged(app, schedule, device)
    assert isinstance(checked, spaces.CheckedSchedule)  # the app's own
    space = spaces.ScheduleSpace(checked.pipeline, checked.device)
    done = spaces.best(spaces.search(space, limits=spaces.Limits(top=5)))
    return spaces.search_report(done, space, by_hand={schedule: checked.schedule})


def _framed(address: str, size: tuple[int, int]) -> str:
    """The address of a page that shows another one in its upper left corner."""
    width, height = size
    page = FOLDER / "frame.html"
    page.write_text(
        f'<!DOCTYPE html><meta name="color-scheme" content="light dark">'
        f'<body style="margin:0"><iframe src="{html.escape(address)}" width="{width}" '
        f'height="{height}" style="border:0"></iframe>',
        "utf-8",
    )
    return page.resolve().as_uri()


def main() -> None:
    """Writes the pages and their pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"Install a browser that is called {' or '.join(BROWSERS)}.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, address in addresses():
        for (width, size), (light, flags) in product(WIDTHS.items(), DARK.items()):
            picture = FOLDER / f"{name}_{width}_{light}.png"
            window = f"--window-size={max(size[0], _NARROWEST)},{size[1]}"
            call = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", *flags, window]
            shown = address if size[0] >= _NARROWEST else _framed(address, size)
            call += [f"--screenshot={picture}", shown]
            subprocess.run(call, check=True, capture_output=True)
            print(picture)


if __name__ == "__main__":
    main()
