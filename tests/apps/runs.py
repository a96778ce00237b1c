"""The small run of each app, and of some apps with fewer stages."""

from functools import cache, partial

from attrs import evolve

from spaces.apps.catalog import APPS
from spaces.apps.command_line.arguments import shapes
from spaces.apps.photographs import photograph
from spaces.apps.pipelines import (
    bgu,
    depthwise_conv,
    interpolate,
    learned_demosaic,
    lens_blur,
    local_laplacian,
    nl_means,
    pyramid_blend,
    stencil_chain,
    vdsr,
)
from tests.apps.cases import case, crop
from tests.apps.formulas import photograph as noise
from tests.apps.small_runs import SmallRun, apart

FEW = {"slices": 24, "samples": 4, "levels": 3}
"""The sizes of the lens blur."""

PLAIN = (83, 307)
"""Rows and columns for apps without a size of their own; no tile divides them."""

ON_GPU = (43, 137)
"""Rows and columns for kernels whose threads run one by one."""

WHOLE = {"conv_layer": (0,)}
"""Dimensions that schedules need at full size: the 64 channels."""

ULPS = {"unsharp": 8, "toy_trig": 8}
"""For pipelines that call exp, sin and cos; the others round alike everywhere."""


@cache
def run(name):
    """The run called ``name``: a variant in ``SIZED``, else the app of this name."""
    return SIZED.get(name, partial(_plain, name))()


@cache
def gpu_run(name):
    """The run called ``name``, at a size for kernels whose threads run one by one."""
    if name in SIZED:
        return run(name)
    pipeline, inputs, sizes = case(name, *ON_GPU)
    return SmallRun(name, pipeline, inputs, sizes, ulps=ULPS.get(name, 0))


def _plain(name):
    pipeline, inputs, sizes = case(name, *PLAIN)
    cropped = {output: crop(ranges, WHOLE.get(name, ())) for output, ranges in sizes.items()}
    ulps = ULPS.get(name, 0)
    return SmallRun(name, pipeline, _apart(inputs), sizes, (cropped,), ulps, ulps)


def _sized(module, pipeline, pixels, *all_outputs, peer_ulps=0):
    """A run of given ranges of the output."""
    inputs = module.APP.inputs(pipeline, pixels)
    sizes, *others = ({"output": ranges} for ranges in all_outputs)
    name, lines = module.APP.name, _apart(inputs)
    return SmallRun(name, pipeline, lines, sizes, tuple(others), peer_ulps=peer_ulps)


def _cropped(module, pipeline, width, height, ulps=0):
    """A run of a part of the output for the photograph."""
    inputs = module.APP.inputs(pipeline, photograph(width, height))
    sizes = {o: crop(r) for o, r in module.APP.sizes(pipeline, shapes(inputs)).items()}
    return SmallRun(module.APP.name, pipeline, _apart(inputs), sizes, (), ulps, ulps)


def _also_whole(module, pipeline, width, height, ulps=0):
    """A run of a part of the output for the photograph, then of all of it."""
    part = _cropped(module, pipeline, width, height, ulps)
    return evolve(part, others=(module.APP.sizes(pipeline, shapes(part.inputs)),))


def _apart(inputs):
    return {name: apart(array) for name, array in inputs.items()}


LARGE = {
    "interpolate": lambda: _also_whole(interpolate, interpolate.pipeline(levels=6), 107, 75),
    # Two libraries round exponentials in two ways, and the result is truncated to an integer.
    "local_laplacian": lambda: _also_whole(
        local_laplacian, local_laplacian.pipeline(levels=4), 91, 70, ulps=1
    ),
    "whole_laplacian": lambda: _cropped(
        local_laplacian, local_laplacian.pipeline(), 201, 150, ulps=1
    ),
    "stencil_chain": lambda: _cropped(stencil_chain, stencil_chain.pipeline(), 407, 663),
    "short_chain": lambda: _also_whole(stencil_chain, stencil_chain.pipeline(stencils=4), 107, 75),
}
"""Pipelines with very many stages."""

SIZED = {
    **LARGE,
    "vdsr": lambda: _sized(
        vdsr, vdsr.pipeline(layers=4), noise(9, 23), ((3, 19), (-2, 5)), ((-1, 25), (1, 2))
    ),
    "learned_demosaic": lambda: _sized(
        learned_demosaic, learned_demosaic.pipeline(layers=3), noise(14, 40),
        ((3, 33), (-1, 9), (0, 3)), ((0, 41), (6, 10), (0, 3)),
    ),
    "depthwise_conv": lambda: _sized(
        depthwise_conv, depthwise_conv.pipeline(), noise(26, 34),
        ((0, 16), (1, 15), (2, 11), (1, 3)), ((0, 16), (0, 17), (0, 13), (0, 4)),
    ),
    "pyramid_blend": lambda: _sized(
        pyramid_blend, pyramid_blend.pipeline(levels=3), noise(45, 83),
        ((-5, 61), (3, 37), (0, 3)), ((0, 83), (0, 45), (0, 3)),
    ),
    "bgu": lambda: _sized(
        bgu, bgu.pipeline(), photograph(145, 83),
        ((61, 69), (7, 58), (0, 3)), ((0, 41), (71, 9), (0, 3)),
    ),
    "lens_blur": lambda: _sized(
        lens_blur, lens_blur.pipeline(**FEW), photograph(83, 45),
        ((13, 49), (5, 21), (0, 3)), ((-2, 40), (9, 9), (0, 3)),
    ),
    # Halide's fast_exp rounds differently.
    "nl_means": lambda: _sized(
        nl_means, nl_means.pipeline(), noise(19, 37) // 4,
        ((3, 33), (-2, 13), (0, 3)), ((0, 37), (0, 19), (0, 3)), peer_ulps=4,
    ),
}  # fmt: skip
"""Runs at a size of their own."""

SCHEDULES = [
    *((name, stem) for name, app in APPS.items() for stem in app.schedules if stem != "gpu"),
    ("short_chain", "default"),
]
SCHEDULES.remove(("stencil_chain", "default"))
"""Every run under each of its schedules for the CPU; the default chain is a short one."""
