"""Explicit bounds, by hand: which box is computed, and what a bound leaves out."""

import pytest

from spaces import prove, verify
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Pad
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")


def column(height: int | None = None) -> Pipeline:
    """Each value of ``g`` reads three of ``f`` from its own row on."""
    image = ImageParam(Int32, 2, "im")
    f, g = Func("f"), Func("g")
    f[X, Y] = image[X, Y]
    g[X, Y] = f[X, Y] + f[X, Y + 2]
    return pipeline(g, estimates={} if height is None else {g: [16, height]})


@pytest.mark.parametrize(
    ("directives", "first", "last"),
    [
        # g asks for rows 5 to 14, so that f is required from 5 to 16.
        ("compute_root()", 5, 16),
        ("compute_root().align_bounds(y, 4)", 4, 19),
        ("compute_root().align_bounds(y, 4, 1)", 5, 16),
        ("compute_root().align_bounds(y, 4, 9)", 5, 16),
        ("compute_root().align_bounds(y, 4, -1)", 3, 18),
        ("compute_root().align_extent(y, 5)", 5, 19),
        ("compute_root().bound(y, 2, 30)", 2, 31),
        ("compute_root().bound_extent(y, 20)", 5, 24),
        # What is written last is applied first.
        ("compute_root().bound(y, 2, 30).align_bounds(y, 8)", 2, 31),
        ("compute_root().align_bounds(y, 8).bound(y, 2, 30)", 0, 31),
        ("compute_root().align_extent(y, 7).bound(y, 2, 30)", 2, 36),
        ("compute_root().bound_extent(y, 20).align_bounds(y, 4)", 4, 23),
    ],
)
def test_what_is_computed(directives: str, first: int, last: int) -> None:
    built = column()
    nest = loop_nest(built, parse_schedule(f"f.{directives}", built))
    _, rows = nest.placements["f"].storage.computed
    at = {"g.min.1": 5, "g.extent.1": 10}
    assert rows.min is not None
    assert rows.max is not None
    assert (evaluate(rows.min, at), evaluate(rows.max, at)) == (first, last)


@pytest.mark.parametrize(
    ("directives", "rows"),
    [
        ("compute_at(g, y).bound_extent(y, 5)", 5),
        # While a window slides its first row moves on: the extent alone says nothing.
        ("store_root().compute_at(g, y).bound_extent(y, 5)", 3),
    ],
)
def test_an_extent_counts_where_storage_begins(directives: str, rows: int) -> None:
    built = column()
    nest = loop_nest(built, parse_schedule(f"f.{directives}", built))
    assert str(nest.bounds.allocations["f"].extents[1]) == str(rows)


@pytest.mark.parametrize(
    ("directives", "legal"),
    [
        ("bound(y, 0, 66)", True),
        ("bound(y, 0, 65)", False),
        ("bound(y, 1, 65)", False),
        ("bound(y, -1, 67)", True),
        ("bound_extent(y, 66)", True),
        ("bound_extent(y, 65)", False),
        ("bound(y, 0, 66).align_bounds(y, 11)", True),
        ("bound(y, 0, 66).align_bounds(y, 4)", False),
    ],
)
def test_what_is_required_lies_within(directives: str, legal: bool) -> None:
    built = column(64)
    chosen = parse_schedule(f"f.compute_root().{directives}", built)
    verdict = verify(built, chosen, device("cpu"))
    found = () if isinstance(verdict, CheckedSchedule) else verdict.violations
    assert {v.rule for v in found} == (set() if legal else {"bounds.explicit-too-small"})


def test_outputs_are_proven_whole() -> None:
    built = column()
    verdict = verify(built, parse_schedule("g.bound(y, 0, 8)", built), device("cpu"))
    assert isinstance(verdict, CheckedSchedule)
    report = prove(verdict)
    assert len(report.proven) == len(report.proofs)
    statements = [p.obligation.statement for p in report.proofs]
    assert "The whole output g lies within its explicit bounds." in statements


def test_later_words_count() -> None:
    built = column()
    made = parse_schedule(
        "f.compute_root().align_storage(x, 4).align_storage(x, 8).reorder_storage(x, y)"
        ".reorder_storage(y, x)",
        built,
    ).of("f")
    assert made.pads == (Pad("x", 8),)
    assert made.storage_orders == (("y", "x"),)


def test_updates_touch_more_where_a_bound_is_wider() -> None:
    """Rows 2 to 31 are bounded, and each is updated up to three places beside its diagonal."""
    r, f, g = RDom([(0, 4)], "r"), Func("f"), Func("g")
    f[X, Y] = 0
    f[X, X + r.x] += 1
    g[X] = f[X, X]
    built = pipeline(g)
    nest = loop_nest(built, parse_schedule("f.compute_root().bound(x, 2, 30)", built))
    at = {"g.min.0": 5, "g.extent.0": 10}
    ends = [
        tuple(evaluate(end, at) for end in (side.min, side.max) if end is not None)
        for side in nest.placements["f"].required
    ]
    assert ends == [(2, 31), (2, 34)]
