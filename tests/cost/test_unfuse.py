"""A fused loop moves through memory as the nest of its two loops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.unfuse import unfuse
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import ONE_CORE
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
NESTS = {"x, y": "reorder(x, y)", "y, x": "reorder(y, x)"}
MEMORY = Reuse(
    ONE_CORE,
    free(
        line_from_l2=0.25,
        line_from_l3=1.2,
        line_from_memory=5.0,
        row_from_l3=10.0,
        row_from_memory=25.0,
    ),
)


def _copy(width: int, height: int, transposed: bool) -> Pipeline:
    image, out = ImageParam(UInt8, 2, "image"), Func("out")
    out[X, Y] = image[Y, X] if transposed else image[X, Y]
    sizes = [height, width] if transposed else [width, height]
    return pipeline(out, estimates={image: sizes, out: [width, height]})


def _moved(pipe: Pipeline, text: str) -> float:
    return float(MEMORY.cost(Batch.of(pipe, parse_schedule(text, pipe))))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.booleans(),
    st.sampled_from(sorted(NESTS)),
    st.sampled_from(["", ".parallel({})"]),
)
def test_a_fused_loop_costs_what_the_nest_of_its_loops_costs(
    width: int, height: int, transposed: bool, order: str, kind: str
) -> None:
    """Reads along rows and along columns; two parallel loops are as many tasks as one."""
    pipe = _copy(width, height, transposed)
    fused = f"out.fuse({order}, t)" + kind.format("t")
    nested = f"out.{NESTS[order]}" + "".join(kind.format(v) for v in ("x", "y"))
    assert _moved(pipe, fused) == pytest.approx(_moved(pipe, nested))


def test_the_wrong_order_is_dearer_where_rows_do_not_fit_a_cache() -> None:
    """A histogram whose fused loop jumps from row to row, and one that goes along rows."""
    image, bins = ImageParam(UInt8, 2, "image"), Func("bins")
    w = RDom([(0, 2048), (0, 2048)], "w")
    bins[X] = 0
    bins[cast(Int32, image[w.x, w.y])] += 1
    pipe = pipeline(bins, estimates={bins: [256], image: [2048, 2048]})
    along, across = (
        _moved(pipe, f"bins.update(0).fuse({order}, t)") for order in ("w.x, w.y", "w.y, w.x")
    )
    assert across > 10 * along


def test_a_level_in_a_fused_loop_is_inside_all_its_loops() -> None:
    g, out = Func("g"), Func("out")
    g[X, Y] = X + Y
    out[X, Y] = g[X, Y] + g[X + 1, Y]
    pipe = pipeline(out, estimates={out: [12, 20]})
    text = "out.fuse(x, y, t)\ng.compute_at(out, t)"
    found = unfuse(Batch.of(pipe, parse_schedule(text, pipe)).features)
    producer, consumer = found.func("g"), found.func("out").stages[0]
    assert (producer.depth, producer.store_depth) == (2, 2)
    assert [(loop.dimensions, loop.runs) for loop in consumer.loops] == [
        (("y",), 20),
        (("x",), 240),
    ]
    assert producer.stages[0].loops[:2] == consumer.loops
