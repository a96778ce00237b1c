"""The memory that programs allocate: enough for each dimension, whatever form its extent has."""

from __future__ import annotations

import ctypes
from unittest import mock

import numpy as np
import pytest

from spaces import (
    Expr,
    Func,
    ImageParam,
    Int32,
    Pipeline,
    Schedule,
    UInt8,
    Var,
    cast,
    device,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.arguments import ArgumentError, Arguments
from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.compile_gpu import compile_gpu, compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.kernel import AllocStep
from spaces.backend.cuda.plan import PlannedStep
from spaces.backend.gpu_arrays import GpuArrays
from spaces.backend.ir.sizes import elements, known_elements
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import evaluate as number
from tests.backend.llvm.guarded_scratch import compile_guarded, run_poisoned

X, Y, XO, YO, XI, YI = (Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi"))
WIDTH, HEIGHT = 640, 400


def mirrored(place: Expr) -> Pipeline:
    """``f`` reads ``g`` at a coordinate that decreases as its own increases."""
    image = ImageParam(Int32, 2, "im")
    g, f = Func("g"), Func("f")
    g[X, Y] = image[X, Y] * 2
    f[X, Y] = g[place, Y]
    return pipeline(f)


# The image covers all reads of all of them.
FIRST = -1300
IMAGE = np.random.default_rng(5).integers(0, 1000, (HEIGHT, 1400), np.int32)
SIZES = {"f": (WIDTH, HEIGHT), "im": [(FIRST, 1400), (0, HEIGHT)]}

PLACES = {"-x": -X, "-3 - x": -3 - X, "1 - x": 1 - X, "-2 * x": -2 * X}

DIRECTIVES = {
    "vectorize": "g.compute_root().vectorize(x, 16)",
    "split": "g.compute_root().split(x, xo, xi, 16, TailStrategy::ShiftInwards)",
    "unroll": "g.compute_root().unroll(x, 16, TailStrategy::ShiftInwards)",
    "tile": "g.compute_root().tile(x, y, xo, yo, xi, yi, 16, 8, TailStrategy::ShiftInwards)",
    "compute_at": "g.compute_at(f, y).vectorize(x, 16)",
}


def span(place: str) -> int:
    """The number of values of ``g`` that are required along x."""
    return 2 * WIDTH - 1 if place == "-2 * x" else WIDTH


def asked(built: Pipeline, chosen: Schedule, inputs=None, sizes=None) -> int:
    """The bytes of a run's first allocation; the test refuses it."""
    requests: list[int] = []

    def refuse(size: int) -> int:
        requests.append(size)
        return 0

    callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(refuse)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    symbols = {**runtime_symbols(), "spaces_malloc": address}
    with mock.patch("spaces.backend.compile.runtime_symbols", return_value=symbols):
        compiled = compile_cpu_unchecked(built, chosen)
    with pytest.raises(MemoryError):
        compiled.run(inputs or {"im": IMAGE}, sizes=sizes or SIZES)
    return requests[0]


@pytest.mark.parametrize("directives", DIRECTIVES)
@pytest.mark.parametrize("place", PLACES)
def test_memory_is_allocated_for_each_dimension(place: str, directives: str) -> None:
    built = mirrored(PLACES[place])
    checked = verify(built, parse_schedule(DIRECTIVES[directives] + ";", built), device("cpu"))
    assert checked.legal, checked.violations
    rows = 1 if directives == "compute_at" else HEIGHT
    needed = span(place) * rows * 4
    assert needed <= asked(built, checked.schedule) < 2 * needed
    expected = evaluate(built, {"im": IMAGE}, sizes=SIZES)["f"]
    found = run_poisoned(compile_guarded(checked), {"im": IMAGE}, sizes=SIZES)["f"]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("place", PLACES)
def test_device_memory_is_allocated_for_each_dimension(place: str) -> None:
    text = """
        g.compute_root().split(x, xo, xi, 16, TailStrategy::ShiftInwards);
        g.gpu_blocks(y, xo).gpu_threads(xi);
        f.split(x, xo, xi, 16, TailStrategy::GuardWithIf).gpu_blocks(y, xo).gpu_threads(xi);
    """
    built = mirrored(PLACES[place])
    checked = verify(built, parse_schedule(text, built), device("sm_80"))
    assert checked.legal, checked.violations
    steps: list[PlannedStep] = []

    class Watched(Emulator):
        def follow(self, module, planned, *rest):
            steps.extend(planned.steps)
            super().follow(module, planned, *rest)

    compiled = compile_gpu(checked)
    found = compiled.run({"im": IMAGE}, sizes=SIZES, executor=Watched())["f"]
    (allocated,) = [s.nbytes for s in steps if isinstance(s, AllocStep)]
    assert allocated == span(place) * HEIGHT * 4
    np.testing.assert_array_equal(found, evaluate(built, {"im": IMAGE}, sizes=SIZES)["f"])


def test_more_elements_than_kernels_index_are_refused() -> None:
    image = ImageParam(Int32, 2, "im")
    g, f = Func("g"), Func("f")
    g[X, Y] = image[X, Y]
    f[X] = g[X, 0] + g[0, X]
    built = pipeline(f)
    text = "f.gpu_tile(x, xi, 8); g.compute_root().gpu_tile(x, y, xi, yi, 8, 8);"
    compiled = compile_gpu_unchecked(built, parse_schedule(text, built))
    side = 2**16
    rows = np.zeros(2 * side, np.int32)
    pixels = np.lib.stride_tricks.as_strided(rows, (side, side), (4, 4))
    with (
        mock.patch.object(GpuArrays, "values", _dense),
        pytest.raises(ArgumentError, match="g has 4294967296 elements to store"),
    ):
        compiled.run({"im": pixels}, sizes={"f": (side,)})


def _dense(_: GpuArrays, arguments: Arguments) -> dict[str, int]:
    """All sizes, also of images too large for kernels."""
    return {**arguments.sizes(), "im.stride.0": 1, "im.stride.1": 1, "f.stride.0": 1}


def test_no_dimension_takes_a_negative_number_of_places() -> None:
    n = Variable(Int32, "n")
    sizes = (n, n)
    for value, expected in ((3, 9), (0, 0), (-3, 0), (2**31 - 1, (2**31 - 1) ** 2)):
        assert elements(sizes, lambda size, value=value: number(size, {"n": value})) == expected
        assert known_elements((constant(value, Int32),) * 2) == expected
    assert known_elements(()) == 1
    assert known_elements(sizes) is None


@pytest.mark.parametrize("side", [2**15, 2**16, 2**17, 2**23])
def test_memory_of_more_than_2_to_the_32_bytes_is_allocated(side: int) -> None:
    image = ImageParam(Int32, 2, "im")
    g, f = Func("g"), Func("f")
    g[X, Y] = image[X, Y]
    f[X] = g[0, 0] + g[side - 1, side - 1]
    built = pipeline(f)
    chosen = parse_schedule("g.compute_root();", built)
    rows = np.zeros(2 * side, np.int32)  # each row begins one element after the row before
    pixels = np.lib.stride_tricks.as_strided(rows, (side, side), (4, 4))
    assert asked(built, chosen, {"im": pixels}, {"f": (4,)}) == side * side * 4


@pytest.mark.parametrize("parallel", [".parallel(t)", ""])
def test_fused_loops_that_no_int32_counts_are_refused(parallel: str) -> None:
    f = Func("f")
    f[X, Y] = cast(UInt8, 7)
    built = pipeline(f)
    compiled = compile_cpu_unchecked(built, parse_schedule(f"f.fuse(x, y, t){parallel};", built))
    with pytest.raises(SizeError, match=r"f\.t has more than 2147483647 iterations"):
        compiled.run({}, sizes={"f": (2**16, 2**15)})
    assert (compiled.run({}, sizes={"f": (2**8, 3)})["f"] == 7).all()


def test_three_loops_are_counted_from_the_first_two() -> None:
    """The last loop is too long, although the loops before it are not."""
    f, z = Func("f"), Var("z")
    f[X, Y, z] = cast(UInt8, 7)
    built = pipeline(f)
    chosen = parse_schedule("f.fuse(x, y, t).fuse(t, z, u).parallel(u);", built)
    compiled = compile_cpu_unchecked(built, chosen)
    side = 2**15
    with pytest.raises(SizeError, match=r"f\.u has more than 2147483647 iterations"):
        compiled.run({}, sizes={"f": (side, side, 4)})


def test_fused_tiles_ask_for_nothing() -> None:
    f = Func("f")
    f[X, Y] = cast(UInt8, 7)
    built = pipeline(f)
    text = "f.tile(x, y, xi, yi, 8, 8, TailStrategy::GuardWithIf).fuse(xi, yi, t);"
    compiled = compile_cpu_unchecked(built, parse_schedule(text, built))
    assert "2147483647" not in compiled.program_text()
