"""Programs of Halide come in, live and from a file: the same record, and Halide's values."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import (
    CheckedSchedule,
    Limits,
    Pipeline,
    Schedule,
    ScheduleSpace,
    apply,
    best,
    compile_cpu,
    device,
    from_halide,
    parse_schedule,
    read_hlpipe,
    search,
    verify,
)
from spaces.model.writing.text import format_schedule
from tests.differential.quick_code import quick_code
from tests.differential.schedules import cpu_schedule
from tests.draw_counts import examples, some
from tests.halide_programs import files
from tests.halide_programs.case import PROGRAMS, Case

assert files  # its import fills PROGRAMS


def made(name: str, scheduled: bool) -> Case:
    rng = np.random.default_rng(zlib.crc32(name.encode()) + scheduled)
    return PROGRAMS[name](rng, scheduled)


def assert_close(found: np.ndarray, wanted: np.ndarray, ulps: int, about: str) -> None:
    if not ulps or wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted, err_msg=about, strict=True)
    else:
        np.testing.assert_array_max_ulp(found, wanted, maxulp=ulps, dtype=wanted.dtype)


def variants(name: str) -> list[bool]:
    """Whether the program has a schedule: both in a thorough run and for a third of the programs,
    else it has one.
    """
    count = examples(2, fewest=1 + (zlib.crc32(name.encode()) % 3 == 0))
    return [True, False][:count]


UNNAMED = re.compile(r"f\d+")
"""The name of a Func that has got none."""

RUNS = [(name, scheduled) for name in PROGRAMS for scheduled in variants(name)]
IDS = [f"{name}-{'scheduled' if scheduled else 'default'}" for name, scheduled in RUNS]


@pytest.mark.parametrize(("name", "scheduled"), RUNS, ids=IDS)
def test_live_and_from_a_file_a_program_is_the_same(
    name: str, scheduled: bool, tmp_path: Path
) -> None:
    case = made(name, scheduled)
    live = from_halide(case.pipeline())
    file = tmp_path / "program.hlpipe"
    hl.serialize_pipeline(case.pipeline(), str(file))
    filed = read_hlpipe(file)
    lost = {part: getattr(filed.pipeline, part) for part in case.lost}
    for part, value in lost.items():
        assert value != getattr(live.pipeline, part)
    assert evolve(live, pipeline=evolve(live.pipeline, **lost)) == filed
    written = format_schedule(live.schedule, live.pipeline)
    assert parse_schedule(written, live.pipeline) == live.schedule
    checked(live.pipeline, live.schedule)
    again = from_halide(made(name, scheduled).pipeline())
    if not any(UNNAMED.fullmatch(f.name) for f in live.pipeline.functions):
        assert again.schedule == live.schedule, "names differ when the program is built anew"


def other_schedules(case: Case, name: str) -> Iterator[CheckedSchedule]:
    """Schedules of ours for the sizes of a case: the first of a short search, and drawn ones."""
    live = from_halide(case.pipeline())
    usual = from_halide(case.pipeline(), estimates=case.estimates(live)).pipeline
    cpu, rng = device("cpu"), random.Random(f"{name} for the CPU")
    found = best(search(ScheduleSpace(usual, cpu), limits=Limits(structures=12)))
    yield checked(usual, found.best[0].schedule)
    drawn = (verify(usual, cpu_schedule(rng, usual), cpu) for _ in range(40))
    legal = (one for one in drawn if isinstance(one, CheckedSchedule) and one.is_exact)
    yield from islice(legal, examples(6, fewest=1))


def checked(pipeline: Pipeline, schedule: Schedule) -> CheckedSchedule:
    verdict = verify(pipeline, schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


@pytest.mark.parametrize(("name", "scheduled"), RUNS, ids=IDS)
def test_a_program_gives_the_values_of_halide(name: str, scheduled: bool) -> None:
    """Under the schedule that it has in Halide, and beside a written one under some of ours."""
    case = made(name, scheduled)
    live = from_halide(case.pipeline())
    theirs = case.in_halide(live)
    reference = case.reference(live)
    images, params, sizes = case.arguments(live)
    assert theirs.keys() == reference.keys()
    for buffer, wanted in theirs.items():
        assert_close(reference[buffer], wanted, case.ulps, f"{buffer} by the reference")
    others = other_schedules(case, name) if scheduled else ()
    for one in (checked(live.pipeline, live.schedule), *others):
        with quick_code():
            ours = compile_cpu(one)(images, params, sizes)
        assert ours.keys() == theirs.keys()
        written = format_schedule(one.schedule, one.pipeline)
        for buffer, wanted in theirs.items():
            assert_close(ours[buffer], wanted, case.ulps, f"{buffer} under\n{written}")


@pytest.mark.parametrize("name", some(PROGRAMS))
def test_halide_gives_the_same_values_under_a_schedule_of_ours(name: str) -> None:
    """The schedule of Funcs that have one is kept."""
    case = made(name, scheduled=False)
    live = from_halide(case.pipeline())
    program = from_halide(case.pipeline(), estimates=case.estimates(live))
    theirs = case.in_halide(live)
    space = ScheduleSpace(program.pipeline, device("cpu"), fixed=program.fixed)
    found = best(search(space, limits=Limits(structures=12))).best[0].schedule
    applied = apply(found, case.pipeline(), leave=program.scheduled)
    for buffer, values in case.in_halide(applied).items():
        assert_close(values, theirs[buffer], case.ulps, buffer)
