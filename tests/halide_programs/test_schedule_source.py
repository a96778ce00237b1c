"""A schedule as C++ goes onto a pipeline that a build has."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from spaces import Func, ImageParam, Param, Pipeline, Var, parse_schedule, pipeline, read_hlpipe
from spaces.backend.halide.schedule_source import halide_schedule_source
from spaces.model.algorithm.rdom import RDom
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt16

SCHEDULE = """
blur.specialize(gain == 2).vectorize(x, 16)
blur.split(y, y, yi, 8).parallel(y)
rows.compute_at(blur, yi).store_at(blur, y)
hist.compute_root()
hist.update(0).split(r.x, ro, ri, 4).unroll(ri)
"""

PROGRAM = """
#include "schedule.h"

int main() {
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
    schedule_blur(pipeline, gain);
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


def test_a_build_gives_its_funcs_the_schedule(tmp_path: Path) -> None:
    found = find_spec("halide")
    if found is None or found.origin is None or shutil.which("g++") is None:
        pytest.skip("Halide's Python package and a C++ compiler are needed")
    made = blurred()
    schedule = parse_schedule(SCHEDULE, made)
    (tmp_path / "schedule.h").write_text(halide_schedule_source(made, schedule))
    (tmp_path / "made.cpp").write_text(PROGRAM)
    folder = Path(found.origin).parent
    build = ["g++", "-std=c++17", "made.cpp", f"-I{folder / 'include'}", f"-L{folder / 'lib64'}"]
    subprocess.run([*build, "-lHalide", "-o", "made"], cwd=tmp_path, check=True)
    library = {"LD_LIBRARY_PATH": str(folder / "lib64")}
    subprocess.run([tmp_path / "made"], cwd=tmp_path, check=True, env=library)
    assert read_hlpipe(tmp_path / "made.hlpipe").schedule == schedule
