"""Every app computes its formula in a small run, under each of its schedules: compiled for the
CPU, for a GPU, and by Halide.
"""

import numpy as np
import pytest

from spaces import APPS, CudaUnavailable, compile_cpu, compile_gpu_unchecked
from spaces.apps.command_line.arguments import shapes
from tests.apps import (
    formulas,
    formulas_blending,
    formulas_lens_blur,
    formulas_networks,
    formulas_nl_means,
)
from tests.apps.cases import written
from tests.apps.runs import FEW, LARGE, SCHEDULES, SIZED, gpu_run, run
from tests.differential.quick_code import quick_code
from tests.draw_counts import some

FORMULAS = {
    "pyramid_blend": formulas_blending.pyramid_blend,
    "bgu": formulas_blending.bgu,
    "vdsr": formulas_networks.vdsr,
    "learned_demosaic": formulas_networks.learned_demosaic,
    "depthwise_conv": formulas_networks.depthwise_conv,
    "nl_means": formulas_nl_means.nl_means,
    "lens_blur": lambda inputs, ranges: formulas_lens_blur.lens_blur(inputs, ranges, **FEW),
}
"""`test_pipelines` tests the formulas of the other apps."""

TOLERANCE = {"bgu": 1e-3}
"""Relative to the largest value: solving equations of few pixels amplifies how float32 rounds."""

AGREE = {"lens_blur": 0.98}
"""The share of values that may differ more: of two nearly equal depths, float32 may take the
other one."""

OTHERS = {"camera_pipe", "local_laplacian"}
"""Apps whose formulas `test_pipelines` tests by name."""

PLAIN = [name for name in APPS if name not in SIZED]

# A default schedule is compiled unoptimised below; these go through the optimiser and Halide, too:
# a stencil, a scatter, a histogram, a reduction, a network, and pipelines of very many stages.
DEFAULTS = {"blur", "bilateral_grid", "hist", "sgemm", "vdsr", *LARGE}
OPTIMISED = [(name, stem) for name, stem in SCHEDULES if stem != "default" or name in DEFAULTS]


def test_every_app_has_a_formula():
    lacking = set(APPS) - {*formulas.FORMULAS, *FORMULAS, *OTHERS}
    assert not lacking, f"write formulas for {sorted(lacking)} in tests/apps/formulas.py"


@pytest.mark.parametrize("name", FORMULAS)
def test_the_pipeline_computes_its_formula(name):
    small = run(name)
    actual = small.reference["output"]
    expected = FORMULAS[name](small.inputs, small.sizes["output"])
    assert np.unique(actual).size > actual.size / 20
    apart = np.abs(actual - expected) / np.abs(expected).max()
    assert (apart < TOLERANCE.get(name, 2e-6)).mean() >= AGREE.get(name, 1)


@pytest.mark.parametrize(("name", "stem"), some([*OPTIMISED, ("whole_laplacian", "cpu")]))
def test_compiled_for_the_cpu(name, stem):
    run(name).assert_same_on_cpu(stem)


@pytest.mark.parametrize("name", ["unsharp", "harris", "sgemm", "iir_blur", "nl_means"])
def test_compiled_as_it_is_measured(name):
    run(name).assert_close_with_fast_floats("cpu")


@pytest.mark.parametrize(("name", "stem"), some(s for s in SCHEDULES if s[0] not in LARGE))
def test_no_scratch_memory_is_touched_beyond_what_was_written(name, stem):
    run(name).assert_same_under_guard(stem)


@pytest.mark.parametrize("name", [*(n for n in APPS if n != "stencil_chain"), "short_chain"])
def test_compiled_for_a_gpu_and_executed_on_the_cpu(name):
    gpu_run(name).assert_same_on_gpu()


@pytest.mark.parametrize(("name", "stem"), some(OPTIMISED))
def test_halide_under_the_same_schedule(name, stem):
    run(name).assert_same_in_halide(stem)


# The apps whose algorithm does not depend on the first coordinate of a picture.
MOVED = ("blur", "unsharp", "harris", "bilateral_grid", "conv_layer")


@pytest.mark.parametrize("name", MOVED)
def test_pictures_may_begin_anywhere(name):
    small = run(name)
    along = (1, 2) if name == "conv_layer" else (0, 1)
    moves = dict(zip(along, (-16, 40), strict=True))

    def moved(ranges):
        return tuple((low + moves.get(d, 0), extent) for d, (low, extent) in enumerate(ranges))

    with quick_code():
        compiled = compile_cpu(small.checked("cpu"), threads=2)
    read = {"input": shapes(small.inputs)["input"]}

    def displaced(inputs, sizes):
        return compiled.run(inputs, sizes={k: moved(r) for k, r in (sizes | read).items()})

    small.assert_same(displaced)


@pytest.mark.parametrize("name", PLAIN)
def test_a_gpu_kernel_takes_what_the_rules_assume(name):
    compiled = compile_gpu_unchecked(*written(name, "gpu"))
    try:
        resources = compiled.resources()
    except CudaUnavailable as error:
        pytest.skip(str(error))
    for kernel in compiled.kernels:
        taken = resources[kernel.name]
        assert taken.shared_bytes == kernel.static_shared_bytes
        assert taken.spill_store_bytes == taken.spill_load_bytes == 0
        assert taken.registers * np.prod(kernel.block) <= 65536
