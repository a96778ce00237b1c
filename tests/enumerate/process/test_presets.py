"""The presets of options hold what experts write."""

from __future__ import annotations

import random
from functools import cache

import pytest
from attrs import evolve

import spaces
from spaces import Options, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.enumerate.space.process.legality import may_become_legal
from tests.draw_counts import some

HAND = [
    (app, kind) for app in APPS for kind in APPS[app].schedules if kind.startswith(("cpu", "gpu"))
]

NOT_EXPERT = {
    ("bgu", "gpu"): "a dimension of unknown extent is unrolled at root",
    ("depthwise_conv", "gpu"): "the loop over tiles stands inside the loop inside tiles",
    ("lens_blur", "cpu"): "a Func is computed at a vectorized loop",
}


@cache
def hand(app: str, kind: str) -> tuple[spaces.Pipeline, spaces.Schedule, spaces.Device]:
    pipeline = APPS[app].pipeline()
    text = APPS[app].schedules[kind].read_text()
    device = spaces.device("cpu" if kind.startswith("cpu") else "sm_80")
    return pipeline, spaces.parse_schedule(text, pipeline), device


@pytest.mark.parametrize(("app", "kind"), some(HAND))
def test_everything_has_each_hand_schedule(app: str, kind: str) -> None:
    pipeline, schedule, device = hand(app, kind)
    way = ScheduleSpace(pipeline, device, Options.everything(device)).way_to(schedule)
    assert spaces.same_schedule(pipeline, way[-1].schedule, schedule)


@pytest.mark.parametrize(("app", "kind"), some(HAND))
def test_expert_has_nearly_each_hand_schedule(app: str, kind: str) -> None:
    pipeline, schedule, device = hand(app, kind)
    space = ScheduleSpace(pipeline, device, Options.expert(device))
    if (app, kind) in NOT_EXPERT:
        with pytest.raises(ValueError, match="has no such schedule: decision"):
            space.way_to(schedule)
    else:
        assert space.way_to(schedule)[-1].is_complete


@pytest.mark.parametrize(("app", "kind"), [("blur", "cpu"), ("unsharp", "cpu"), ("blur", "gpu")])
def test_a_legal_hand_schedule_is_in_its_space(app: str, kind: str) -> None:
    pipeline, schedule, device = hand(app, kind)
    assert schedule in ScheduleSpace(pipeline, device, Options.expert(device))


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
@pytest.mark.parametrize("app", ["harris", "hist", "conv_layer", "bilateral_grid", "iir_blur"])
def test_no_part_of_a_legal_hand_schedule_is_given_up(app: str, kind: str) -> None:
    pipeline, schedule, device = hand(app, kind)
    space = ScheduleSpace(pipeline, device, Options.everything(device))
    assert space.verdict(schedule)
    *way, last = space.way_to(schedule)
    # With its numbers, each part is asked about its loop nest, too.
    states = [evolve(one.state, numbers=last.state.numbers) for one in way]
    decided = [state for state in states if state.draft is None and state.entries]
    assert decided
    assert all(map(may_become_legal, {len(state.entries): state for state in decided}.values()))


def test_an_illegal_schedule_is_in_no_space() -> None:
    pipeline, schedule, device = hand("blur", "cpu")
    text = spaces.format_schedule(schedule, pipeline).replace("blur_y.", "blur_y.vectorize(y).", 1)
    illegal = spaces.parse_schedule(text, pipeline)
    assert not spaces.verify(pipeline, illegal, device)
    assert illegal not in ScheduleSpace(pipeline, device, Options.everything(device))


PRESETS = ("blur", "conv_layer", "hist", "max_filter", "bilateral_grid")
"""Apps with spaces of every preset."""


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
@pytest.mark.parametrize("app", some(PRESETS))
def test_each_preset_has_the_schedules_of_the_narrower_ones(app: str, target: str) -> None:
    pipeline, device = APPS[app].pipeline(), spaces.device(target)
    small, expert, everything = (
        ScheduleSpace(pipeline, device, preset(device))
        for preset in (Options.small, Options.expert, Options.everything)
    )
    chosen = random.Random(app)
    assert expert.way_to(small.start().at_random(chosen).schedule)
    assert everything.way_to(expert.start().at_random(chosen).schedule)
