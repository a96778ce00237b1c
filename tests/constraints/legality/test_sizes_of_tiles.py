"""Sizes of what a tile needs, where a guard or a clamp cuts the last tile off: the least number
that is accepted, and one less.
"""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from spaces import (
    Func,
    ImageParam,
    Int32,
    Pipeline,
    Proven,
    RDom,
    Var,
    clamp,
    device,
    pipeline,
    prove,
)
from spaces import verify as _verify
from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.reference import evaluate
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.sizes.kernels import kernels
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.bounds import Bounds
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")


def twice() -> Pipeline:
    image, g, f = ImageParam(Int32, 1, "image"), Func("g"), Func("f")
    g[X] = image[X] * 2
    f[X] = g[X] + 1
    return pipeline(f)


def total() -> Pipeline:
    image, g, f = ImageParam(Int32, 1, "image"), Func("g"), Func("f")
    r = RDom([(0, 100)], name="r")
    g[X] = image[X] * 2
    f[()] = 0
    f[()] += g[r.x]
    return pipeline(f)


def stencil() -> Pipeline:
    image, e, o = ImageParam(Int32, 2, "image"), Func("e"), Func("o")
    e[X, Y] = image[X, Y] * 2
    o[X, Y] = e[clamp(X + 1, 0, 4095), Y] + e[clamp(X - 1, 0, 4095), Y]
    return pipeline(o)


def broken(algorithm: Pipeline, text: str, on: str = "cpu") -> list[str]:
    verdict = _verify(algorithm, parse_schedule(text, algorithm), device(on))
    return [v.rule for v in verdict.violations]


@pytest.mark.parametrize("size", ["", "f.bound(x, 0, 100);"])
@pytest.mark.parametrize("tail", ["GuardWithIf", "Predicate", "ShiftInwards", "RoundUp"])
@pytest.mark.parametrize(
    ("stated", "rule"),
    [
        ("bound_storage", "storage.bound-too-small"),
        ("bound_extent", "bounds.explicit-too-small"),
    ],
)
def test_a_tile_needs_no_more_than_its_factor(size: str, tail: str, stated: str, rule: str):
    def of(number: int) -> str:
        split = f"f.split(x, xo, xi, 8, TailStrategy::{tail});"
        return f"{size} {split} g.compute_at(f, xo).{stated}(x, {number});"

    assert broken(twice(), of(8)) == []
    cut = size == "" and tail in ("GuardWithIf", "Predicate")
    if not cut:  # an output of 7 elements needs no more, and no size is given
        assert broken(twice(), of(7)) == [rule]


@pytest.mark.parametrize("stated", ["bound_storage", "bound_extent"])
def test_a_tile_of_an_rvar_needs_no_more_than_its_factor(stated: str):
    split = "f.update(0).split(r.x, xo, xi, 8, TailStrategy::GuardWithIf);"
    assert broken(total(), f"{split} g.compute_at(f, xo).{stated}(x, 8);") == []
    assert len(broken(total(), f"{split} g.compute_at(f, xo).{stated}(x, 7);")) == 1


def test_a_tile_in_a_kernel_needs_no_more_than_its_factor():
    tiles = "f.bound(x, 0, 100).split(x, xo, xi, 8, TailStrategy::GuardWithIf)"
    kernel = f"{tiles}.gpu_blocks(xo).gpu_threads(xi); g.compute_at(f, xo).gpu_threads(x)"
    assert broken(twice(), f"{kernel}.bound_storage(x, 8);", "sm_80") == []
    assert broken(twice(), f"{kernel}.bound_storage(x, 7);", "sm_80") == ["storage.bound-too-small"]


@pytest.mark.parametrize("size", ["", "o.bound(x, 0, 4096);"])
def test_a_bound_does_not_widen_a_block(size: str):
    made = stencil()
    tiles = "o.gpu_tile(x, y, tx, ty, 30, 2, TailStrategy::GuardWithIf);"
    placed = "e.compute_at(o, x).gpu_threads(x, y);"
    text = f"{size} {tiles} {placed}"
    assert broken(made, text, "sm_80") == []
    (kernel,) = kernels(Bounds(made, parse_schedule(text, made)))
    assert [str(e) for e in kernel.block] == ["32", "2", "1"]
    assert number(kernel.shared_bytes, {}) == 32 * 2 * 4


@pytest.mark.parametrize("width", [1, 7, 8, 9, 100])
def test_a_bounded_tile_holds_all_that_is_computed(width: int):
    made = twice()
    text = (
        "f.split(x, xo, xi, 8, TailStrategy::GuardWithIf); g.compute_at(f, xo).bound_storage(x, 8);"
    )
    checked = _verify(made, parse_schedule(text, made), device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    assert all(isinstance(p.outcome, Proven) for p in prove(checked).proofs)
    image = np.arange(width, dtype=np.int32)
    inputs, sizes = {"image": image}, {"f": (width,)}
    found = compile_cpu_unchecked(made, checked.schedule).run(inputs, sizes=sizes)["f"]
    np.testing.assert_array_equal(found, evaluate(made, inputs, sizes=sizes)["f"])


def minimum_and_its_conversion() -> Pipeline:
    """``g`` at a coordinate in which a minimum stands twice, the second time turned round."""
    x, y = spaces.Var("x"), spaces.Var("y")
    f, g = spaces.Func("f"), spaces.Func("g")
    least = spaces.min(x, 5)
    g[y] = y * 3
    f[x] = g[0] + g[least + (255 - spaces.cast(spaces.Int32, spaces.cast(spaces.UInt8, least))) * 2]
    return spaces.pipeline(f, estimates={f: [10]})


@pytest.mark.parametrize(
    ("directives", "is_legal"),
    [
        ("g.compute_at(f, x).hoist_storage_root();", True),
        ("g.compute_at(f, x).bound_storage(y, 510);", False),
        ("g.compute_at(f, x).bound_storage(y, 506);", False),
    ],
)
def test_a_minimum_inside_a_conversion_is_taken_at_its_least(directives: str, is_legal: bool):
    pipeline = minimum_and_its_conversion()
    verdict = spaces.verify(
        pipeline, spaces.parse_schedule(directives, pipeline), spaces.device("cpu")
    )
    assert verdict.legal == is_legal
    if is_legal:
        compiled = spaces.compile_cpu(verdict, access_mode=spaces.AccessMode.HARDENED)
        wanted = [(min(x, 5) + (255 - min(x, 5)) * 2) * 3 for x in range(10)]
        assert compiled.run(sizes={"f": [10]})["f"].tolist() == wanted
        assert not spaces.prove(verdict).refuted
