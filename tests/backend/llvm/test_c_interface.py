"""Object file and header in C: the tests compile, link and run a program that calls a pipeline."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import Block
from spaces.backend.llvm.c_header import RUNTIME, RUNTIME_HEADER, pipeline_header
from spaces.backend.llvm.module import ILL_SIZED
from spaces.backend.llvm.runtime.helpers import runtime_object
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Float64, Int8, Int16, Int32, UInt16

X, Y = Var("x"), Var("y")

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

MAIN = """
#include <stdio.h>
#include "scaled.h"

int main(int count, char **values) {
    uint16_t input[7 * 40], out[5 * 32];
    for (int i = 0; i < 7 * 40; i++) input[i] = (uint16_t)(i * i);
    struct run_scaled_arguments arguments = {
        .input = input,
        .input_dimensions = {{0, 40, 1}, {0, 7, 40}},
        .out = out,
        .out_dimensions = {{1, 32, 1}, {1, 5, 32}},
        .gain = 0.75f,
        .offset = -3,
    };
    (void)values;
    spaces_pool *pool = count > 1 ? spaces_pool_create(3) : NULL;
    if (count > 1 && !pool) return 1;
    for (int run = 0; run < 20; run++)
        if (run_scaled(pool, &arguments)) return 2;
    for (int i = 0; i < 5 * 32; i++) printf("%d\\n", out[i]);
    arguments.out_dimensions[0].extent = 39;  /* reads column 40 of 0 to 39 */
    printf("%d\\n", run_scaled(pool, &arguments));
    const spaces_dimension ill[6] = {
        {1, 0, 1}, {1, -5, 1}, {1, 32, 2}, {INT64_C(1) << 40, 32, 1}, {INT32_MAX, 2, 1},
        {1, INT64_C(1) << 40, 1}
    };
    for (int i = 0; i < 6; i++) {
        arguments.out_dimensions[0] = ill[i];
        printf("%d\\n", run_scaled(pool, &arguments));
    }
    spaces_pool_destroy(pool);
    spaces_scratch_release();
    return 0;
}
"""


def scaled() -> Pipeline:
    image, near, out = ImageParam(UInt16, 2, "input"), Func("near"), Func("out")
    gain, offset = Param(Float32, "gain"), Param(Int32, "offset")
    near[X, Y] = image[X - 1, Y] + image[X + 1, Y]
    value = cast(Float32, near[X, Y - 1] + near[X, Y + 1]) * gain
    out[X, Y] = cast(UInt16, cast(Int32, value) + offset)
    return pipeline(out, name="scaled")


def expected() -> list[int]:
    square = np.arange(280, dtype=np.int64) ** 2
    image = square.astype(np.uint16).reshape(7, 40)
    near = image[:, :-2] + image[:, 2:]
    both = (near[:-2] + near[2:])[:, :32]
    gained = (both.astype(np.float32) * np.float32(0.75)).astype(np.int64) - 3
    return gained.astype(np.uint16).ravel().tolist()


def write(folder: Path) -> None:
    algorithm = scaled()
    directives = schedule(algorithm).vectorize("x", 8).parallel("y")
    directives = directives.func("near").compute_root().parallel("y")
    compiled = compile_cpu_unchecked(algorithm, directives.schedule)
    (folder / "scaled.o").write_bytes(compiled.object_bytes())
    (folder / "scaled.h").write_text(compiled.c_header())
    (folder / f"{RUNTIME}.o").write_bytes(runtime_object())
    (folder / f"{RUNTIME}.h").write_text(RUNTIME_HEADER)
    (folder / "main.c").write_text(MAIN)


@needs_compiler
def test_a_c_program_calls_a_pipeline(tmp_path: Path) -> None:
    write(tmp_path)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
    files = ["main.c", "scaled.o", f"{RUNTIME}.o", "-o", "main", "-lpthread", "-lm"]
    subprocess.run(["cc", *flags, *files], cwd=tmp_path, check=True)
    for arguments in ([], ["threads"]):
        found = subprocess.run(
            [tmp_path / "main", *arguments], capture_output=True, check=True, text=True, timeout=60
        )
        printed = list(map(int, found.stdout.split()))
        assert printed[:-7] == expected()
        status, *ill_sized = printed[-7:]
        assert ill_sized == [ILL_SIZED] * 6
        header = (tmp_path / "scaled.h").read_text()
        (line,) = (part for part in header.splitlines() if part.startswith(f" *   {status}: "))
        assert "out.extent.0" in line


@needs_compiler
def test_the_header_serves_cpp_too(tmp_path: Path) -> None:
    write(tmp_path)
    source = '#include "scaled.h"\nint main() { return sizeof(run_scaled_arguments) != 128; }\n'
    (tmp_path / "main.cpp").write_text(source)
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    subprocess.run(["c++", "-Wall", "main.cpp", "-o", "main"], cwd=tmp_path, check=True)
    # Two buffers of 1 + 2 * 3 words, and two scalars of one word each.
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_members_are_words() -> None:
    buffers = (BufferParameter("f$1", Int8, 1, False), BufferParameter("out", Float64, 0, True))
    scalars = (ScalarParameter("n", Int32), ScalarParameter("g.x", Float32))
    text = pipeline_header(LoopProgram("some.name", buffers, scalars, (), Block(())))
    body = text.partition("struct run_some_name_arguments {\n")[2].partition("\n};")[0]
    assert [line.strip() for line in body.splitlines()] == [
        "const int8_t *f_1;",
        "spaces_dimension f_1_dimensions[1];",
        "double *out;",
        "int64_t n; /* an int32_t */",
        "SPACES_WORD float g_x;",
    ]


TOLD = """
#include <stdio.h>
#include "limited.h"

int main(void) {
    int16_t input[8] = {1, 2, 3, 4, 5, -77, 7, 8}, out[8];
    int64_t report[4] = {0};
    struct run_limited_arguments arguments = {
        .input = input, .input_dimensions = {{0, 8, 1}},
        .out = out, .out_dimensions = {{0, 8, 1}},
        .gain = 0.5f, .report = NULL,
    };
    int32_t status = run_limited(NULL, &arguments);
    arguments.report = report;
    if (run_limited(NULL, &arguments) != status || report[0] != status) return 1;
    double gain;
    memcpy(&gain, &report[3], sizeof gain);
    printf("%d %d %d %g\\n", (int)status, (int)report[1], (int)report[2], gain);
    return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_c_program_gets_the_values_of_a_message(tmp_path: Path, lanes: int) -> None:
    image, out, gain = ImageParam(Int16, 1, "input"), Func("out"), Param(Float32, "gain")
    out[X] = require(image[X] > 0, image[X], "Pixel", X, "is", image[X], "at a gain of", gain)
    algorithm = pipeline(out, name="limited")
    directives = schedule(algorithm)
    compiled = compile_cpu_unchecked(
        algorithm, (directives.vectorize("x", lanes) if lanes > 1 else directives).schedule
    )
    (tmp_path / "limited.o").write_bytes(compiled.object_bytes())
    (tmp_path / "limited.h").write_text(compiled.c_header())
    (tmp_path / f"{RUNTIME}.o").write_bytes(runtime_object())
    (tmp_path / f"{RUNTIME}.h").write_text(RUNTIME_HEADER)
    (tmp_path / "main.c").write_text(TOLD)
    files = ["main.c", "limited.o", f"{RUNTIME}.o", "-o", "main", "-lpthread", "-lm"]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", *files], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "main"], capture_output=True, check=True, text=True)
    status, *values = found.stdout.split()
    assert values == ["5", "-77", "0.5"]
    header = (tmp_path / "limited.h").read_text()
    assert f" *   {status}: Pixel {{1}} is {{2}} at a gain of {{3}}" in header
