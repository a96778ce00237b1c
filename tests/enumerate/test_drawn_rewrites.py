"""Rewrites that annealing, genetic search, the bandit and tuning draw."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import spaces
from spaces import Annealing, Bandit, Genetic, Limits, Options, ScheduleSpace
from spaces.enumerate.search.neighbours.drawing import DrawRewrite
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.registry import Strategy, find_strategy
from spaces.enumerate.search.rewrites.draw import draw_rewrite
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit, find_way_near
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain

CHAIN = chain()
EXPERT = ScheduleSpace(CHAIN, FOUR_CORES, Options.expert(FOUR_CORES))
STORED = spaces.parse_schedule(
    "a.compute_at(b, y)\nb.compute_root().split(x, xo, xi, 8)\nc.split(y, yo, y, 32)", CHAIN
)
UNLIKELY = spaces.parse_schedule("a.compute_at(b, y).unroll(x, 4)\nb.compute_at(c, y)", CHAIN)


def pricer_of(space: ScheduleSpace) -> Pricer:
    return Pricer.of(space, spaces.cost_model("reuse", FOUR_CORES), Limits())


def drawn(space: ScheduleSpace, schedule: spaces.Schedule, count: int) -> list[DecisionEdit]:
    """Some edits that are drawn for a schedule of a space, each with its own seed."""
    decided = DecidedSchedule.of(space, schedule)
    edits = (draw_rewrite(pricer_of(space), decided, random.Random(n)) for n in range(count))
    return [edit for edit in edits if edit is not None]


def structure_of(schedule: spaces.Schedule, pipeline: spaces.Pipeline = CHAIN) -> object:
    """The form of a schedule without its numbers."""
    parts = spaces.canonical_form(pipeline, schedule).parts
    return {name: part for name, part in parts.items() if " factor " not in name}


def test_numbers_and_inlining() -> None:
    """A runs in the loops of b, so a alone may be inlined; its numbers would be those of b."""
    edits = drawn(EXPERT, STORED, 24)
    inlined = [one for one in edits if structure_of(one.after) != structure_of(STORED)]
    assert 0 < len(inlined) < len(edits)
    without_a = spaces.parse_schedule(
        "b.compute_root().split(x, xo, xi, 8)\nc.split(y, yo, yi, 32)", CHAIN
    )
    assert {structure_of(one.after) == structure_of(without_a) for one in inlined} == {True}
    numbers = [one for one in edits if one not in inlined]
    assert {one.func for one in numbers} == {"b"}  # no producer runs in the nest of c
    for edit in numbers:
        assert edit.after.of("c") == inlined[0].after.of("c")
    assert len({one.after for one in numbers}) > 3


def test_the_same_seed_draws_the_same() -> None:
    first, again = (drawn(EXPERT, STORED, 12) for _ in range(2))
    assert [one.after for one in first] == [one.after for one in again]


def test_the_funcs_of_a_factored_reduction_are_decided_at_random() -> None:
    gpu = spaces.device("sm_80")
    image, x, out = spaces.ImageParam(spaces.Int32, 2, "image"), spaces.Var("x"), spaces.Func("out")
    r = spaces.RDom([(0, 512), (0, 512)], name="r")
    out[x] = spaces.cast(spaces.Int32, 0)
    out[x] += image[r.x + x, r.y]
    few = spaces.pipeline(out, estimates={out: [4], image: [516, 512]})
    space = ScheduleSpace(few, gpu, Options.medium(gpu)).with_directive("rfactor")
    schedule = find_way_near(space.start(), spaces.Schedule.default(few))[-1].schedule
    edits = drawn(space, schedule, 12)
    factored = [one for one in edits if one.after.derivations]
    assert {one.func for one in factored} == {"out_intm"}
    assert all(len(one.after.derivations) == 1 for one in factored)
    assert len({str(one.after.of("out_intm")) for one in factored}) > 3
    assert any(space.verdict(one.after) for one in factored)
    for edit in factored:
        labels = edit.way[-1].taken
        assert [one.taken for one in edit.way] == [labels[:n] for n in range(len(labels) + 1)]


def test_a_space_without_the_directive_gets_none() -> None:
    """No rewrite applies: one Func, without numbers."""
    space = ScheduleSpace(blur(), FOUR_CORES, Options(root=("serial",), placements=("inline",)))
    assert not drawn(space, spaces.Schedule.default(blur()), 4)


STRATEGIES: dict[str, Callable[[DrawRewrite | None], Strategy]] = {
    "annealing": lambda draw: Annealing(start=STORED, steps=20, rewrites=draw),
    "bandit": lambda draw: Bandit(slices=15, numbers=1, rewrites=draw),
    "genetic": lambda draw: Genetic(population=6, generations=3, rewrites=draw),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_searches_price_what_rewrites_propose(name: str) -> None:
    """A rewrite that leads to one schedule alone, which no other edit of the seed finds."""
    priced: list[object] = []

    def remember(batch: spaces.Batch) -> NDArray[np.float64]:
        priced.append(structure_of(batch.schedule))
        return batch.full(1.0 + len(batch.features.funcs))

    def propose(
        pricer: Pricer, decided: DecidedSchedule, chosen: random.Random
    ) -> DecisionEdit | None:
        return DecisionEdit.along(find_way_near(decided.way[0], UNLIKELY))

    for draw in (None, propose):
        priced.clear()
        spaces.best(spaces.search(EXPERT, remember, STRATEGIES[name](draw)))
        assert (structure_of(UNLIKELY) in priced) is (draw is propose)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_strategies_of_these_names_draw_rewrites(name: str) -> None:
    strategy = find_strategy(name)
    assert isinstance(strategy, Annealing | Bandit | Genetic)
    assert strategy.rewrites is draw_rewrite
