"""Writes files of Halide, and checks that Halide reads them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from spaces.backend.halide.bridge import build
from spaces.backend.halide.errors import AppliedOtherwiseError, HalideFailure
from spaces.backend.halide.file.decoding import decode
from spaces.backend.halide.incoming.foreign import ForeignFacts
from spaces.backend.halide.incoming.program import HalideProgram, program
from spaces.backend.halide.outgoing.applying import differences
from spaces.backend.halide.outgoing.renaming import with_identifiers
from spaces.backend.halide.peer import failing_as, hl
from spaces.model.algorithm.foreign import Corners, foreign_code
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


def write_file(file: Path, pipeline: Pipeline, schedule: Schedule) -> None:
    """:func:`spaces.backend.halide.outgoing.entry_points.write_hlpipe`."""
    plain = _serialized(pipeline, None)
    data = _serialized(pipeline, schedule)
    with failing_as(HalideFailure, f"Halide does not read the file of {pipeline.name} back"):
        again = bytes(hl.serialize_pipeline(hl.deserialize_pipeline(data)))
    foreign = ForeignFacts(dict(_any_needs(pipeline)))
    before, after = (_program(one, foreign) for one in (plain, again))
    wanted = with_identifiers(schedule, derived(pipeline, schedule))
    found = tuple(differences(wanted, before, after))
    if found:
        raise AppliedOtherwiseError(pipeline.name, found)
    file.write_bytes(data)


def _serialized(pipeline: Pipeline, schedule: Schedule | None) -> bytes:
    made = build(pipeline, schedule)
    made.algorithm.set_estimates()
    with failing_as(HalideFailure, f"Halide cannot serialize {pipeline.name}"):
        return bytes(hl.serialize_pipeline(made.halide))


def _program(data: bytes, foreign: ForeignFacts) -> HalideProgram:
    return program(decode(data), (), None, None, foreign)


def _any_needs(pipeline: Pipeline) -> Iterator[tuple[str, Callable[..., Sequence[Corners]]]]:
    """Some needs of each Func of foreign code. A file has none, and its schedule asks for none."""
    for function in pipeline.functions:
        code = foreign_code(function.stages[0].values)
        if code is not None:
            boxes = [[(0, 0)] * _dimensions(pipeline, name) for name in code.inputs]
            yield function.name, lambda *_, boxes=boxes: boxes


def _dimensions(pipeline: Pipeline, name: str) -> int:
    if pipeline.is_image[name]:
        return pipeline.image(name).dimensions
    return len(pipeline.function(name).args)
