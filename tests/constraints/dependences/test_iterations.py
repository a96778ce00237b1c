"""Dependences between iterations of update stages, compared with all pairs of iterations."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spaces import device, parse_schedule, verify
from spaces.constraints.dependences.iterations import Ordering, conflict, dependences
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Function
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import clamp
from spaces.model.expressions.types import Int32
from spaces.model.schedules.schedule import Schedule
from tests.constraints.dependences.random_updates import (
    Update,
    is_wrong,
    random_order,
    random_update,
)
from tests.draw_counts import examples

CPU = device("cpu")
ABOUT = {"race.update", "order.reduction"}
PARAMS = (0, 1, -2, 5)


def judged(seed: int) -> tuple[Update, Schedule, set[str], bool]:
    """A random update, a schedule of it, the rules that it breaks, and whether it is wrong."""
    rng = random.Random(seed)
    update = random_update(rng)
    order = random_order(rng, update)
    schedule = Schedule.default(update.pipeline).with_stage("f", 1, order)
    verdict = verify(update.pipeline, schedule, CPU)
    broken = {v.rule for v in verdict.violations}
    return update, schedule, broken, any(is_wrong(update, order, p) for p in PARAMS)


def count(seeds: range) -> Counter[str]:
    """The number of refused schedules among the right ones and among the wrong ones."""
    found: Counter[str] = Counter()
    for seed in seeds:
        _, _, broken, wrong = judged(seed)
        refused = "refused" if broken & ABOUT else "not refused"
        found[f"{'wrong' if wrong else 'right'}, {refused}"] += 1
    return found


def test_no_wrong_order_is_legal():
    drawn = examples(300, fewest=80)
    found = count(range(drawn))
    assert found["wrong, not refused"] == 0
    assert found["wrong, refused"] > drawn / 6
    assert found["right, not refused"] > drawn / 3


def stencil(*shifts: tuple[int, int]) -> Function:
    """An update in place, of neighbors at these distances."""
    x, y, s = Var("x"), Var("y"), Func("s")
    r = RDom([(0, 9), (0, 7)], "r")
    s[x, y] = x + y
    total = cast(Int32, 0)
    for dx, dy in shifts:
        total = total * 3 + s[r.x + dx, r.y + dy]
    s[r.x, r.y] = total
    return pipeline(s).function("s")


XY, YX = ("r.x", "r.y"), ("r.y", "r.x")


@pytest.mark.parametrize(
    ("shifts", "dimensions", "before"),
    [
        ([(0, 0)], (), []),
        ([(-1, 0)], ("r.x",), []),
        ([(-1, 0), (0, -1), (-1, -1)], YX, []),
        ([(1, -1)], YX, [YX]),
        ([(-1, 1)], YX, [YX]),
        ([(1, 1)], YX, []),
        ([(-9, 1)], (), []),
        ([(8, -6)], YX, [YX]),
        ([(0, -1), (-1, 0)], YX, []),
    ],
)
def test_neighbors_in_place_keep_the_order_that_their_distances_need(
    shifts: list[tuple[int, int]], dimensions: tuple[str, ...], before: list[tuple[str, str]]
):
    assert dependences(stencil(*shifts), 1) == Ordering(dimensions, frozenset(before))


def test_where_iterations_meet_is_told_with_both():
    met = conflict(stencil((1, -1)), 1, "r.y", "r.x")
    assert met is not None
    assert not met.depends
    apart = {name: met.second[name] - met.first[name] for name in XY}
    assert apart == {"r.x": -1, "r.y": 1}
    assert met.place in [tuple(i[name] for name in XY) for i in (met.first, met.second)]


def test_a_refused_race_names_two_iterations_and_their_place():
    f, r = Func("f"), RDom([(0, 8)], "r")
    x = Var("x")
    f[x] = x
    f[r] = f[r + 7] + 1
    made = pipeline(f)
    written = parse_schedule("f.update(0).parallel(r.x)", made)
    (violation,) = verify(made, written, CPU).violations
    assert "The iterations at r.x = 0 and at r.x = 7 both touch f(7)." in violation.message
    told = violation.json()["values"]
    assert (told["first"], told["second"], told["place"]) == ("r.x = 0", "r.x = 7", "f(7)")


def test_what_is_read_may_decide_whether_iterations_meet():
    f, r, image = Func("f"), RDom([(0, 8)], "r"), ImageParam(Int32, 1, "image")
    x = Var("x")
    f[x] = x
    f[clamp(image[r], 0, 9)] = r
    made = pipeline(f)
    (violation,) = verify(
        made, parse_schedule("f.update(0).vectorize(r.x, 4)", made), CPU
    ).violations
    assert "if what they read says so." in violation.message


def test_what_the_solver_does_not_find_out_counts_as_meeting(monkeypatch: pytest.MonkeyPatch):
    f, r = Func("f"), RDom([(0, 8), (0, 8)], "r")
    x = Var("x")
    f[x] = x
    f[r.x * 64 + r.y * r.y + r.y] = r.x
    function = pipeline(f).function("f")
    asked = dependences.__wrapped__
    assert asked(function, 1) == Ordering()
    monkeypatch.setattr("spaces.constraints.dependences.iterations.SOLVER_STEPS", 1)
    assert asked(function, 1) == Ordering(("r.y",))
