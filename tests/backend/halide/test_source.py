"""The printed C++: as text, and compiled against Halide's own header and library."""

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.source import halide_source
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import (
    Bool,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt64,
)
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")

BLUR = """\
#include "Halide.h"

#include <limits>

Halide::Pipeline blur(Halide::ImageParam image, Halide::Param<uint16_t> divisor) {
    using namespace Halide;

    Var x("x"), y("y"), xi("xi"), yi("yi");
    Func blur_x("blur_x"), blur_y("blur_y");

    blur_x(x, y) = (image(x - 1, y) + image(x, y) + image(x + 1, y)) / divisor;
    blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;

    blur_y
        .tile(x, y, xi, yi, 256, 32, TailStrategy::GuardWithIf)
        .vectorize(xi, 8)
        .parallel(y);
    blur_x
        .compute_at(blur_y, x)
        .vectorize(x, 8);

    return Pipeline({blur_y});
}
"""


def test_blur_reads_as_a_person_writes_it() -> None:
    image, divisor = ImageParam(UInt16, 2, "image"), Param(UInt16, "divisor")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X - 1, Y] + image[X, Y] + image[X + 1, Y]) / divisor
    blur_y[X, Y] = (blur_x[X, Y - 1] + blur_x[X, Y] + blur_x[X, Y + 1]) / 3
    built = pipeline(blur_y, name="blur")
    text = (
        "blur_y.tile(x, y, xi, yi, 256, 32, TailStrategy::GuardWithIf).vectorize(xi, 8)"
        ".parallel(y)\nblur_x.compute_at(blur_y, x).vectorize(x, 8)"
    )
    assert halide_source(built, parse_schedule(text, built)) == BLUR


def test_a_mentioned_vector_loop_is_split_by_name() -> None:
    f, g = Func("f"), Func("g")
    f[X] = X
    g[X] = f[X]
    built = pipeline(g)
    s = parse_schedule("g.vectorize(x, 8)\nf.compute_at(g, x_v)", built)
    assert ".split(x, x, x_v, 8)\n        .vectorize(x_v);" in halide_source(built, s)


def test_parentheses_stand_where_they_matter() -> None:
    f = Func("f")
    f[X, Y] = X - (Y - 3) + (X + 2) * (Y / (X * 2)) - (X - Y) % 5
    assert "= x - (y - 3) + (x + 2) * (y / (x * 2)) - (x - y) % 5;" in halide_source(pipeline(f))


def test_names_stay_apart() -> None:
    # A Func, a Var and a directive of the language C++ under one name each.
    loop, x = Func("for"), Func("x")
    x[X] = X
    loop[X] = x[X]
    source = halide_source(pipeline(loop, name="switch"))
    assert "Halide::Pipeline switch_(" in source
    assert "x(x_) = x_;" in source
    assert "for_(x_) = x(x_);" in source


def test_schedules_without_a_counterpart_in_halide_are_refused() -> None:
    f = Func("f")
    f[X] = X
    built = pipeline(f)
    with pytest.raises(DirectiveError, match="'width' of split on Func f is a parameter"):
        halide_source(built, schedule(built).split("x", "xo", "xi", "width").schedule)


def everything() -> Pipeline:
    """Every kind of node, literals at the ends of their types, an RDom that is split."""
    image, table = ImageParam(UInt8, 2, "image"), ImageParam(Int64, 1, "table")
    flag, gain = Param(Bool, "flag", True), Param(Float32, "gain", 1.5)
    r = RDom([(0, image.width()), (0, image.height())], "r")
    edges, counts, sums, f, g = (Func(n) for n in ("edges", "counts", "sums", "f", "g"))
    edges[X, Y] = image[fn.clamp(X, 0, image.width() - 1), fn.clamp(Y, 0, image.height() - 1)]
    counts[X] = constant((1 << 64) - 3, UInt64)
    counts[image[r.x, r.y] / 16] += 1
    sums[()] = constant(-(1 << 63), Int64)
    sums[()] += fn.cast(Int64, fn.abs(fn.cast(Int8, image[r.x, r.y])))
    shared = fn.sqrt(fn.cast(Float32, edges[X + 1, Y - 1])) * gain + 0.1
    near = ~(shared < 7.25) & (fn.cast(Int32, edges[X, Y]) % -7 > 2) | flag
    f[X, Y] = fn.select(near, fn.cast(Int32, fn.floor(shared)), 100 - X / 2 * (Y - 3))
    f[X, Y] = f[X, Y] - fn.min(f[X, Y], -5) * 3
    table_at = table[fn.clamp(X, 0, 7)]
    g[X] = fn.cast(Float64, table_at % 1000) / 3.0 + fn.cast(Float64, counts[X] + 5)
    g[X] += fn.cast(Float64, sums[()] + (1 << 62)) + fn.max(fn.cast(Float64, X), float("-inf"))
    return pipeline([f, g], name="everything")


SCHEDULE = """
f.tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf).vectorize(xi, 4).parallel(y)
f.update(0).vectorize(x, 4)
edges.store_in(MemoryType::Heap).compute_at(f, x)
counts.compute_root()
counts.update(0).split(r.x, rxo, rxi, 4, TailStrategy::GuardWithIf)
sums.update(0).fuse(r.x, r.y, all)
g.vectorize(x, 2)
"""

MAIN = """
#include <cstdio>

int main() {
    Halide::Buffer<uint8_t> image(13, 9);
    image.for_each_element([&](int x, int y) { image(x, y) = x * 37 + y * 91; });
    Halide::Buffer<int64_t> table(8);
    table.for_each_element([&](int x) { table(x) = x * 1000003LL - 3000000; });
    Halide::ImageParam image_param(Halide::UInt(8), 2), table_param(Halide::Int(64), 1);
    image_param.set(image);
    table_param.set(table);
    Halide::Param<bool> flag(false);
    Halide::Param<float> gain(1.5f);
    Halide::Buffer<int32_t> f(16, 8);
    Halide::Buffer<double> g(16);
    everything(PARAMETERS).realize({f, g});
    f.for_each_element([&](int x, int y) { printf("%d ", f(x, y)); });
    g.for_each_element([&](int x) { printf("%a ", g(x)); });
}
"""


@pytest.mark.skipif(
    shutil.which("g++") is None, reason="there is no g++ to compile the source with"
)
def test_the_source_compiles_and_computes_the_same(tmp_path: Path) -> None:
    spec = find_spec("halide")
    if spec is None or spec.origin is None:
        pytest.skip("Halide's Python package, which brings its C++ header, is not installed")
    halide = Path(spec.origin).parent
    if not (halide / "include" / "Halide.h").exists():
        pytest.skip("Halide is installed without its C++ header")
    built = everything()
    source = halide_source(built, parse_schedule(SCHEDULE, built))
    order = {"image": "image_param", "table": "table_param", "flag": "flag", "gain": "gain"}
    signature = source.split("everything(")[1].split(")")[0]
    names = [parameter.split()[-1] for parameter in signature.split(", ")]
    program = tmp_path / "everything.cpp"
    program.write_text(source + MAIN.replace("PARAMETERS", ", ".join(order[n] for n in names)))
    libraries = halide / "lib64"
    command = ["g++", "-std=c++17", "-O0", program, "-o", tmp_path / "run"]
    command += ["-I", halide / "include", "-L", libraries, "-lHalide", f"-Wl,-rpath,{libraries}"]
    subprocess.run(command, check=True, timeout=300)
    run = subprocess.run([tmp_path / "run"], check=True, capture_output=True, text=True, timeout=60)
    printed = run.stdout.split()
    y, x = np.mgrid[0:9, 0:13]
    inputs = {
        "image": (x * 37 + y * 91).astype(np.uint8),
        "table": np.arange(8, dtype=np.int64) * 1000003 - 3000000,
    }
    ours = evaluate(built, inputs, {"flag": False}, {"f": (16, 8), "g": (16,)})
    assert [int(v) for v in printed[: 16 * 8]] == ours["f"].reshape(-1).tolist()
    assert [float.fromhex(v) for v in printed[16 * 8 :]] == ours["g"].tolist()
