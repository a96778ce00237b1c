"""Outputs without elements beside others: compiled code computes the others, as the reference
does.
"""

from __future__ import annotations

import pickle
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import (
    Func,
    ImageParam,
    Int32,
    Param,
    Pipeline,
    RDom,
    RequirementError,
    Tuple,
    Var,
    device,
    parse_schedule,
    pipeline,
    require,
    verify,
)
from spaces.backend.access import AccessMode
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.llvm.c_header import RUNTIME, RUNTIME_HEADER
from spaces.backend.llvm.runtime.helpers import runtime_object
from spaces.backend.lowering.empty_outputs import outputs_alone
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
IMAGE = np.arange(20 * 30, dtype=np.int32).reshape(20, 30) % 97


def shared_producer() -> Pipeline:
    im, s, f, g = ImageParam(Int32, 2, "im"), Func("s"), Func("f"), Func("g")
    s[X, Y] = im[X, Y] * 3
    f[X, Y] = s[X, Y] + s[X + 1, Y]
    g[X] = s[X, 2] - s[X, 0]
    return pipeline([f, g])


def one_reads_the_other() -> Pipeline:
    im, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = im[X, Y] + 1
    f[X, Y] += im[X, 0]
    g[X] = f[X, 1] * 2
    return pipeline([f, g])


def tuples_and_sums() -> Pipeline:
    im, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    r = RDom([(0, 5)], "r")
    f[X, Y] = Tuple(im[X, Y], X - Y)
    g[X] = 0
    g[X] += im[r, X] + f[r, X][1]
    return pipeline([f, g])


GRID = "gpu_tile(x, y, xi, yi, 4, 4, GuardWithIf);"
CASES = {
    "inlined": (shared_producer, "cpu", ""),
    "tiled": (
        shared_producer,
        "cpu",
        "f.vectorize(x, 4, GuardWithIf).parallel(y); g.vectorize(x, 8, ShiftInwards);"
        "s.compute_root().vectorize(x, 8);",
    ),
    "specialized": (
        shared_producer,
        "cpu",
        "f.specialize(f.extent.0 >= 4).vectorize(x, 4); s.compute_root();",
    ),
    "both on a grid": (
        shared_producer,
        "sm_80",
        f"s.compute_root().{GRID} f.{GRID} g.gpu_tile(x, xi, 8, GuardWithIf);",
    ),
    "chain": (one_reads_the_other, "cpu", "f.vectorize(x, 4, GuardWithIf);"),
    "chain on a grid": (one_reads_the_other, "sm_80", f"f.{GRID}"),
    "tuple": (tuples_and_sums, "cpu", "f.parallel(y);"),
    "tuple on a grid": (tuples_and_sums, "sm_80", f"f.{GRID}"),
}


@cache
def compiled(name: str, mode: AccessMode) -> CompiledPipeline | GpuPipeline:
    make, target, text = CASES[name]
    algorithm = make()
    checked = verify(algorithm, parse_schedule(text, algorithm), device(target))
    return (compile_cpu if target == "cpu" else compile_gpu)(checked, access_mode=mode)


def sizes(name: str) -> st.SearchStrategy[dict[str, list[object]]]:
    extents = st.sampled_from([0, 0, 1, 5, 8])
    # Nothing is read at the place of an output without elements.
    far = st.just((1000, 0))
    either = extents | far if "chain" not in name else extents
    return st.fixed_dictionaries({"f": st.tuples(either, extents), "g": st.tuples(either)})


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=examples(25))
@given(st.data(), st.sampled_from(AccessMode))
def test_the_others_are_computed(name: str, data: st.DataObject, mode: AccessMode) -> None:
    asked = data.draw(sizes(name))
    program = compiled(name, mode)
    expected = evaluate(program.pipeline, {"im": IMAGE}, None, asked)
    try:
        found = program.run({"im": IMAGE}, None, asked)
    except SizeError:
        elements = [array.size for array in expected.values()]
        assert all(elements), "a schedule asks nothing of an output without elements"
        return
    assert found.keys() == expected.keys()
    for output, values in expected.items():
        np.testing.assert_array_equal(found[output], values, err_msg=f"{output} at {asked}")


@pytest.mark.parametrize(
    ("text", "computed"), [("", {"f", "g"}), ("s.compute_root()", {"f", "g", "s"})]
)
def test_what_the_schedule_inlines_stays_inlined(text: str, computed: set[str]) -> None:
    """Also where one output reads another one, which has no storage of the caller there."""
    im, s, f, g = ImageParam(Int32, 2, "im"), Func("s"), Func("f"), Func("g")
    s[X, Y] = im[X, Y] * 3
    f[X, Y] = s[X, Y] + s[X + 1, Y]
    g[X] = f[X, 1] + s[X, 0]
    algorithm = pipeline([f, g])
    alone = outputs_alone(algorithm, parse_schedule(text, algorithm))
    (of_g,) = (one.nest for one in alone if one.nest.pipeline.outputs == ("g",))
    assert {name.removesuffix(".inside") for name in of_g.placements} == computed


@pytest.mark.parametrize(
    ("target", "make"),
    [
        ("cpu", "spaces.backend.lowering.cpu.passes"),
        ("sm_80", "spaces.backend.lowering.gpu.passes"),
    ],
)
def test_only_such_calls_compile_the_code_for_them(target: str, make: str) -> None:
    algorithm = shared_producer()
    checked = verify(algorithm, parse_schedule("", algorithm), device(target))
    with mock.patch(f"{make}.outputs_alone", wraps=outputs_alone) as lowered:
        program = compile_cpu(checked) if target == "cpu" else compile_gpu(checked)
        program.run({"im": IMAGE}, None, {"f": [4, 4], "g": [8]})
        program.run({"im": IMAGE}, None, {"f": [0, 4], "g": [0]})
        assert not lowered.called
        asked = {"f": [0, 4], "g": [8]}
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: program.run({"im": IMAGE}, None, asked), range(4)))
        lowered.assert_called_once()
    for one in found:
        np.testing.assert_array_equal(one["g"], (IMAGE[2] * 3 - IMAGE[0] * 3)[:8])
    arrived = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(arrived.run({"im": IMAGE}, None, asked)["g"], found[0]["g"])


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_what_is_read_beyond_an_image_is_refused(target: str) -> None:
    program = compiled("inlined" if target == "cpu" else "both on a grid", AccessMode.PLAIN)
    with pytest.raises(SizeError, match="reads elements of dimension 0 of image im beyond"):
        program.run({"im": IMAGE}, None, {"f": [0, 3], "g": [31]})
    assert program.run({"im": IMAGE}, None, {"f": [0, 3], "g": [30]})["g"].size == 30


def test_conditions_of_the_algorithm_hold_for_what_is_computed() -> None:
    low, f, g = Param(Int32, "low"), Func("f"), Func("g")
    f[X] = require(X >= low, X, "too low")
    g[X] = X * 2
    algorithm = pipeline([f, g], requirements=[(low < 9, "low is too large.")])
    program = compile_cpu(verify(algorithm, parse_schedule("", algorithm), device("cpu")))
    assert (program.run({}, {"low": 5}, {"f": [0], "g": [3]})["g"] == [0, 2, 4]).all()
    with pytest.raises(RequirementError, match="too low"):
        program.run({}, {"low": 5}, {"f": [4], "g": [0]})
    with pytest.raises(ValueError, match="low is too large"):
        program.run({}, {"low": 9}, {"f": [0], "g": [3]})


def test_arrays_given_for_outputs() -> None:
    program = compiled("tiled", AccessMode.PLAIN)
    g = np.full(12, -1, np.int32)
    f = np.empty((0, 4), np.int32)
    found = program.run({"im": IMAGE}, out={"f": f, "g": g[::2]})
    assert found["f"] is f
    np.testing.assert_array_equal(g[::2], (IMAGE[2] * 3 - IMAGE[0] * 3)[:6])
    assert (g[1::2] == -1).all()


MAIN = """
#include <stdio.h>
#include "f.h"

int main(void) {
    int32_t image[8 * 8], f[4 * 4], g[4] = {-1, -1, -1, -1};
    for (int i = 0; i < 64; i++) image[i] = i;
    struct run_f_arguments arguments = {
        .im = image, .im_dimensions = {{0, 8, 1}, {0, 8, 8}},
        .f = f, .f_dimensions = {{900, 0, 1}, {0, 4, 4}},
        .g = g, .g_dimensions = {{0, 4, 1}},
    };
    printf("%d\\n", run_f(NULL, &arguments));
    printf("%d %d %d %d\\n", g[0], g[1], g[2], g[3]);
    arguments.g_dimensions[0].extent = 9;
    printf("%d\\n", run_f(NULL, &arguments) > 0);
    arguments.g_dimensions[0].extent = 0;
    printf("%d\\n", run_f(NULL, &arguments));
    arguments.g_dimensions[0].extent = -1;
    printf("%d\\n", run_f(NULL, &arguments));
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_programs(tmp_path: Path) -> None:
    program = compiled("tiled", AccessMode.PLAIN)
    assert isinstance(program, CompiledPipeline)
    (tmp_path / "f.o").write_bytes(program.object_bytes())
    (tmp_path / "f.h").write_text(program.c_header())
    (tmp_path / f"{RUNTIME}.o").write_bytes(runtime_object())
    (tmp_path / f"{RUNTIME}.h").write_text(RUNTIME_HEADER)
    (tmp_path / "main.c").write_text(MAIN)
    files = ["main.c", "f.o", f"{RUNTIME}.o", "-o", "main", "-lpthread", "-lm"]
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", *files], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    # g[x] = 3 im[x, 2] - 3 im[x, 0], in an image whose rows are 8 long
    assert done.stdout.splitlines() == ["0", "48 48 48 48", "1", "0", "-3"]
