"""The pipelines and structures on which contracts are tested."""

from __future__ import annotations

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt16
from spaces.model.schedules.schedule import Schedule


def blur(width: int = 512, height: int = 256) -> Pipeline:
    """A blur of 3x3 pixels in two stages."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) / 3
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) / 3
    return pipeline(
        blur_y, estimates={blur_y: [width, height], image: [(-1, width + 2), (-1, height + 2)]}
    )


def row_sums(width: int = 64, height: int = 512) -> Pipeline:
    """The sum of each row of an image, as an update over a reduction domain."""
    y = Var("y")
    image = ImageParam(UInt16, 2, "input")
    r = RDom([(0, width)], "r")
    sums = Func("sums")
    sums[y] += image[r.x, y]
    return pipeline(sums, estimates={sums: [height], image: [width, height]})


def tiled(pipe: Pipeline) -> Schedule:
    """Tiles of TX x TY in parallel, blur_x sliding inside them."""
    out = schedule(pipe).tile("x", "y", "xi", "yi", "TX", "TY").vectorize("xi", 8).parallel("y")
    inner = out.func("blur_x").store_at("blur_y", "x").compute_at("blur_y", "yi")
    return inner.vectorize("x", 8).schedule


def gpu_tiled(pipe: Pipeline) -> Schedule:
    """Blocks of TX x TY threads, blur_x in shared memory."""
    out = schedule(pipe).gpu_tile("x", "y", "xi", "yi", "TX", "TY")
    return out.func("blur_x").compute_at("blur_y", "x").gpu_threads("x", "y").schedule
