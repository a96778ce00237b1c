"""A case as a Python program that shows what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from spaces import Pipeline, Schedule, Type, format_schedule, parse_schedule, to_json
from tests.differential.cases import Case
from tests.differential.check import is_optimised
from tests.differential.layouts import DENSE
from tests.differential.oracle import Oracle
from tests.differential.pipeline_source import pipeline_source
from tests.differential.subjects import Subject

_HARDENED = """\
from functools import partial
from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from tests.differential.layouts import run_placed
hardened = compile_cpu(verdict, access_mode=AccessMode.HARDENED)
runs = [partial(run_placed, hardened.run, pipeline, layouts)]"""

_GUARDED = "runs.append(partial(run_placed, compile_cpu(verdict).run, pipeline, layouts))"

_POISONED = """\
from tests.backend.llvm.guarded_scratch import compile_guarded, run_poisoned
runs.append(partial(run_poisoned, compile_guarded(verdict)))"""

_GPU = """\
from functools import partial
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.emulator import Emulator
from tests.differential.layouts import run_placed
emulated = partial(compile_gpu(verdict).run, executor=Emulator())
runs = [partial(run_placed, emulated, pipeline, layouts)]"""

_PROVEN = """\
refuted = spaces.prove(verdict).refuted
assert not refuted, refuted[0]"""

_COMPARED = """\
from spaces.backend.reference import evaluate
for outputs in {outputs}:
    sizes = {{**outputs, **places}}
    for run in runs:
        found = run(images, sizes=sizes)
        for name, values in evaluate(pipeline, images, sizes=sizes).items():
            np.testing.assert_array_equal(found[name], values, name)"""

_REPLAYED = """\
from spaces.backend.replay import replay_nest
for numbers in {numbers}:
    print(replay_nest(verdict.nest, numbers))"""


def case_source(case: Case, oracle: Oracle) -> str:
    """Python that makes the pipeline and the schedule of a case, verifies, compiles and runs them,
    compares the values with the reference, and executes the loop nest value by value.
    """
    return "\n".join(_parts(case, oracle.subject)) + "\n"


def _parts(case: Case, subject: Subject) -> Iterator[str]:
    pipeline = subject.pipeline
    yield "import numpy as np"
    yield pipeline_source(pipeline)
    yield f"schedule = {_schedule(case.schedule, pipeline)}"
    if pipeline.images:
        yield "from tests.differential.layouts import placed"
        yield "from tests.differential.subjects import pixels"
    for image in pipeline.images:
        given = (subject.places[image.name], subject.seeds[image.name], subject.wide)
        drawn = f"pixels(spaces.{_type(image.type)}, {', '.join(map(repr, given))})"
        layout = subject.layouts.get(image.name, DENSE)
        yield f"{image.name}_values = placed({drawn}, {layout!r}).array"
    images = (f"{i.name!r}: {i.name}_values" for i in pipeline.images)
    yield f"images = {{{', '.join(images)}}}"
    yield f"places = {dict(subject.places)}"
    yield f"layouts = { {n: subject.layouts.get(n, DENSE) for n in pipeline.outputs} }"
    yield f"verdict = spaces.verify(pipeline, schedule, spaces.device({case.target!r}))"
    yield "assert verdict.legal, verdict"
    yield _PROVEN
    sizes = [dict(s) for n, s in enumerate(subject.outputs) if s not in subject.outputs[:n]]
    if case.target != "cpu":
        yield _GPU
    else:
        yield _HARDENED
        if is_optimised(case):
            yield _POISONED if case.number % 2 else _GUARDED
    yield _COMPARED.format(outputs=sizes)
    numbers = [
        {
            f"{buffer}.{part}.{d}": value
            for buffer, ranges in outputs.items()
            for d, limits in enumerate(ranges)
            for part, value in zip(("min", "extent"), limits, strict=True)
        }
        for outputs in sizes
    ]
    yield _REPLAYED.format(numbers=numbers)


def _type(type: Type) -> str:
    """The name of an element type, such as ``UInt8``."""
    name = str(type).replace("uint", "UInt")
    return name[:1].upper() + name[1:]


def _schedule(schedule: Schedule, pipeline: Pipeline) -> str:
    """Its text where that is all, else its document."""
    try:
        text = format_schedule(schedule, pipeline)
        if parse_schedule(text, pipeline) == schedule:
            return f'spaces.parse_schedule("""\n{text}\n""", pipeline)'
    except Exception:  # what is broken may have no text
        pass
    return f"spaces.from_json(r'''{to_json(schedule)}''', spaces.Schedule)"
