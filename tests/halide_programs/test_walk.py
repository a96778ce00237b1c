"""The walk of `docs/halide_users.md`, with three programs: tuned, judged, applied, and run."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import HalideProgram, apply, from_halide, parse_schedule, read_hlpipe
from spaces.apps.halide_programs import with_estimates
from tests.apps.command_line import spaces
from tests.halide_programs import files
from tests.halide_programs.case import PROGRAMS, Case
from tests.halide_programs.test_programs import assert_close

assert files  # its import fills PROGRAMS


def built(name: str, scheduled: bool) -> Case:
    return PROGRAMS[name](np.random.default_rng(zlib.crc32(name.encode())), scheduled)


def told(name: str, case: Case, program: HalideProgram) -> str:
    """The name of a file with the sizes and values of a case behind it."""
    said = {
        one: "x".join(f"{low}:{extent}" for low, extent in value)
        if program.pipeline.is_image.get(one) is not None
        else str(value)
        for one, value in case.estimates(program).items()
    }
    return with_estimates(name, said)


@pytest.mark.parametrize("name", ["colours", "scattered", "two_sizes"])
@pytest.mark.usefixtures("quickly")
def test_a_schedule_is_tuned_judged_applied_and_run(name: str, tmp_path: Path) -> None:
    theirs, store = built(name, scheduled=True), tmp_path / "tuning.sqlite"
    file, best, header = (tmp_path / one for one in ("theirs.hlpipe", "best.sched", "theirs.h"))
    hl.serialize_pipeline(theirs.pipeline(), str(file))
    program = read_hlpipe(file)
    app = told(str(file), theirs, program)

    out, _ = spaces("verify", app, "--schedule", "own")
    assert out.startswith("The schedule is legal for cpu.\n")
    small = ("--options", "small", "--trials", "2")
    out, err = spaces("tune", app, *small, "--store", store)
    assert "illegal" not in err
    assert "2 trials: 2 correct." in out
    assert ", the schedule that it has in Halide, takes " in out or " start " in out
    # The commands that `tune` names next:
    spaces("best", app, "--store", store, "-o", best)
    spaces("best", app, "--store", store, "--format", "header", "-o", header)
    spaces("best", app, "--store", store, "--format", "hlpipe", "-o", tmp_path / "best.hlpipe")
    written = read_hlpipe(tmp_path / "best.hlpipe")
    assert written.schedule.of(program.pipeline.outputs[0]) == parse_schedule(
        best.read_text(), program.pipeline
    ).of(program.pipeline.outputs[0])
    out, _ = spaces("explain", app, "own", best)
    assert out.startswith("The first schedule is own, the second ")
    assert f"inline void schedule_{program.pipeline.name}(" in header.read_text()

    plain = built(name, scheduled=False)
    live = from_halide(plain.pipeline())
    schedule = parse_schedule(best.read_text(), live.pipeline)
    wanted = theirs.in_halide(from_halide(theirs.pipeline()))
    now = apply(schedule, plain.pipeline())
    for buffer, found in plain.in_halide(now).items():
        assert_close(found, wanted[buffer], plain.ulps, buffer)


def test_sizes_that_are_known_are_not_asked_for(tmp_path: Path) -> None:
    lacking = {}
    for name in ("with_tables", "two_sizes"):
        hl.serialize_pipeline(built(name, scheduled=True).pipeline(), str(tmp_path / name))
        lacking[name] = read_hlpipe(tmp_path / name).lacks_estimates
    assert lacking == {"with_tables": ("photo", "with_tables"), "two_sizes": ("photo", "sums")}
