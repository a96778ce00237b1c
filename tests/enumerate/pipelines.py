"""Small pipelines whose spaces tests can list."""

from __future__ import annotations

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import clamp, select
from spaces.model.expressions.types import Bool, Int32, UInt8, UInt16

X, Y = Var("x"), Var("y")


def blur(width: int = 512, height: int = 256) -> Pipeline:
    """A blur of 3x3 pixels in two stages."""
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[X, Y] = (image[X - 1, Y] + image[X, Y] + image[X + 1, Y]) / 3
    blur_y[X, Y] = (blur_x[X, Y - 1] + blur_x[X, Y] + blur_x[X, Y + 1]) / 3
    return pipeline(
        blur_y, estimates={blur_y: [width, height], image: [(-1, width + 2), (-1, height + 2)]}
    )


def chain(width: int = 512, height: int = 256) -> Pipeline:
    """Three stages; each reads the one before at two places."""
    image = ImageParam(UInt16, 2, "input")
    a, b, c = Func("a"), Func("b"), Func("c")
    a[X, Y] = image[X, Y] + image[X, Y + 1]
    b[X, Y] = a[X, Y] + a[X + 1, Y]
    c[X, Y] = b[X, Y] + b[X, Y + 1]
    return pipeline(c, estimates={c: [width, height], image: [width + 1, height + 2]})


def row_sums(width: int = 512, height: int = 256) -> Pipeline:
    """The sum of each row, added to its pixels: a Func with an update stage."""
    image = ImageParam(Int32, 2, "input")
    sums, out = Func("sums"), Func("out")
    r = RDom([(0, width)], "r")
    sums[Y] = 0
    sums[Y] += image[r, Y]
    out[X, Y] = image[X, Y] + sums[Y]
    return pipeline(out, estimates={out: [width, height], image: [width, height]})


def line(width: int = 4096) -> Pipeline:
    """One stage in one dimension."""
    f = Func("f")
    f[X] = X * 2
    return pipeline(f, estimates={f: [width]})


def long_chain(stages: int, size: int = 1024) -> Pipeline:
    """Stages; each reads the one before at two places."""
    image = ImageParam(UInt16, 2, "input")
    source: ImageParam | Func = image
    for number in range(stages):
        func = Func(f"f{number}")
        func[X, Y] = source[X, Y] + source[X, Y + 1]
        source = func
    return pipeline(source, estimates={source: [size, size], image: [size, size + stages]})


def two_outputs(size: int = 256) -> Pipeline:
    """Two outputs that read one stage."""
    image = ImageParam(UInt16, 2, "input")
    shared, first, second = Func("shared"), Func("first"), Func("second")
    shared[X, Y] = image[X, Y] + image[X + 1, Y]
    first[X, Y] = shared[X, Y] + shared[X, Y + 1]
    second[X, Y] = shared[X, Y] * 2
    sizes = {first: [size, size], second: [size, size], image: [size + 1, size + 1]}
    return pipeline([first, second], estimates=sizes)


def equalized(size: int = 256) -> Pipeline:
    """Histogram equalization: a scatter, a scan, and a read at a computed coordinate."""
    image = ImageParam(UInt8, 2, "input")
    i = Var("i")
    pixels, bins = RDom([(0, size), (0, size)], "p"), RDom([(1, 255)], "b")
    histogram, cumulated, out = Func("histogram"), Func("cumulated"), Func("out")
    histogram[i] = 0 * i
    histogram[cast(Int32, image[pixels.x, pixels.y])] += 1
    cumulated[i] = histogram[i]
    cumulated[bins.x] = cumulated[bins.x - 1] + cumulated[bins.x]
    out[X, Y] = cumulated[cast(Int32, image[X, Y])]
    return pipeline(out, estimates={out: [size, size], image: [size, size]})


def shuffled(size: int = 16) -> Pipeline:
    """A stage that reads an image at a coordinate that another stage gives."""
    image = ImageParam(UInt8, 1, "input")
    order, out = Func("order"), Func("out")
    order[X] = clamp(X * 3, 0, size - 1)
    out[X] = image[order[X]]
    return pipeline(out, estimates={out: [size], image: [size]})


def interleaved_colors(size: int = 256) -> Pipeline:
    """Colors innermost: rows are too short for vectors."""
    c = Var("c")
    image = ImageParam(UInt8, 3, "input")
    doubled, out = Func("doubled"), Func("out")
    doubled[c, X, Y] = image[c, X, Y] * 2
    out[c, X, Y] = doubled[c, X, Y] + doubled[c, X + 1, Y]
    return pipeline(out, estimates={out: [3, size, size], image: [3, size + 1, size]})


def gated(width: int = 4096) -> Pipeline:
    """One stage in one dimension that a boolean parameter changes."""
    is_on = Param(Bool, "is_on")
    f = Func("f")
    f[X] = select(is_on, X * 2, X)
    return pipeline(f, estimates={f: [width]})


def switched(size: int = 64) -> Pipeline:
    """Two stages and a coordinate that divides by a number whose sign is known in each case only,
    though it is never 0.
    """
    sign = Param(Int32, "sign", 1)
    first, second, out = Func("first"), Func("second"), Func("out")
    first[X] = X * 2
    second[X] = first[X] + 1
    out[X] = second[X / select(sign >= 0, sign + 1, 1 - sign)]
    return pipeline(out, estimates={out: [size]})


def copied(width: int = 16) -> Pipeline:
    """One stage in one dimension that reads an image."""
    image, f = ImageParam(UInt8, 1, "input"), Func("f")
    f[X] = image[X] + 1
    return pipeline(f, estimates={f: [width], image: [width]})


def forked(size: int = 16, readers: int = 2) -> Pipeline:
    """Two stages in a row, and outputs that read the second one."""
    base, middle = Func("base"), Func("middle")
    base[X] = X * 2
    middle[X] = base[X] + base[X + 1]
    outputs = [Func(f"out{number}") for number in range(readers)]
    for number, out in enumerate(outputs):
        out[X] = middle[X + number] + number
    return pipeline(outputs, estimates={out: [size] for out in outputs})


def volume_sum(size: int = 4) -> Pipeline:
    """The sum over an image of three dimensions."""
    image = ImageParam(Int32, 3, "input")
    r = RDom([(0, size)] * 3, "r")
    total, out = Func("total"), Func("out")
    total[()] = 0
    total[()] += image[r.x, r.y, r.z]
    out[X] = total[()] * X
    return pipeline(out, estimates={out: [8], image: [size] * 3})


def planes(size: int = 16) -> Pipeline:
    """Two outputs of unlike sizes that read nothing."""
    first, second = Func("first"), Func("second")
    first[X, Y] = X + Y
    second[X, Y] = X - Y
    return pipeline([first, second], estimates={first: [size, size], second: [size, size // 2]})


def stencils(count: int, width: int = 512, height: int = 256) -> Pipeline:
    """``stage0`` to ``stage<count - 1>``; each reads the one before at two places."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    last = image
    for number in range(count):
        stage = Func(f"stage{number}")
        stage[x, y] = last[x, y] + last[x + number % 2, y + 1]
        last = stage
    sizes = {last: [width, height], image: [width + count, height + count]}
    return pipeline(last, estimates=sizes)
