"""Conditions that must hold in all iterations of loops without a known limit."""

from __future__ import annotations

import pytest

import spaces
from spaces import Func, ImageParam, Int32, Param, Var, clamp


def rows_at_shifted_places() -> spaces.Pipeline:
    """``wide`` is read at ``x >> by``, whose greatest value over x is not known as a formula."""
    x, y = Var("x"), Var("y")
    image, wide, out = ImageParam(Int32, 2, "image"), Func("wide"), Func("out")
    wide[x, y] = image[clamp(x, 0, 9), clamp(y, 0, 9)]
    out[x, y] = wide[y, y] + wide[x - 2, x >> Param(Int32, "by")]
    return spaces.pipeline(out)


@pytest.mark.parametrize(
    ("directive", "rule"),
    [
        ("fold_storage(y, 8)", "storage.fold-too-small"),
        ("bound_storage(y, 8)", "storage.bound-too-small"),
        ("bound(y, 0, 8)", "bounds.explicit-too-small"),
        ("bound_extent(y, 8)", "bounds.explicit-too-small"),
    ],
)
def test_a_directive_is_refused_where_how_much_it_must_hold_has_no_limit(
    directive: str, rule: str
) -> None:
    pipeline = rows_at_shifted_places()
    text = f"out.reorder(y, x); wide.compute_at(out, x).{directive};"
    schedule = spaces.parse_schedule(text, pipeline)
    verdict = spaces.verify(pipeline, schedule, spaces.device("cpu"))
    assert isinstance(verdict, spaces.Illegal)
    assert {v.rule for v in verdict.violations} == {rule}
    assert all("an unknown number" in v.message for v in verdict.violations)
    assert not any(".s0." in v.message for v in verdict.violations)


def test_what_is_left_to_ask_of_a_call_names_no_loop() -> None:
    pipeline = rows_at_shifted_places()
    schedule = spaces.parse_schedule("out.reorder(y, x); wide.compute_at(out, x);", pipeline)
    verdict = spaces.verify(pipeline, schedule, spaces.device("cpu"))
    assert isinstance(verdict, spaces.CheckedSchedule)
    asked = {name for r in verdict.size_conditions for name in r.condition.names}
    assert asked
    assert not {name for name in asked if ".s0." in name}
