"""``python -m bench halide_pipelines``: pipelines that are in Halide, on both sides and both ways.

The pipelines are those of `apps` under their hand schedules, those of `tests/halide_programs`, and
the `.hlpipe` files of a folder. Each comes from a file that Halide has written. What runs is said
in `bench/halide_table.py`. All run in turns in one process: once as users get it, where our runtime
keeps scratch memory and Halide's frees it, and once with a C library that keeps freed memory.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from attrs import asdict, evolve, field, frozen

from bench.against_halide import KEEPING, MEASURED, apart, variables
from bench.contenders import inputs_of, legal, pipeline_of, sizes_of, written
from bench.halide_table import (
    AUTOSCHEDULER,
    FIRST,
    FIRST_IN_HALIDE,
    GAIN,
    HALIDE,
    KINDS,
    SAME,
    TUNED,
    Found,
    table,
)
from bench.hlpipe import SMALL, USUAL, Run, Sized
from bench.machine import machine
from bench.page_faults import page_faults
from bench.processes import Contender, ContenderFailed
from spaces.apps.catalog import APPS
from spaces.apps.files import write_text
from spaces.apps.timing import Timing, interleaved
from spaces.backend.arguments import bind
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, autoscheduled
from spaces.backend.halide.bridge import HOST, HalidePipeline, build
from spaces.backend.halide.definition import PeerAlgorithm
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.halide.incoming.problems import HalideImportError
from spaces.backend.halide.incoming.program import read_hlpipe
from spaces.backend.halide.peer import hl
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import device, host_cpu
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.measurer import interval_of_median
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.store import MEMORY
from spaces.tuning.study import Study
from spaces.tuning.tune import tune

RESULTS = Path("bench") / "results" / "halide_pipelines.json"

EXPECTED = """\
Expected minutes on two idle cores, without options: 1/4 for a program of tests/halide_programs,
1 1/2 for an app, 45 for all. --tune adds its seconds to each pipeline, and --autoschedule up to
three times its seconds. --minutes 15 does a third of all; the same command goes on then. A run
ends with its last pipeline: up to two minutes later, and the seconds of the options for one.
"""

MEMORY_KEPT = dict(zip(KINDS, ({}, KEEPING), strict=True))
"""The environment variables of the two rounds."""


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


@frozen
class Candidates:
    """What is compared with Halide's own schedule.

    Attributes:
        schedules: ours by name, to be run on both sides.
        files: for each autoscheduler of Halide a file with the schedule that it finds.
        without: why others are not there, as sentences.
    """

    schedules: Mapping[str, Schedule] = field(factory=dict)
    files: Mapping[str, Path] = field(factory=dict)
    without: Mapping[str, str] = field(factory=dict)


def found_schedules(subject: Subject, tuning: float) -> Candidates:
    """The first schedule of a search, and the fastest of ``tuning`` seconds if there are any."""
    _, plain = subject.sized()
    pipeline, cpu = plain.program.pipeline, device("cpu")
    first = best(search(ScheduleSpace(pipeline, cpu), limits=Limits(top=1))).best[0].schedule
    if not tuning:
        return Candidates({FIRST: first})
    given = plain.arguments
    study = tune(
        pipeline, cpu, store=MEMORY, seconds=tuning, start=[first], inputs=given.images,
        params=given.scalars,
    )  # fmt: skip
    if study.best is None:
        return Candidates({FIRST: first}, without={TUNED: _untuned(study, tuning)})
    return Candidates({FIRST: first, TUNED: study.best.schedule})


def _untuned(study: Study, tuning: float) -> str:
    """Why tuning has no schedule."""
    if not study.told:
        return (
            f"{tuning:g} seconds of tuning end before the first trial has a time; give --tune more."
        )
    first = next(one.result for one in study if one.result is not None)
    return f"none of {amount(study.told, 'trial')} has a time; the first: {first}"


def autoscheduled_file(subject: Subject, autoscheduler: str) -> Path:
    """A file of the pipeline with the schedule that an autoscheduler of Halide finds.

    Raises:
        DirectiveError: Halide refuses the pipeline or fails to schedule it.
    """
    _, plain = subject.sized()
    pipeline, given = plain.program.pipeline, plain.arguments
    sizes = {name: given.ranges[name] for name in (*given.images, *pipeline.outputs)}
    sized = read_hlpipe(subject.plain, estimates={**sizes, **given.scalars}).pipeline
    peer = autoscheduled(sized, autoscheduler, host_cpu().cores).peer
    file = subject.plain.with_suffix(f".{autoscheduler}.hlpipe")
    hl.serialize_pipeline(peer.halide, str(file))
    return file


def measured(subject: Subject, candidates: Candidates, seconds: float) -> Found:
    """Medians, ratios to Halide with their intervals, and page faults of all contenders."""
    own, plain = subject.sized()
    found: Found = {}
    refused: dict[str, str] = {}
    runs: dict[str, Run] = {HALIDE: own.halides(subject.own, HOST)}
    makers: dict[str, Callable[[], Run]] = {SAME: partial(_ours, own, own.program.schedule)}
    for name, schedule in candidates.schedules.items():
        makers[name] = partial(_ours, plain, schedule)
        makers[f"{name} in Halide"] = partial(plain.halides, subject.plain, HOST, schedule)
    for name, file in candidates.files.items():
        makers[name] = partial(_scheduled_in_halide, plain, file)
    wanted = {name: np.array(array) for name, array in runs[HALIDE]().items()}
    for name, make in makers.items():
        try:
            run = make()
            apart(run(), wanted)
            runs[name] = run
        except (HalideFailure, HalideImportError, ValueError) as error:
            refused[name] = str(error)
    timings = interleaved(runs, rounds=21, budget_s=seconds)
    automatic = [name for name in candidates.files if name in timings]
    if automatic:
        fastest = min(automatic, key=lambda name: timings[name].median_ms)
        timings[AUTOSCHEDULER] = timings[fastest]
        if FIRST_IN_HALIDE in timings:
            found[GAIN] = _ratio(timings[AUTOSCHEDULER], timings[FIRST_IN_HALIDE])
    found["ms"] = {name: round(one.median_ms, 4) for name, one in timings.items()}
    found["ratios"] = {n: _ratio(one, timings[HALIDE]) for n, one in timings.items() if n != HALIDE}
    found["page_faults"] = {name: page_faults(run) for name, run in runs.items()}
    return {**found, **({"refused": refused} if refused else {})}


def _scheduled_in_halide(plain: Sized, file: Path) -> Run:
    """A function in which Halide runs the same pipeline from another file."""
    program = read_hlpipe(file, ignore_schedule=True)
    return evolve(plain, program=program).halides(file, HOST)


def _ours(sized: Sized, schedule: Schedule) -> Run:
    checked: CheckedSchedule = legal(sized.program.pipeline, schedule)
    return sized.ours(checked, FloatMode.FAST)


def _ratio(ours: Timing, halide: Timing) -> list[float]:
    """The median of the ratios of the rounds, and the ends of its interval."""
    pairs = zip(ours.times_ms, halide.times_ms, strict=True)
    ratios = sorted(mine / theirs for mine, theirs in pairs)
    return [round(end, 3) for end in (statistics.median(ratios), *interval_of_median(ratios))]


def measure(make: Callable[[], Subject], name: str, options: Options) -> Found:
    """What is measured of a pipeline; each part in a process of its own. What fails is a sentence:
    it must not end the others.
    """
    found: Found = {"options": asdict(options)}
    tuning, seconds = options.tune, options.seconds
    try:
        subject = make()
        candidates = _alone(name, found_schedules, subject, tuning, seconds=tuning + 300)
        candidates = _with_autoschedulers(name, subject, candidates, options.autoschedule)
        if candidates.without:
            found["without"] = dict(candidates.without)
        for kind, values in MEMORY_KEPT.items():
            with variables(values):
                arguments = (subject, candidates, seconds)
                found[kind] = _alone(name, measured, *arguments, seconds=seconds + 300)
    except (ContenderFailed, HalideFailure, ValueError) as error:
        return {**found, "failed": str(error)}
    except Exception as error:
        return {**found, "failed": f"{type(error).__name__}: {error}"}
    return found


def _with_autoschedulers(
    name: str, subject: Subject, candidates: Candidates, seconds: float
) -> Candidates:
    """The same with a file of each autoscheduler of Halide that ends within ``seconds``."""
    files, without = {}, {**candidates.without}
    for one in AUTOSCHEDULERS if seconds else ():
        try:
            files[one] = _alone(name, autoscheduled_file, subject, one, seconds=seconds)
        except ContenderFailed as error:
            without[one] = str(error)
    return evolve(candidates, files=files, without=without)


@frozen
class Options:
    """How pipelines are measured; results under other options are measured again.

    Attributes:
        tune: for so many seconds each pipeline is tuned; 0 for none.
        autoschedule: so many seconds has each autoscheduler of Halide; 0 for none.
        seconds: after so many seconds no round begins.
    """

    tune: float
    autoschedule: float
    seconds: float


def _alone(name: str, task: Callable[..., Any], *given: object, seconds: float) -> Any:
    contender = Contender.started(name)
    try:
        return contender.ask(task, *given, seconds=seconds)
    finally:
        contender.end()


def main(arguments: Sequence[str]) -> None:
    """Measures pipelines, writes the JSON after each of them, and prints the table. Pipelines that
    are in it already, under the same options, are left out; so a run that was ended goes on.
    Results of all pipelines go into the page of the benchmarks.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench halide_pipelines",
        description=__doc__,
        epilog=EXPECTED,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help="measure these pipelines alone")
    parser.add_argument("--folder", type=Path, help="the .hlpipe files of this folder instead")
    parser.add_argument("--tune", type=float, default=0, help="tune each for so many seconds")
    parser.add_argument(
        "--autoschedule", type=float, default=0, metavar="SECONDS",
        help="also run the schedules that Halide's autoschedulers find, each in so many seconds",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=30, help="for each of the two rounds")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="no pipeline begins after them"
    )
    parser.add_argument("--again", action="store_true", help="measure what is known, too")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the JSON is written")
    given = parser.parse_args(arguments)
    os.environ["HL_NUM_THREADS"] = str(host_cpu().cores)  # for the processes that begin
    earlier = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
    pipelines: dict[str, Found] = earlier.get("pipelines", {})
    options = Options(given.tune, given.autoschedule, given.seconds)
    with tempfile.TemporaryDirectory() as folder:
        every = dict(subjects(Path(folder), given.folder))
        unknown = [name for name in given.name if name not in every]
        if unknown or not every:
            parser.error(
                f"There is no pipeline {', '.join(unknown)}; there are {', '.join(every)}."
            )
        wanted = given.name or [*every]
        chosen = [n for n in wanted if given.again or not _is_measured(pipelines.get(n), options)]
        print(
            f"{amount(len(chosen), 'pipeline')}, {len(wanted) - len(chosen)} more are measured "
            f"already. Each takes {_minutes(options.tune + 2 * options.seconds)} or less, besides "
            "its search, compilation and autoschedulers.",
            flush=True,
        )
        begin = time.monotonic()
        for number, name in enumerate(chosen, start=1):
            pipelines[name] = measure(every[name], name, options)
            found = {"machine": machine(), "pipelines": pipelines}
            write_text(given.json, json.dumps(found, indent=2) + "\n")
            gone = time.monotonic() - begin
            print(f"  {name}: {pipelines[name]}", flush=True)
            left = _minutes(gone / number * (len(chosen) - number))
            print(f"  {number} of {len(chosen)}; {left} left", flush=True)
            if gone > 60 * given.minutes and number < len(chosen):
                print(f"The time is over; the same command goes on with {chosen[number]}.")
                break
    print(table(pipelines))
    if given.json == RESULTS:
        importlib.import_module("bench.report").renew_pages(Path())


def _is_measured(known: Found | None, options: Options) -> bool:
    return known is not None and "failed" not in known and known.get("options") == asdict(options)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"
