"""The cosine transform of blocks of 8x8, quantised, as pictures are compressed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Func, ImageParam, Int16, Pipeline, RDom, UInt8, Var, cast, f32
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

WIDTH, HEIGHT = 3072, 2048
SIZE = 8
STEP = 23.7


def _matrix() -> Array:
    k = np.arange(SIZE)
    matrix: Array = np.cos(np.pi * k[:, None] * (2 * k + 1) / (2 * SIZE)) * np.sqrt(2 / SIZE)
    matrix[0] /= np.sqrt(2)
    return matrix


def pipeline() -> Pipeline:
    """Sums over the lines, then the columns of a block, with a table of cosines; multiples of 23.7,
    rounded to the nearest.
    """
    x, y, u, v = Var("x"), Var("y"), Var("u"), Var("v")
    image = ImageParam(UInt8, 2, "image")
    cosines, lines, block, output = Func("cosines"), Func("lines"), Func("block"), Func("output")
    angle = spaces.f32(u * (2 * x + 1)) * float(np.pi / (2 * SIZE))
    cosines[x, u] = spaces.cos(angle) * spaces.select(u == 0, 0.125**0.5, 0.5)
    r, s = RDom([(0, SIZE)], "r"), RDom([(0, SIZE)], "s")
    lines[u, x, y] = 0.0
    lines[u, x, y] += cosines[r, u] * (f32(image[x * SIZE + r, y]) - 128.0)
    block[u, v, x, y] = 0.0
    block[u, v, x, y] += cosines[s, v] * lines[u, x, y * SIZE + s]
    output[u, v, x, y] = cast(Int16, spaces.floor(block[u, v, x, y] / STEP + 0.5))
    size = [SIZE, SIZE, WIDTH // SIZE, HEIGHT // SIZE]
    return spaces.pipeline(
        output, name="dct_blocks", estimates={image: [WIDTH, HEIGHT], output: size}
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """A contraction of blocks with the matrix of the transform on both sides."""
    image = inputs["image"].astype(np.float64) - 128
    height, width = image.shape
    blocks = image.reshape(height // SIZE, SIZE, width // SIZE, SIZE)
    found = np.einsum("yixj,vi,uj->yxvu", blocks, _matrix(), _matrix())
    rounded: Array = np.floor(found / STEP + 0.5).astype(np.int16)
    return rounded


GALLERY_PIPELINE = GalleryPipeline(
    name="dct_blocks",
    kind=PipelineKind.BUTTERFLIES,
    summary="quantised cosine transform of blocks of 8x8, 6 megapixels, 8 bits to 16",
    pipeline=pipeline,
    expected=expected,
    small={"image": (40, 24), "output": (SIZE, SIZE, 5, 3)},
)
