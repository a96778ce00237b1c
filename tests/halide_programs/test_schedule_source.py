"""A schedule goes onto a pipeline that a build has: by a header, or by a plug-in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from spaces import (
    Func,
    HalideProgram,
    ImageParam,
    Param,
    Pipeline,
    Var,
    device,
    format_schedule,
    parse_schedule,
    pipeline,
    read_hlpipe,
    verify,
)
from spaces.apps.halide_plugin.answer import NoSchedule, answer
from spaces.apps.halide_plugin.build import SOURCE
from spaces.apps.halide_plugin.lines import schedule_lines
from spaces.backend.halide.schedule_source import halide_schedule_source
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.rdom import RDom
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt16
from tests.apps.command_line import spaces

ROOT = Path(__file__).parents[2]

DATA = Path(__file__).parent / "data" / "blur_of_halide_19.hlpipe"

SCHEDULE = """
blur.specialize(gain == 2).vectorize(x, 16)
blur.split(y, y, yi, 8).parallel(y)
rows.compute_at(blur, yi).store_at(blur, y)
hist.compute_root()
hist.update(0).split(r.x, ro, ri, 4).unroll(ri)
"""

TAKEN_BY_A_PLUGIN = """
photo.in(rows).compute_at(rows, x).vectorize(_1, 8)
blur.tile(x, y, xo, yo, xi, yi, 64, 8, TailStrategy::GuardWithIf).fuse(xo, yo, t).parallel(t)
blur.unroll(xi, 2)
rows.compute_root().store_in(MemoryType::Heap).align_storage(x, 32).reorder_storage(y, x)
rows.align_bounds(x, 4, 2).reorder(y, x).memoize().never_partition(x)
hist.compute_at(blur, t).store_root().hoist_storage_root().ring_buffer(2).async_()
hist.update(0).rfactor(r.x, u).compute_root().update(0).vectorize(x, 4)
"""

PROGRAM = """
#include "schedule.h"
#include "spaces_autoscheduler.cpp"

int main(int count, char **words) {
    using namespace Halide;
    ImageParam photo(UInt(16), 2, "photo");
    Param<int> gain("gain");
    Func taken("rows"), rows("rows"), hist("hist"), blur("blur");
    Var x("x"), y("y");
    RDom r(0, 16, "r");
    rows(x, y) = photo(x, y) + photo(x + 1, y);
    hist(x) = cast<uint16_t>(0);
    hist(x) += photo(x, r);
    blur(x, y) = rows(x, y) + rows(x, y + 1) + hist(x) + cast<uint16_t>(gain);
    Pipeline pipeline(blur);
    if (count == 1) {
        schedule_blur(pipeline, gain);
    } else {
        photo.set_estimates({{0, 257}, {0, 193}});
        blur.set_estimates({{0, 256}, {0, 192}});
        gain.set_estimate(2);
        if (count > 2) {
            rows.compute_root().vectorize(x, 8).parallel(y, 4);
        }
        pipeline.apply_autoscheduler(get_host_target(), {"Spaces", {{"python", words[1]}}});
    }
    serialize_pipeline(pipeline, "made.hlpipe");
    return 0;
}
"""


def blurred() -> Pipeline:
    x, y, r = Var("x"), Var("y"), RDom([(0, 16)], "r")
    photo, gain = ImageParam(UInt16, 2, "photo"), Param(Int32, "gain")
    rows, hist, blur = Func("rows"), Func("hist"), Func("blur")
    rows[x, y] = photo[x, y] + photo[x + 1, y]
    hist[x] = cast(UInt16, 0)
    hist[x] += photo[x, r.x]
    blur[x, y] = rows[x, y] + rows[x, y + 1] + hist[x] + cast(UInt16, gain)
    return pipeline(blur, "blur")


def test_a_header_finds_the_funcs_by_name() -> None:
    made = blurred()
    text = halide_schedule_source(made, parse_schedule(SCHEDULE, made), {"rows": "rows$1"})
    assert (
        "inline void schedule_blur(const Halide::Pipeline &pipeline_, Halide::Param<int> gain)"
        in (text.replace("int32_t", "int"))
    )
    assert '    Func rows = find_("rows");\n' in text
    assert "    Var x = rows.args()[0];\n" in text
    assert "    .split(hist.rvars(0)[0], ro, ri, 4)\n" in text.replace("        .", "    .")
    assert "photo" not in text


def test_of_funcs_that_were_named_alike_each_is_found() -> None:
    made = blurred()
    names = {"rows": "f$2", "hist": "f", "blur": "f$10"}
    text = halide_schedule_source(made, parse_schedule(SCHEDULE, made), names)
    found = [line.strip() for line in text.splitlines() if line.startswith("    Func ")]
    assert found == [
        'Func rows = find_("f", 1);', 'Func hist = find_("f");', 'Func blur = find_("f", 2);'
    ]  # fmt: skip


Run = Callable[..., str]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program that has the header and the plug-in; gives what it says on standard error."""
    found = find_spec("halide")
    if found is None or found.origin is None or shutil.which("g++") is None:
        pytest.skip("Halide's Python package and a C++ compiler are needed")
    folder, home, made = tmp_path_factory.mktemp("build"), Path(found.origin).parent, blurred()
    header = halide_schedule_source(made, parse_schedule(SCHEDULE, made))
    (folder / "schedule.h").write_text(header)
    (folder / "made.cpp").write_text(PROGRAM)
    words = ["g++", "-std=c++17", "made.cpp", f"-I{home / 'include'}", f"-I{SOURCE.parent}"]
    words += [f"-L{home / 'lib64'}", "-lHalide", "-o", "made"]
    subprocess.run(words, cwd=folder, check=True)
    data = {"XDG_DATA_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **data, "LD_LIBRARY_PATH": str(home / "lib64")}

    def run(*arguments: str) -> str:
        words = [str(folder / "made"), *arguments]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stderr

    run.folder = folder
    return run


def made_by(build: Run) -> HalideProgram:
    return read_hlpipe(build.folder / "made.hlpipe")


def test_a_build_gives_its_funcs_the_schedule(build: Run) -> None:
    build()
    assert made_by(build).schedule == parse_schedule(SCHEDULE, blurred())


def test_a_plugin_gives_funcs_the_directives_that_it_is_told(build: Run) -> None:
    made = blurred()
    schedule = parse_schedule(TAKEN_BY_A_PLUGIN, made)
    build("none")
    names = {"rows": "rows$1", "hist": "hist", "blur": "blur", "photo": "photo_im"}
    told = "\n".join(schedule_lines(made, schedule, names))
    (build.folder / "answer").write_text(f"schedule\n{told}\nsource\n")
    script = build.folder / "canned"
    script.write_text(f"#!/bin/sh\ncat {build.folder / 'answer'}\n")
    script.chmod(0o755)
    assert build(str(script)) == ""
    found = made_by(build)
    # A factored reduction comes back as a Func of its own.
    lines = [
        "photo.in(rows).compute_at(rows, x).vectorize(_1, 8)",
        "blur.tile(x, y, xo, yo, xi, yi, 64, 8, TailStrategy::GuardWithIf).fuse(xo, yo, t)"
        ".unroll(xi, 2).parallel(t)",
        "hist.compute_at(blur, t).store_root().hoist_storage_root().async().ring_buffer(2)",
        "hist_intm.update(0).vectorize(x, 4).reorder(u, x_v, x)",
        "rows.compute_root().store_in(MemoryType::Heap).memoize().reorder_storage(y, x)"
        ".align_storage(x, 32).align_bounds(x, 4, 2).reorder(y, x).never_partition(x)",
    ]
    assert format_schedule(found.schedule, found.pipeline).splitlines() == lines


def test_a_plugin_asks_the_library(build: Run) -> None:
    """A Func that has a schedule in the generator keeps it, and gets no directive twice."""
    assert "Spaces: a search of " in build(sys.executable, "rows")
    program = made_by(build)
    made = blurred()
    rows = parse_schedule("rows.compute_root().vectorize(x, 8).parallel(y, 4)", made).of("rows")
    assert program.schedule.of("rows") == rows
    verdict = verify(program.pipeline, program.schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    assert "blur" in program.scheduled


def test_a_plugin_without_an_answer_falls_back(build: Run) -> None:
    said = build("/nowhere/python")
    assert "Spaces has no schedule: No answer from /nowhere/python -m" in said
    assert "computed at root instead" in said
    assert made_by(build).schedule.of("hist").compute.is_root
    build("none")


def test_an_answer_says_why_there_is_none(tmp_path: Path) -> None:
    data = DATA.read_bytes()
    with pytest.raises(NoSchedule, match="There is no parameter second; there are python, seconds"):
        answer(data, {"second": "3"})
    with pytest.raises(NoSchedule, match="seconds is '-1'; give a number above 0"):
        answer(data, {"seconds": "-1", "store": str(tmp_path / "none.sqlite")})
    with pytest.raises(NoSchedule, match="Targets with cuda are not scheduled"):
        answer(data, {"target": "x86-64-linux-cuda"})
    with pytest.raises(NoSchedule, match="The generator sets no estimates of in, out"):
        answer(data, {"target": "x86-64-linux"})


def test_a_library_is_built_for_the_halide_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "compiler"
    compiler.write_text(
        '#!/bin/sh\necho "$@" > words; [ -z "$FAILS" ] || { echo why >&2; exit 1; }\n'
    )
    compiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    given = ("plugin", "-o", "made", "--halide", "home", "--compiler", compiler)
    _, err = spaces(*given, status=2)
    assert "home has no include/Halide.h" in err
    (tmp_path / "home" / "include").mkdir(parents=True)
    (tmp_path / "home" / "include" / "Halide.h").write_text("")
    out, _ = spaces(*given)
    assert out.startswith("Wrote made/libspaces.so.\n")
    assert f"-Ihome/include {SOURCE} -o made/libspaces.so" in (tmp_path / "words").read_text()
    monkeypatch.setenv("FAILS", "1")
    _, err = spaces(*given, status=1)
    assert f"{compiler} fails to build spaces_autoscheduler.cpp:\nwhy" in err
