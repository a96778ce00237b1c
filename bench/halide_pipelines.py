"""``python -m bench halide_pipelines``: pipelines that are in Halide, on both sides and both ways.

The pipelines are those of `apps` under their hand schedules, those of `tests/halide_programs`, and
the `.hlpipe` files of a folder. Each comes from a file that Halide has written. :data:`CONTENDERS`
says what runs. All run in turns in one process: once as users get it, where our runtime keeps
scratch memory and Halide's frees it, and once with a C library that keeps freed memory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from bench.against_halide import KEEPING, MEASURED, apart, variables
from bench.contenders import inputs_of, legal, pipeline_of, sizes_of, written
from bench.hlpipe import SMALL, USUAL, Run, Sized
from bench.machine import machine
from bench.page_faults import page_faults
from bench.processes import Contender, ContenderFailed
from spaces.apps.catalog import APPS
from spaces.apps.files import write_text
from spaces.apps.timing import Timing, interleaved
from spaces.backend.arguments import bind
from spaces.backend.halide.bridge import HOST, HalidePipeline, build
from spaces.backend.halide.definition import PeerAlgorithm
from spaces.backend.halide.errors import ApplyError, HalideFailure
from spaces.backend.halide.incoming.program import read_hlpipe
from spaces.backend.halide.peer import hl
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import device, host_cpu
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.measurer import interval_of_median
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.store import MEMORY
from spaces.tuning.tune import tune

RESULTS = Path("bench") / "results" / "halide_pipelines.json"

HALIDE = "Halide"

CONTENDERS = {
    HALIDE: "Halide compiles its own object under the schedule that it has",
    "same": "we compile the same pipeline under the same schedule",
    "first": "we compile it under the first schedule of our search",
    "tuned": "we compile it under the fastest schedule of our tuning",
    "first in Halide": "Halide compiles its object with our first schedule applied to it",
    "tuned in Halide": "Halide compiles its object with our tuned schedule applied to it",
}
"""What runs, with what it is. All others are compared with the first."""

MEMORY_KEPT = {"usual": {}, "kept": KEEPING}
"""The two rounds by what happens to freed memory, with their environment variables."""

Found = dict[str, Any]


@frozen
class Subject:
    """A pipeline in two files of Halide: with its schedule, and without any. One of `apps` has the
    images of the app.
    """

    name: str
    own: Path
    plain: Path
    is_app: bool = False

    def sized(self) -> tuple[Sized, Sized]:
        """Both with arguments for the same run: the images of an app, else random ones.

        Raises:
            ValueError: a promise of the pipeline does not hold at these sizes.
        """
        if self.is_app:
            made = []
            for file in (self.own, self.plain):
                program = read_hlpipe(file, estimates=sizes_of(self.name))
                images = {**program.arrays, **inputs_of(self.name)}
                made.append(Sized(program, bind(program.pipeline, images, {}, sizes_of(self.name))))
            return made[0], made[1]
        own = Sized.of(self.own)
        extents = USUAL if own.verdict else SMALL
        own, plain = Sized.of(self.own, extents), Sized.of(self.plain, extents)
        given, pipeline = own.arguments, plain.program.pipeline
        images = {image.name: given.images[image.name] for image in pipeline.images}
        named = (*images, *pipeline.outputs)
        sizes = {name: given.ranges[name] for name in named}
        scalars = {scalar.name: given.scalars[scalar.name] for scalar in pipeline.scalars}
        return own, Sized(plain.program, bind(pipeline, images, scalars, sizes))


def subjects(folder: Path, theirs: Path | None) -> Iterator[tuple[str, Callable[[], Subject]]]:
    """The names of all pipelines, and what writes their files into ``folder``."""

    def written_to(name: str, own: Any, plain: Any) -> Subject:
        files = [folder / f"{name}.{kind}.hlpipe" for kind in ("own", "plain")]
        for file, made in zip(files, (own, plain), strict=True):
            hl.serialize_pipeline(made, str(file))
        return Subject(name, files[0], files[1])

    def of_app(name: str) -> Subject:
        pipeline = pipeline_of(name)
        own = build(pipeline, written(name, MEASURED)).halide
        made = written_to(name, own, HalidePipeline(PeerAlgorithm(pipeline)).halide)
        return evolve(made, is_app=True)

    def of_program(name: str) -> Subject:
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        own, plain = (programs[name](rng, scheduled) for scheduled in (True, False))
        made = written_to(name, own.pipeline(), plain.pipeline())
        alone = read_hlpipe(made.plain)
        if alone.scheduled and not alone.arrays:  # our schedules need Funcs that have none
            algorithm = PeerAlgorithm(alone.pipeline)
            hl.serialize_pipeline(HalidePipeline(algorithm).halide, str(made.plain))
        return made

    def of_file(file: Path) -> Subject:
        algorithm = PeerAlgorithm(read_hlpipe(file).pipeline)
        plain = folder / f"{file.stem}.plain.hlpipe"
        hl.serialize_pipeline(HalidePipeline(algorithm).halide, str(plain))
        return Subject(file.stem, file, plain)

    if theirs is not None:
        yield from ((f.stem, lambda f=f: of_file(f)) for f in sorted(theirs.glob("*.hlpipe")))
        return
    importlib.import_module("tests.halide_programs.files")  # which fills PROGRAMS
    programs = importlib.import_module("tests.halide_programs.case").PROGRAMS
    for name, app in APPS.items():
        if MEASURED in app.schedules:
            yield name, lambda name=name: of_app(name)  # type: ignore[misc]
    yield from ((name, lambda name=name: of_program(name)) for name in programs)


def found_schedules(subject: Subject, tuning: float) -> dict[str, Schedule]:
    """The first schedule of a search, and the fastest of ``tuning`` seconds if there are any."""
    _, plain = subject.sized()
    pipeline, cpu = plain.program.pipeline, device("cpu")
    first = best(search(ScheduleSpace(pipeline, cpu), limits=Limits(top=1))).best[0].schedule
    found = {"first": first}
    if tuning:
        given = plain.arguments
        study = tune(
            pipeline, cpu, store=MEMORY, seconds=tuning, start=[first], inputs=given.images,
            params=given.scalars,
        )  # fmt: skip
        if study.best is not None:
            found["tuned"] = study.best.schedule
    return found


def measured(subject: Subject, schedules: Mapping[str, Schedule], seconds: float) -> Found:
    """Medians, ratios to Halide with their intervals, and page faults of all contenders."""
    own, plain = subject.sized()
    found: Found = {}
    refused: dict[str, str] = {}
    runs: dict[str, Run] = {HALIDE: own.halides(subject.own, HOST)}
    makers: dict[str, Callable[[], Run]] = {"same": lambda: _ours(own, own.program.schedule)}
    for name, schedule in schedules.items():
        makers[name] = lambda schedule=schedule: _ours(plain, schedule)  # type: ignore[misc]
        makers[f"{name} in Halide"] = lambda schedule=schedule: plain.halides(  # type: ignore[misc]
            subject.plain, HOST, schedule
        )
    wanted = {name: np.array(array) for name, array in runs[HALIDE]().items()}
    for name, make in makers.items():
        try:
            run = make()
            apart(run(), wanted)
            runs[name] = run
        except (HalideFailure, ApplyError, ValueError) as error:
            refused[name] = str(error)
    timings = interleaved(runs, rounds=21, budget_s=seconds)
    found["ms"] = {name: round(one.median_ms, 4) for name, one in timings.items()}
    found["ratios"] = {n: _ratio(one, timings[HALIDE]) for n, one in timings.items() if n != HALIDE}
    found["page_faults"] = {name: page_faults(run) for name, run in runs.items()}
    return {**found, **({"refused": refused} if refused else {})}


def _ours(sized: Sized, schedule: Schedule) -> Run:
    checked: CheckedSchedule = legal(sized.program.pipeline, schedule)
    return sized.ours(checked, FloatMode.FAST)


def _ratio(ours: Timing, halide: Timing) -> list[float]:
    """The median of the ratios of the rounds, and the ends of its interval."""
    pairs = zip(ours.times_ms, halide.times_ms, strict=True)
    ratios = sorted(mine / theirs for mine, theirs in pairs)
    return [round(end, 3) for end in (statistics.median(ratios), *interval_of_median(ratios))]


def measure(make: Callable[[], Subject], name: str, tuning: float, seconds: float) -> Found:
    """What is measured of a pipeline; each part in a process of its own. What fails is a sentence:
    it must not end the others.
    """
    found: Found = {"options": _options(tuning, seconds)}
    try:
        subject = make()
        schedules = _alone(name, found_schedules, subject, tuning, seconds=tuning + 300)
        for kind, values in MEMORY_KEPT.items():
            with variables(values):
                arguments = (subject, schedules, seconds)
                found[kind] = _alone(name, measured, *arguments, seconds=seconds + 300)
    except (ContenderFailed, HalideFailure, ValueError) as error:
        return {**found, "failed": str(error)}
    except Exception as error:
        return {**found, "failed": f"{type(error).__name__}: {error}"}
    return found


def _options(tuning: float, seconds: float) -> Found:
    """How a pipeline is measured; results under other options are measured again."""
    return {"tune": tuning, "seconds": seconds}


def _alone(name: str, task: Callable[..., Any], *given: object, seconds: float) -> Any:
    contender = Contender.started(name)
    try:
        return contender.ask(task, *given, seconds=seconds)
    finally:
        contender.end()


def table(pipelines: Mapping[str, Found]) -> str:
    """The results as a table in Markdown, with a sentence for each column."""
    shown = [c for c in CONTENDERS if c != HALIDE and _ratios(pipelines, "usual", c)]
    columns = [(contender, kind) for contender in shown for kind in MEMORY_KEPT]
    headers = [f"{c}{', memory kept' if kind == 'kept' else ''}" for c, kind in columns]
    lines = [
        f"*{HALIDE}*: {CONTENDERS[HALIDE]}. The other columns divide their times by it; below 1 "
        "they are faster. In brackets is the interval of 95 % over the rounds.",
        *(f"*{contender}*: {CONTENDERS[contender]}." for contender in shown),
        "*Memory kept*: both sides keep freed memory; else Halide's runtime frees it after each "
        "run. *Page faults*: the pages that a run of Halide, and of ours under the same schedule, "
        "gets from the system.",
        "",
        f"| pipeline | Halide, ms | {' | '.join(headers)} | page faults |",
        f"|{'---|' * (len(headers) + 3)}",
    ]
    for name, one in pipelines.items():
        if "failed" in one:
            lines.append(
                f"| {name} | {' '.join(one['failed'].split())} |{' |' * (len(headers) + 1)}"
            )
            continue
        cells = [_cell(one[kind], contender) for contender, kind in columns]
        faults = one["usual"]["page_faults"]
        pages = f"{faults[HALIDE]:,} / {faults.get('same', 0):,}"
        lines.append(
            f"| {name} | {one['usual']['ms'][HALIDE]:.3g} | {' | '.join(cells)} | {pages} |"
        )
    means = [_mean(_ratios(pipelines, kind, contender)) for contender, kind in columns]
    lines.append(f"| geometric mean | | {' | '.join(means)} | |")
    return "\n".join(lines)


def _ratios(pipelines: Mapping[str, Found], kind: str, contender: str) -> list[float]:
    measured_ones = (one[kind]["ratios"] for one in pipelines.values() if kind in one)
    return [ratios[contender][0] for ratios in measured_ones if contender in ratios]


def _cell(one: Found, contender: str) -> str:
    if contender not in one["ratios"]:
        return "refused" if contender in one.get("refused", {}) else ""
    median, low, high = one["ratios"][contender]
    return f"{median:.2f} ({low:.2f}–{high:.2f})"


def _mean(ratios: Sequence[float]) -> str:
    if not ratios:
        return ""
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f} of {len(ratios)}"


def main(arguments: Sequence[str]) -> None:
    """Measures pipelines, writes the JSON after each of them, and prints the table. Pipelines that
    are in it already, under the same options, are measured again only by name; so a run that was
    ended goes on. Results of all pipelines go into the page of the benchmarks.
    """
    parser = argparse.ArgumentParser(prog="python -m bench halide_pipelines", description=__doc__)
    parser.add_argument("name", nargs="*", help="the pipelines to measure, known or not")
    parser.add_argument("--folder", type=Path, help="the .hlpipe files of this folder instead")
    parser.add_argument("--tune", type=float, default=0, help="tune each for so many seconds")
    parser.add_argument("--seconds", type=float, default=30, help="for each of the two rounds")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the JSON is written")
    given = parser.parse_args(arguments)
    os.environ["HL_NUM_THREADS"] = str(host_cpu().cores)  # for the processes that begin
    earlier = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
    pipelines: dict[str, Found] = earlier.get("pipelines", {})
    options = _options(given.tune, given.seconds)
    with tempfile.TemporaryDirectory() as folder:
        every = dict(subjects(Path(folder), given.folder))
        unknown = [name for name in given.name if name not in every]
        if unknown or not every:
            parser.error(
                f"There is no pipeline {', '.join(unknown)}; there are {', '.join(every)}."
            )
        chosen = given.name or [n for n in every if not _is_measured(pipelines.get(n), options)]
        known, each = len(given.name or every) - len(chosen), given.tune + 2 * given.seconds
        print(
            f"{len(chosen)} pipelines, {known} more are measured already. Each takes "
            f"{_minutes(each)} or less, besides its search and compilation.",
            flush=True,
        )
        begin = time.monotonic()
        for number, name in enumerate(chosen, start=1):
            pipelines[name] = measure(every[name], name, given.tune, given.seconds)
            found = {"machine": machine(), "pipelines": pipelines}
            write_text(given.json, json.dumps(found, indent=2) + "\n")
            left = (time.monotonic() - begin) / number * (len(chosen) - number)
            print(f"  {name}: {pipelines[name]}", flush=True)
            print(f"  {number} of {len(chosen)}; {_minutes(left)} left", flush=True)
    print(table(pipelines))
    if given.json == RESULTS:
        importlib.import_module("bench.report").renew_pages(Path())


def _is_measured(known: Found | None, options: Found) -> bool:
    return known is not None and "failed" not in known and known.get("options") == options


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"
