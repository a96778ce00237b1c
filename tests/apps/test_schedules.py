"""The hand-written schedules: each app has them, and each means what its name says."""

import pytest

from apps.catalog import APPS
from spaces.model.loopnest import loop_nest
from spaces.model.schedule import LoopKind, Schedule
from spaces.model.text import format_schedule, parse_schedule

FILES = [
    pytest.param(name, stem, id=f"{name}-{stem}")
    for name, app in APPS.items()
    for stem in app.schedules
]
GPU_KINDS = {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}


def parsed(name, stem):
    pipeline = APPS[name].pipeline()
    return pipeline, parse_schedule(APPS[name].schedules[stem].read_text(), pipeline)


@pytest.mark.parametrize("name", APPS)
def test_every_app_has_a_default_schedule_and_one_for_each_kind_of_device(name):
    assert {"default", "cpu", "gpu"} <= set(APPS[name].schedules)
    pipeline, default = parsed(name, "default")
    assert default == Schedule.default(pipeline)


@pytest.mark.parametrize(("name", "stem"), FILES)
def test_the_text_is_stable_and_has_a_loop_nest(name, stem):
    pipeline, schedule = parsed(name, stem)
    assert parse_schedule(format_schedule(schedule, pipeline), pipeline) == schedule
    assert loop_nest(pipeline, schedule).outputs


@pytest.mark.parametrize(("name", "stem"), FILES)
def test_loops_are_of_the_kinds_of_the_device(name, stem):
    _, schedule = parsed(name, stem)
    kinds = {loop.kind for func in schedule.funcs for stage in func.stages for loop in stage.loops}
    if stem == "gpu":
        assert kinds >= GPU_KINDS
    else:
        assert not kinds & GPU_KINDS
    assert (stem == "default") == (kinds == {LoopKind.SERIAL})
