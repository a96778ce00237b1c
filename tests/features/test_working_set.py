"""The bytes that one visit of a Func touches, against counts by hand."""

from __future__ import annotations

from spaces.features.extraction import extract_features
from spaces.features.named_features import working_set
from spaces.features.structure_features import StructureFeatures
from spaces.features.used_features import read_features
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.conversions import cast
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES

BYTES = 4
CPU = FOUR_CORES


def _working_set(pipe: Pipeline, text: str, func: str) -> object:
    found = extract_features(pipe, parse_schedule(text, pipe))
    return found.read_ints(pipe.sizes()).working_set(func)


def test_a_sum_touches_its_whole_domain() -> None:
    i, j = Var("i"), Var("j")
    a, b = ImageParam(Float32, 2, "a"), ImageParam(Float32, 2, "b")
    product, out = Func("product"), Func("out")
    k = RDom([(0, 60)], "k")
    product[j, i] = 0.0
    product[j, i] += a[k, i] * b[j, k]
    out[j, i] = product[j, i]
    pipe = pipeline(out, estimates={a: [60, 100], b: [100, 60], out: [100, 100]})
    tiled = "out.tile(j, i, jo, io, ji, ii, 10, 20)\nproduct.compute_at(out, jo)"
    tile = 10 * 20 + 60 * 20 + 10 * 60
    assert _working_set(pipe, tiled, "product") == tile * BYTES
    split = f"{tiled}\nproduct.update(0).split(k.x, ko, ki, 15)"
    assert _working_set(pipe, split, "product") == tile * BYTES


def test_a_buffer_of_several_stages_counts_once() -> None:
    x = Var("x")
    image, f = ImageParam(Int32, 1, "image"), Func("f")
    r = RDom([(0, 3)], "r")
    f[x] = image[x]
    f[x] += image[x + r]
    pipe = pipeline(f, estimates={f: [100], image: [102]})
    assert _working_set(pipe, "f.compute_root()", "f") == (100 + 102) * BYTES


def test_a_table_is_touched_at_most_once() -> None:
    x = Var("x")
    image, table = ImageParam(UInt8, 1, "image"), ImageParam(Int32, 1, "table")
    f = Func("f")
    f[x] = table[cast(Int32, image[x])]
    pipe = pipeline(f, estimates={f: [1000], image: [1000], table: [256]})
    formula = read_features(
        working_set("f"), StructureFeatures(pipe, parse_schedule("f.compute_root()", pipe), CPU)
    )
    assert evaluate(formula, pipe.sizes()) == 1000 * BYTES + 1000 + 256 * BYTES


def test_stages_that_are_not_computed_have_no_features() -> None:
    """An inlined Func, and a stage beyond the last."""
    x, f, out = Var("x"), Func("f"), Func("out")
    f[x] = x * 2
    out[x] = f[x] + 1
    pipe = pipeline(out, estimates={out: [64]})
    about = StructureFeatures(pipe, parse_schedule("", pipe), CPU)
    assert about.stage("out", 0) is not None
    assert about.stage("out", 1) is None
    assert about.stage("f", 0) is None
