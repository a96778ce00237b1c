"""Statements of edits: pasted into one text they give the other, and nothing else."""

import pytest

from spaces import format_schedule, parse_schedule
from spaces.constraints.examples import algorithms
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.constraints.repairs.stating import state_edits
from tests.constraints.repairs.pasting import pasted

BLUR = algorithms.blur(96, 64)

EDITED = {
    "one of two equal directives": (
        "by.unroll(x, 4).unroll(x, 4)",
        "by.unroll(x, 4).unroll(x, 2)",
        "by.unroll(x, 4).unroll(x, 2) instead of unroll(x, 4).unroll(x, 4)",
    ),
    "an equal directive after another": (
        "by.unroll(x, 4)",
        "by.unroll(x, 4).unroll(x, 4)",
        "by.unroll(x, 4) added",
    ),
    "a directive after others": (
        "by.split(x, xo, xi, 4)",
        "by.split(x, xo, xi, 4).vectorize(xi)",
        "by.vectorize(xi) added",
    ),
    "a directive before others": (
        "by.parallel(y)",
        "by.split(x, xo, xi, 4).parallel(y)",
        "by.split(x, xo, xi, 4).parallel(y) instead of parallel(y)",
    ),
    "a directive on a Func that another adds": (
        "bx.in(by).compute_root()",
        "bx.in(by).compute_root().vectorize(x, 8)",
        "bx.compute_root().vectorize(x, 8) instead of compute_root()",
    ),
    "all of a line": ("by.parallel(y)", "", "by.parallel(y) left out"),
}


@pytest.mark.parametrize("name", EDITED)
def test_a_statement_leads_from_one_text_to_the_other(name: str):
    before, after, text = EDITED[name]
    old, new = (parse_schedule(one, BLUR) for one in (before, after))
    (found,) = state_edits(BLUR, old, [RankedEdit("by", new, Rank.SPLIT, 0.0)])
    assert found.text == text
    assert parse_schedule(pasted(format_schedule(old, BLUR), [found]), BLUR) == new


def test_edits_apart_are_stated_apart():
    texts = ("by.parallel(y)", "bx.compute_root().parallel(y)")
    steps = [parse_schedule("\n".join(texts[: n + 1]), BLUR) for n in range(2)]
    edits = [RankedEdit("by", one, Rank.KIND, 0.0) for one in steps]
    found = state_edits(BLUR, parse_schedule("", BLUR), edits)
    assert [one.text for one in found] == ["by.parallel(y) added", f"{texts[1]} added"]
    assert [one.changes for one in found] == [1, 1]


def test_a_statement_quotes_only_what_the_user_wrote():
    text = "by.split(x, xo, xi, 8).split(y, yo, yi, 4).reorder(xi, yi, xo, yo).parallel(yo)"
    old = parse_schedule(text, BLUR)
    new = parse_schedule(text.replace("8", "16"), BLUR)
    edits = [RankedEdit("by", new, Rank.FACTOR, 0.0)]
    (canonical,) = state_edits(BLUR, old, edits)
    assert canonical.text.endswith(" instead of tile(x, y, xo, yo, xi, yi, 8, 4)")
    (found,) = state_edits(BLUR, old, edits, text)
    assert found.text == (
        "by.tile(x, y, xo, yo, xi, yi, 16, 4).parallel(yo) instead of all directives on by"
    )
    (spaced,) = state_edits(
        BLUR, parse_schedule("by.parallel( y )", BLUR), edits, "by.parallel( y )"
    )
    assert "instead of parallel(y)" in spaced.text
