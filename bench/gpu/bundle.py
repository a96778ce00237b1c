"""Makes a bundle: a folder with all that checking and timing apps on a GPU needs."""

from __future__ import annotations

import datetime
import importlib
import importlib.metadata
import importlib.util
import shutil
import subprocess
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from bench.contenders import pipeline_of, written
from bench.gpu.kernels import kernels_record, on_card_alone
from bench.gpu.making import Making
from bench.gpu.packing import write_runner
from bench.gpu.random_cases import DRAWS, SCHEDULES, is_random, seed_of, subject_pipeline
from bench.gpu.runner.folder import FORMAT, SMALL, write
from bench.gpu.runner.library import is_known
from bench.gpu.sizes import arguments_at, size_record
from bench.processes import Contender, ContenderFailed
from spaces.backend.cuda.errors import CudaError
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.agreement import EXACT
from spaces.backend.measuring.tolerances import tolerance
from spaces.constraints.devices.device import device
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Op, walk
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.writing.text import format_schedule, parse_schedule
from spaces.tuning.compiler_ranking import rank_by_compiler

SEARCHING = 20.0
"""Seconds of a search for a schedule."""

FINALISTS = 6
"""How many schedules of a search are looked at for those that leave nothing on the CPU."""

RANKING = 60.0
"""Seconds in which the compiler ranks them by registers and spills."""

LONGEST = 180.0
"""Seconds in which a contender must be made."""

MODES = (FloatMode.STRICT, FloatMode.FAST)

OURS = BY_HAND, FOUND = "by hand", "found"
"""Our schedules: that of the app, and that of the default search."""

OTHERS_AT_SMALL = {SMALL: "others are checked at full size alone"}
"""Small sizes are for our tails; most schedules of others do not serve them."""

RUNNER = "run.pyz"


def make(
    making: Making, apps: Sequence[str], end: float | None = None, processes: int = 1
) -> list[str]:
    """Makes a bundle of some apps and returns those that are in it. After each app the bundle is
    whole. It takes the place of an earlier one in its folder.

    Args:
        making: how.
        apps: the apps.
        end: when to begin with no further app, by the monotonic clock.
        processes: how many apps are made at the same time.
    """
    _remove_earlier(making.folder)
    (making.folder / "apps").mkdir(parents=True, exist_ok=True)
    write_runner(making.folder / RUNNER)
    without_halide = _without_halide(making)
    done: set[str] = set()
    guard = threading.Lock()

    def one(app: str) -> None:
        if end is not None and time.monotonic() > end:
            return
        try:
            record = app_record(making, app, without_halide)
        except ContenderFailed as failed:
            print(f"  {app}: {failed}", flush=True)
            return
        absent = "".join(f"\n    without {name}: {why}" for name, why in record["absent"].items())
        print(f"  {app}: {'; '.join(record['contenders'])}{absent}", flush=True)
        with guard:
            done.add(app)
            write(making.folder / "apps" / f"{app}.json", record)
            _write_about(making, apps, done, without_halide)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(one, apps))
    return [app for app in apps if app in done]


def _remove_earlier(folder: Path) -> None:
    """Removes what an earlier bundle has left in a folder, but for its results."""
    if (folder / "bundle.json").exists():
        (folder / "bundle.json").unlink()
        for part in ("apps", "halide", "kernels", "references"):
            shutil.rmtree(folder / part, ignore_errors=True)


def _write_about(
    making: Making, apps: Sequence[str], done: Collection[str], without_halide: str
) -> None:
    about = {
        "format": FORMAT,
        "arch": making.arch,
        "date": datetime.date.today().isoformat(),
        "commit": _commit(),
        "halide": without_halide or importlib.metadata.version("halide"),
        "apps": [app for app in apps if app in done],
        "not_made": [app for app in apps if app not in done],
    }
    write(making.folder / "bundle.json", about)


def app_record(making: Making, app: str, without_halide: str) -> dict[str, Any]:
    """What the bundle says of an app. Each contender may fail alone.

    Raises:
        ContenderFailed: the app has no references.
    """
    pipeline = subject_pipeline(app)
    loose = list(tolerance(pipeline))
    strict = list(EXACT) if _is_exact(pipeline) else loose
    contenders: dict[str, Any] = {}
    absent: dict[str, str] = {}

    def add(name: str, allowed: list[float], task: Callable[..., Any], *given: object) -> None:
        try:
            contenders[name] = {**maker.made(task, *given), "allowed": allowed}
        except ContenderFailed as failed:
            absent[name] = str(failed)

    maker = _Maker(app)
    sizes = maker.made(_sizes, making, app)
    for which in () if is_random(app) else OURS:
        try:
            text = maker.made(_schedule, making, app, which)
        except ContenderFailed as failed:
            absent[which] = str(failed)
            continue
        for mode in MODES:
            allowed = strict if mode is FloatMode.STRICT else loose
            add(f"{which}, {mode.value}", allowed, _kernels, making, app, text, mode)
    for number, text in enumerate(maker.made(_drawn, making, app) if is_random(app) else ()):
        add(f"drawn {number}", strict, _kernels, making, app, text, FloatMode.STRICT)
    for which in () if is_random(app) else making.halide:
        if without_halide:
            absent[f"Halide, {which}"] = without_halide
        else:
            add(f"Halide, {which}", loose, _halide, making, app, which)
    if is_known(app):
        contenders["library"] = {"kind": "library", "allowed": loose, "refused": OTHERS_AT_SMALL}
    maker.end()
    scalars = {s.name: [str(s.type.dtype), s.default] for s in pipeline.scalars}
    return {
        "app": app,
        "scalars": scalars,
        "timed": not is_random(app),
        "sizes": sizes,
        "contenders": contenders,
        "absent": absent,
    }


def _is_exact(pipeline: Pipeline) -> bool:
    """Whether all its operations round alike everywhere. Two libraries may round an exponential in
    two ways.
    """
    roots = (e for f in pipeline.functions for stage in f.stages for e in stage.expressions)
    called = {node.name for node in walk(*roots) if isinstance(node, Op)}
    return all(FLOAT_FUNCTIONS[name].llvm for name in called if name in FLOAT_FUNCTIONS)


class _Maker:
    """Does tasks in a process of their own; after one that fails, in another process."""

    def __init__(self, app: str) -> None:
        self.app = app
        self.contender: Contender | None = None

    def made(self, task: Callable[..., Any], *given: object) -> Any:
        """The result of a task.

        Raises:
            ContenderFailed: it fails, or takes too long.
        """
        if self.contender is None:
            self.contender = Contender.started(self.app)
        try:
            return self.contender.ask(_in_words, task, *given, seconds=LONGEST)
        except ContenderFailed:
            self.end()
            raise

    def end(self) -> None:
        """Ends the process."""
        if self.contender is not None:
            self.contender.end()
            self.contender = None


def _in_words(task: Callable[..., Any], *given: object) -> Any:
    """The result of a task; whatever goes wrong becomes a sentence of the result."""
    try:
        return task(*given)
    except (CudaError, HalideFailure, ValueError) as error:
        raise ValueError(str(error)) from error
    except Exception as error:
        traceback.print_exc()
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _sizes(making: Making, app: str) -> dict[str, Any]:
    return {
        size: size_record(app, size, width, height, making.folder)
        for size, (width, height) in making.shown_at(app).items()
    }


def _schedule(making: Making, app: str, which: str) -> str:
    """The text of a schedule of ours."""
    pipeline = pipeline_of(app)
    if which == BY_HAND:
        return format_schedule(written(app, "gpu"), pipeline)
    file = making.schedules / f"{app}.sched" if making.schedules else None
    if file is not None and file.exists():
        return file.read_text("utf-8")
    space = ScheduleSpace(pipeline, device(making.arch))
    found = best(search(space, limits=Limits(top=FINALISTS, seconds=SEARCHING))).best
    alone = [one for one in found if on_card_alone(pipeline, one.schedule, making.arch)]
    first, *_ = rank_by_compiler(space, alone or found[:1], seconds=RANKING)
    return format_schedule(first.found.schedule, pipeline)


def _drawn(making: Making, name: str) -> list[str]:
    """The texts of schedules of a random pipeline that leave nothing on the CPU."""
    pipeline = subject_pipeline(name)
    space = ScheduleSpace(pipeline, device(making.arch)).of_patterns
    drawn = space.sample(DRAWS, seed=seed_of(name), seconds=LONGEST / 3)
    alone = (one for one in drawn if on_card_alone(pipeline, one, making.arch))
    return [format_schedule(one, pipeline) for one in islice(alone, SCHEDULES)]


def _kernels(making: Making, app: str, text: str, mode: FloatMode) -> dict[str, Any]:
    schedule = parse_schedule(text, subject_pipeline(app))
    sizes = {
        size: arguments_at(app, width, height)
        for size, (width, height) in making.shown_at(app).items()
    }
    record = kernels_record(app, schedule, mode, sizes, making)
    return {**record, "schedule": text}


def _halide(making: Making, app: str, which: str) -> dict[str, Any]:
    objects = importlib.import_module("bench.gpu.halide_objects")
    record: dict[str, Any] = objects.halide_record(app, which, making.folder)
    return {**record, "refused": OTHERS_AT_SMALL}


def _without_halide(making: Making) -> str:
    """Why the bundle has nothing of Halide; empty if it has its runtime."""
    if not making.halide:
        return "not asked for"
    if importlib.util.find_spec("halide") is None:
        return "Halide's package is not installed where the bundle was made"
    try:
        importlib.import_module("bench.gpu.halide_objects").write_runtime(making.folder)
    except ValueError as error:
        return str(error)
    return ""


def _commit() -> str:
    """The commit of the checkout, and whether files differ from it."""
    git = shutil.which("git")
    if git is None:
        return "not known"
    command = [git, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not known"
