"""Derivations that build on each other, and clones for several readers."""

from __future__ import annotations

from collections import Counter

import pytest

import spaces
from spaces import Options, ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.writing.serialize import from_json, to_json
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import copied, forked, volume_sum

CPU, SM80 = FOUR_CORES, spaces.device("sm_80")

HAND = {
    "a wrapper of a wrapper": (
        copied(64), SM80,
        "f.split(x, xo, xi, 32).gpu_blocks(xo).gpu_threads(xi)\n"
        "input.in().compute_at(f, xo).gpu_threads(_0)\n"
        "input_in.in().compute_at(f, xi)",
    ),
    "a clone of a producer of a clone": (
        forked(), CPU,
        "middle.clone_in(out0).compute_root()\n"
        "base.clone_in(middle_clone_in_out0).compute_at(middle_clone_in_out0, x)\n"
        "base.compute_root()",
    ),
    "a clone for two readers": (
        forked(readers=3), CPU, "middle.clone_in(out0, out2).compute_root()",
    ),
    "a clone for two clones": (
        forked(readers=3), CPU,
        "middle.clone_in(out0)\nmiddle.clone_in(out1)\n"
        "base.clone_in(middle_clone_in_out0, middle_clone_in_out1).compute_root()",
    ),
    "partial results of partial results": (
        volume_sum(), CPU,
        "total.compute_root()\n"
        "total.update(0).rfactor(r.z, r_z).compute_root().update(0).parallel(r_z)\n"
        "total_intm.update(0).rfactor(r.y, r_y).compute_root().update(0).parallel(r_y)",
    ),
    "a wrapper of a clone": (
        forked(), CPU,
        "middle.clone_in(out0).compute_root()\nmiddle_clone_in_out0.in().compute_at(out0, x)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HAND.values(), ids=HAND)
def test_a_hand_schedule_with_several_derivations_is_in_everything(
    case: tuple[Pipeline, spaces.Device, str],
) -> None:
    algorithm, device, text = case
    space = ScheduleSpace(algorithm, device, Options.everything(device))
    hand = spaces.parse_schedule(text, algorithm)
    last = space.way_to(hand)[-1]
    assert spaces.same_schedule(algorithm, last.schedule, hand)
    assert hand in space
    assert from_json(to_json(last.schedule), spaces.Schedule) == last.schedule
    assert from_json(to_json(space), ScheduleSpace).resume(last.taken).schedule == last.schedule


def few(*directives: str, **more) -> Options:
    """Loop by loop, without splits."""
    return Options(
        root=("loops",), inner=("loops",), splits=0, directives=directives,
        **{"placements": ("root",), **more},
    )  # fmt: skip


ALL = {
    "wrappers": (
        copied(), few("in_", "vectorize", placements=("inline", "root", "at"), derivations=2),
        {"": 1, "input.in()": 1, "input.in() input_in.in()": 1},
    ),
    "clones for sets": (
        forked(readers=3), few("clone_in", clone_consumers=2),
        # Of base no clone has a reader of its own. Of middle there are none, one for each of six
        # sets, two for each of six pairs of disjoint sets, and one for each reader.
        dict(enumerate((1, 6, 6, 1))),
    ),
    "clones of clones": (
        # Let A and B be the clones of middle. One: A or B. Two: A and B, or one of them and a clone
        # of base for it. Three: A, B, and a clone of base for A, for B, for both, or for middle and
        # B. Four: A, B, and a clone of base for each.
        forked(), few("clone_in", derivations=2, clone_consumers=2),
        dict(enumerate((1, 2, 3, 4, 1))),
    ),
    "clones of clones for one reader each": (
        forked(), few("clone_in", derivations=2), dict(enumerate((1, 2, 3, 2, 1))),
    ),
    "reductions": (
        volume_sum(), few("rfactor", derivations=2), {0: 1, 1: 3, 2: 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_space_lists_each_way_to_derive_once(
    case: tuple[Pipeline, Options, dict[str, int]],
) -> None:
    algorithm, options, graphs = case
    space = ScheduleSpace(algorithm, FOUR_CORES, options)
    schedules = [s.at(index) for s in space.structures() for index in range(s.size)]
    forms = [canonical_form(algorithm, schedule) for schedule in schedules]
    assert len(set(forms)) == len(forms)
    assert list(space) == [s for s in schedules if spaces.verify(algorithm, s, FOUR_CORES)]
    found = {form.derivations for form in forms}
    by_name = {" ".join(one): 1 for one in found}
    assert graphs in (by_name, Counter(map(len, found)))


def test_the_order_of_derivations_counts_where_it_matters() -> None:
    """The clone of middle reads the Func that middle reads when the clone is made."""
    algorithm = forked(readers=2)

    def form(*lines: str) -> CanonicalForm:
        return canonical_form(algorithm, spaces.parse_schedule("\n".join(lines), algorithm))

    first, base = "middle.clone_in(out0)", "base.clone_in(middle)"
    assert form(first, base) != form(base, first)
    second = "middle.clone_in(out1)"
    assert form(first, second) == form(second, first)


def test_expert_has_one_derivation_in_a_row() -> None:
    algorithm, device, text = HAND["a wrapper of a wrapper"]
    hand = spaces.parse_schedule(text, algorithm)
    with pytest.raises(ValueError, match="no such schedule"):
        ScheduleSpace(algorithm, device, Options.expert(device)).way_to(hand)
