"""``python -m bench hlpipe DIR``: all files of Halide in a folder, each under its own schedule.

For each file: whether it comes in, or why not; whether its schedule is legal and proven; whether
our code gives Halide's values; and the run times of both, in turns. Halide's package runs the very
pipeline of the file. Each file has a process of its own, because Halide may crash.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

from bench.machine import machine
from bench.processes import Contender, ContenderFailed
from spaces.apps.all_root import all_root
from spaces.apps.timing import interleaved
from spaces.backend.arguments import Arguments, Array, bind
from spaces.backend.buffers import empty_with_steps
from spaces.backend.compile import compile_cpu
from spaces.backend.halide.bridge import STRICT
from spaces.backend.halide.errors import HalideFailure, RealizationError
from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.incoming.problems import HalideImportError
from spaces.backend.halide.incoming.program import HalideProgram, read_hlpipe
from spaces.backend.halide.outgoing.entry_points import apply
from spaces.backend.halide.peer import failing_as, hl, peer_type
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Image, Pipeline
from spaces.model.expressions.types import Type
from spaces.model.formulas.algebra import FormulaError, evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Schedule

USUAL = (512, 384, 3, 2, 2, 2, 2, 2)
"""The extents of outputs and images where the file and the pipeline tell none."""

SMALL = (24, 16, 3, 2, 2, 2, 2, 2)
"""The same for a schedule that is not legal at the usual size: it may have bounds for a size."""

_MORE = 60
"""Seconds after which a process that still works is ended."""

RESULTS = Path("bench") / "results" / "hlpipe.json"

COLUMNS = ("came_in", "legal", "proven", "equal", "halide_ms", "same", "found")

Ranges = tuple[tuple[int, int], ...]
Found = dict[str, Any]
Run = Callable[[], Mapping[str, Array]]


@frozen
class Sized:
    """A program with arguments for one run."""

    program: HalideProgram
    arguments: Arguments

    @staticmethod
    def of(file: Path, extents: Sequence[int] = USUAL) -> Sized:
        """The program of a file, and random images of the sizes that its outputs need.

        Args:
            file: the file.
            extents: the extents of outputs and images where the file tells none.

        Raises:
            ValueError: a promise of the pipeline does not hold at these sizes.
        """
        program = read_hlpipe(file)
        sizes = {name: _size(program.pipeline, name, extents) for name in program.pipeline.outputs}
        params = {s.name: 1 if s.default is None else s.default for s in program.pipeline.scalars}
        known = {n: v for n, v in params.items() if isinstance(v, int)} | _numbers(sizes)
        images = {i.name: r for i, r in _image_ranges(program, known, extents) if r}
        estimates: dict[str, Any] = {**sizes, **images, **params}
        program = read_hlpipe(file, estimates=estimates)
        rng = np.random.default_rng(0)
        arrays = {
            image.name: program.arrays.get(image.name, _random(rng, image.type, images[image.name]))
            for image in program.pipeline.images
        }
        return Sized(program, bind(program.pipeline, arrays, params, {**sizes, **images}))

    @property
    def verdict(self) -> Verdict:
        """Whether the schedule of the file is legal for this CPU."""
        return verify(self.program.pipeline, self.program.schedule, device("cpu"))

    def ours(self, checked: CheckedSchedule, float_mode: FloatMode = FloatMode.STRICT) -> Run:
        """A function that runs our code."""
        given, pipeline = self.arguments, self.program.pipeline
        named = (*given.images, *pipeline.outputs)
        sizes = {name: given.ranges[name] for name in named}
        compiled = compile_cpu(checked, float_mode=float_mode)
        return compiled.prepare(given.images, given.scalars, sizes)

    def halides(self, file: Path, target: str = STRICT, schedule: Schedule | None = None) -> Run:
        """A function in which Halide runs the pipeline of the file, with another schedule if one is
        given; then it must have none in the file.

        Raises:
            HalideFailure: Halide cannot read, compile or run it.
            ApplyError: the schedule cannot be applied.
        """
        given, pipeline = self.arguments, self.program.pipeline
        names, held = self.program.names, {}
        with failing_as(HalideFailure, f"Halide does not read {file.name}"):
            params = hl.deserialize_parameters(str(file))
            for image in pipeline.images:
                theirs = names.get(image.name, image.name)
                if theirs in params:
                    held[image.name] = _with_steps(pipeline, image, given.images[image.name])
                    buffer = _buffer(held[image.name], given.ranges[image.name])
                    params[theirs].set_buffer(buffer)
            for scalar in pipeline.scalars:
                theirs = names.get(scalar.name, scalar.name)
                params[theirs] = _parameter(theirs, scalar.type, given.scalars[scalar.name])
            made = hl.deserialize_pipeline(str(file), params)
        if schedule is not None:
            apply(schedule, made)
        functions = map(pipeline.function, pipeline.outputs)
        outputs = {
            buffer: empty_with_steps(
                given.shape(buffer), type, pipeline.steps(buffer, len(function.args))
            )
            for function in functions
            for buffer, type in zip(function.buffers, function.types, strict=True)
        }
        buffers = [_buffer(array, given.ranges[name]) for name, array in outputs.items()]
        compiled_for = hl.Target(target)

        def run() -> Mapping[str, Array]:
            with failing_as(RealizationError, f"Halide fails to run {file.name}"):
                made.realize(buffers, compiled_for)
            assert len(held) <= len(pipeline.images)  # Halide keeps only their addresses
            return outputs

        run()
        return run


def measure(files: Sequence[Path], seconds: float) -> dict[str, Found]:
    """What is known of each file; ``seconds`` is for the proof, search and runs of one file."""
    return {file.name: _alone(file, seconds) for file in files}


def _alone(file: Path, seconds: float) -> Found:
    contender = Contender.started(file.name)
    try:
        found: Found = contender.ask(measured, file, seconds / 3, seconds=seconds + _MORE)
    except ContenderFailed as error:
        found = {"failed": str(error)}
    finally:
        contender.end()
    return found


def measured(file: Path, seconds: float) -> Found:
    """What is known of one file; ``seconds`` for the proof, for the search and for the timing."""
    try:
        program = read_hlpipe(file)
    except (HalideFileError, HalideImportError) as error:
        return {"came_in": str(error)}
    found: Found = {"came_in": True, "notes": list(program.notes)}
    cpu = device("cpu")
    try:
        sized = Sized.of(file)
        verdict = sized.verdict
        if not isinstance(verdict, CheckedSchedule):
            small = Sized.of(file, SMALL)
            if isinstance(small.verdict, CheckedSchedule):
                sized, verdict = small, small.verdict
    except (ValueError, UnboundedError) as error:
        return {**found, "sizes": str(error)}
    pipeline = sized.program.pipeline
    runs: dict[str, Run] = {}
    if isinstance(verdict, CheckedSchedule):
        report = prove(verdict, seconds=seconds)
        found["legal"] = True
        found["proven"] = len(report.proven) == len(report.proofs) or str(report)
        runs["same"] = sized.ours(verdict)
    else:
        found["legal"] = str(verdict)
    try:
        first = best(search(ScheduleSpace(pipeline, cpu), limits=Limits(top=1, seconds=seconds)))
        checked = verify(pipeline, first.best[0].schedule, cpu)
        assert isinstance(checked, CheckedSchedule)
        runs["found"] = sized.ours(checked)
    except ValueError as error:
        found["found_fails"] = str(error)
    try:
        runs["halide"] = sized.halides(file)
    except HalideFailure as error:
        return {**found, "equal": str(error)}
    wanted = runs["halide"]()
    ours = {name: run() for name, run in runs.items() if name != "halide"}
    unequal = [f"{name}: {why}" for name, made in ours.items() if (why := _unlike(made, wanted))]
    found["equal"] = not unequal or "; ".join(unequal)
    timings = interleaved(runs, rounds=15, budget_s=seconds)
    found["halide_ms"] = round(timings["halide"].median_ms, 3)
    for name in ours:
        found[f"{name}_ms"] = round(timings[name].median_ms, 3)
        found[name] = round(timings[name].ratio_to(timings["halide"]), 3)
    return found


def table(found: Mapping[str, Found]) -> str:
    """The files as a table in Markdown; the reasons stand below it."""
    lines = [
        "| file | came in | legal | proven | equal | Halide, ms | same schedule / Halide "
        "| found schedule / Halide |",
        "|---|---|---|---|---|---|---|---|",
    ]
    reasons = []
    for name, one in found.items():
        lines.append(f"| {name} | {' | '.join(_shown(one.get(key)) for key in COLUMNS)} |")
        told = [text for key, text in one.items() if isinstance(text, str)]
        reasons += [f"- {name}: {' '.join(text.split())}" for text in told]
    return "\n".join([*lines, *([""] if reasons else []), *reasons])


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return "yes" if value is True else "no"
    return str(value)


def main(arguments: Sequence[str]) -> None:
    """Measures the files of a folder, prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench hlpipe", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with .hlpipe files")
    parser.add_argument("--seconds", type=float, default=120, help="for the work on one file")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the JSON is written")
    given = parser.parse_args(arguments)
    files = sorted(given.folder.glob("*.hlpipe"))
    if not files:
        parser.error(f"{given.folder} has no .hlpipe files.")
    found = measure(files, given.seconds)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps({"machine": machine(), "files": found}, indent=2) + "\n")
    print(table(found))


def _size(pipeline: Pipeline, output: str, extents: Sequence[int]) -> Ranges:
    estimate = pipeline.estimate(output)
    if estimate is not None:
        return estimate
    return tuple((0, extent) for extent in extents[: len(pipeline.function(output).args)])


def _numbers(sizes: Mapping[str, Ranges]) -> dict[str, int]:
    """Sizes by the names that formulas have for them."""
    return {
        f"{name}.{part}.{d}": ends[place]
        for name, ranges in sizes.items()
        for d, ends in enumerate(ranges)
        for place, part in enumerate(("min", "extent"))
    }


def _image_ranges(
    program: HalideProgram, known: Mapping[str, int], extents: Sequence[int]
) -> Iterator[tuple[Image, Ranges]]:
    """What outputs of known sizes need of each image, both under the schedule of the program and if
    each Func is computed whole. The usual size where that depends on the image itself or on data.
    """
    pipeline = program.pipeline
    nests = [loop_nest(pipeline, one) for one in (all_root(pipeline), program.schedule)]
    for image in pipeline.images:
        boxes = [nest.inputs[image.name] for nest in nests if image.name in nest.inputs]
        ranges = [
            _range(intervals, known) or (0, extents[d])
            for d, intervals in enumerate(zip(*boxes, strict=True))
        ]
        yield image, tuple(ranges or ((0, one) for one in extents[: image.dimensions]))


def _range(intervals: Sequence[Interval], known: Mapping[str, int]) -> tuple[int, int] | None:
    """The first coordinate and the extent of a hull; None if it is not known."""
    ends: list[int] = []
    for end in (end for interval in intervals for end in (interval.min, interval.max)):
        if end is None:
            return None
        try:
            ends.append(int(evaluate(end, known)))
        except FormulaError:
            return None
    return min(ends), max(ends) - min(ends) + 1


def _random(rng: np.random.Generator, type: Type, ranges: Ranges) -> Array:
    shape = [extent for _, extent in reversed(ranges)]
    if type.is_float:
        return rng.random(shape).astype(type.dtype)
    return rng.integers(0, 2 if type.is_bool else 128, shape).astype(type.dtype)


def _with_steps(pipeline: Pipeline, image: Image, values: Array) -> Array:
    made = empty_with_steps(values.shape, image.type, pipeline.steps(image.name, image.dimensions))
    made[...] = values
    return made


def _buffer(array: Array, ranges: Ranges) -> Any:
    if array.dtype == np.uint64:
        array = array.view(np.ulonglong)  # of two equal types, Halide knows the code of this one
    buffer = hl.Buffer(array)
    buffer.set_min([low for low, _ in ranges])
    return buffer


def _parameter(name: str, type: Type, value: int | float) -> Any:
    """A ``halide.Parameter`` with a value. Only that of a Param takes values of all types."""
    param = hl.Param(peer_type(type), name, value)
    reader = hl.Func("reader")
    reader[()] = hl.Expr(param)
    return hl.serialize_pipeline(hl.Pipeline([reader]), get_params=True)[1][name]


def _unlike(ours: Mapping[str, Array], halide: Mapping[str, Array]) -> str:
    """Where values differ in any bit, but for NaNs; empty if none does."""
    for name, array in ours.items():
        one, other = np.asarray(array), np.asarray(halide[name])
        is_nan = np.isnan(one) & np.isnan(other) if one.dtype.kind == "f" else False
        different = (one != other) & ~np.asarray(is_nan)
        if different.any():
            furthest = np.nanmax(np.abs(one.astype(np.float64) - other.astype(np.float64)))
            return f"{different.mean():.2%} of {name} differs, by at most {furthest:.3g}"
    return ""
