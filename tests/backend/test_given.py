"""Wrong arguments of compilers, provers and spaces give errors in whole sentences."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spaces
from spaces import compile_cpu, compile_cpu_unchecked, compile_gpu, compile_gpu_unchecked
from spaces.constraints.examples import algorithms
from tests.small_space import small_space

BLUR = algorithms.blur()
PLAIN = spaces.Schedule.default(BLUR)
CPU, GPU = spaces.device("cpu"), spaces.device("sm_90")
F = spaces.Func("f")
TILED = spaces.parse_schedule("by.gpu_tile(x, y, xi, yi, 32, 8)", BLUR)


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (
            lambda: compile_cpu(PLAIN),
            TypeError,
            r"verify it first: .*device\(\"cpu\"\)\)",
        ),
        (lambda: compile_gpu(TILED), TypeError, r"verify it first: .*device\(\"sm_80\"\)\)"),
        (lambda: compile_cpu(BLUR), TypeError, "what spaces.verify returns, not a Pipeline"),
        (lambda: compile_cpu_unchecked(BLUR, "by.parallel(y)"), TypeError, "a Schedule, not a str"),
        (lambda: compile_cpu_unchecked(PLAIN, PLAIN), TypeError, "a Pipeline, not a Schedule"),
        (lambda: compile_gpu_unchecked(BLUR, None), TypeError, "a Schedule, not a NoneType"),
        (
            lambda: compile_gpu(spaces.verify(BLUR, PLAIN, CPU)),
            ValueError,
            "was verified for cpu; verify it for a GPU",
        ),
        (
            lambda: compile_cpu(spaces.verify(BLUR, TILED, GPU)),
            ValueError,
            "was verified for sm_90; verify it for a CPU",
        ),
        (
            lambda: compile_gpu_unchecked(BLUR, TILED, arch="sm_8"),
            ValueError,
            "No device is called 'sm_8'",
        ),
        (
            lambda: compile_gpu_unchecked(BLUR, TILED, arch="cpu"),
            ValueError,
            "compiles for GPUs, and cpu is a CPU",
        ),
        (lambda: spaces.device(80), ValueError, "such as 'sm_80' or 'cpu', not 80"),
        (
            lambda: spaces.ScheduleSpace(BLUR, "cpu", spaces.Options.small("cpu")),
            TypeError,
            "a Device, not a str",
        ),
        (
            lambda: small_space(CPU, BLUR),
            TypeError,
            "a Pipeline, not a CpuDevice",
        ),
        (lambda: spaces.prove(PLAIN), TypeError, "what verify returns, or a loop nest"),
        (lambda: spaces.parse_schedule(BLUR, "by.parallel(y)"), TypeError, "text .* comes first"),
        (lambda: spaces.parse_schedule("", F), TypeError, "a Pipeline, not a Func"),
        (lambda: spaces.parse_partial("", None), TypeError, "a Pipeline, not a NoneType"),
        (lambda: spaces.schedule(F), TypeError, "a Pipeline, not a Func"),
        (lambda: spaces.schedule(BLUR, "by.parallel(y)"), TypeError, "a Schedule, not a str"),
        (lambda: spaces.loop_nest(F, PLAIN), TypeError, "a Pipeline, not a Func"),
        (lambda: spaces.schedule_tree(BLUR, ""), TypeError, "a Schedule, not a str"),
        (lambda: spaces.format_schedule(BLUR, PLAIN), TypeError, "a Schedule, not a Pipeline"),
        (lambda: spaces.complete(BLUR, "", CPU), TypeError, "complete takes a Schedule, not a str"),
        (lambda: spaces.repair(BLUR, "", CPU), TypeError, "repair takes a Schedule, not a str"),
        (lambda: spaces.legal_mask(BLUR, TILED, "cpu", {}), TypeError, "a Device, not a str"),
        (lambda: spaces.pipeline(F, estimates=[8]), spaces.DefinitionError, "not a list"),
        (lambda: spaces.RDom([(0, 3)], "r").y, AttributeError, r"r has no 'y'; it has r\.x"),
    ],
)
def test_other_things_are_refused(
    mistake: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mistake()


def test_kernels_are_for_the_device_that_was_verified() -> None:
    assert compile_gpu(spaces.verify(BLUR, TILED, GPU)).arch == "sm_90"
    assert compile_gpu_unchecked(BLUR, TILED).arch == "sm_80"


def test_a_repr_fits_a_line() -> None:
    """With names and sizes, and no address."""
    image, gain = spaces.ImageParam(spaces.UInt8, 2, "input"), spaces.Param(spaces.Float32, "gain")
    x, y, f, r = spaces.Var("x"), spaces.Var("y"), spaces.Func("f"), spaces.RDom([(0, 3)], "r")
    f[x, y] = image[x, y] * gain
    assert repr(spaces.pipeline(f)) == "<Pipeline f: 1 Func, from input to f>"
    assert repr(BLUR) == "<Pipeline by: 2 Funcs, from input to by>"
    assert [repr(thing) for thing in (image, gain, f, r)] == [
        "<ImageParam input: uint8, 2 dimensions>",
        "<Param gain: float32>",
        "<Func f>",
        "<RDom r>",
    ]
