"""Loops that stages of several Funcs share, and how their iterations run together."""

from __future__ import annotations

import itertools

import spaces
from spaces import Options, ScheduleSpace
from spaces.model.schedules.schedule import LoopAlign
from spaces.model.writing.serialize import from_json, to_json
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import planes

CPU = FOUR_CORES


def test_each_fused_loop_has_its_own_alignment() -> None:
    algorithm = planes()
    space = ScheduleSpace(algorithm, CPU, Options.everything(CPU))
    hand = spaces.parse_schedule(
        "second.compute_with(first, x, {{x, LoopAlignStrategy::AlignEnd}, "
        "{y, LoopAlignStrategy::AlignStart}})",
        algorithm,
    )
    last = space.way_to(hand)[-1]
    assert spaces.same_schedule(algorithm, last.schedule, hand)
    assert hand in space
    assert from_json(to_json(last.schedule), spaces.Schedule) == last.schedule
    (companion,) = last.schedule.of("second").companions
    assert dict(companion.aligned) == {"x": LoopAlign.ALIGN_END, "y": LoopAlign.ALIGN_START}


def test_all_alignments_of_two_loops_are_offered() -> None:
    choices = Options(
        root=("loops",), inner=("loops",), splits=0, directives=("compute_with",),
        alignments=tuple(LoopAlign),
    )  # fmt: skip
    space = ScheduleSpace(planes(), FOUR_CORES, choices)
    found = set()
    for structure in space.structures():
        for entry in structure.schedule.funcs:
            for one in entry.companions:
                if one.loop == entry.stages[0].names[-1]:  # both loops are fused
                    found.add(tuple(one.align(loop) for loop in entry.stages[0].names))
    assert found == set(itertools.product(choices.alignments, repeat=2))
    listed = sum(structure.size for structure in space.structures())
    # Two orders of loops each. Of equal orders, either Func follows the other: at one loop in 4
    # ways, at two in 16.
    assert listed == 4 + 2 * 2 * (4 + 16)
