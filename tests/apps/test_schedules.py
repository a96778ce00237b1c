"""The hand-written schedules: each app has them, and each is legal for the device of its name."""

import pytest

from spaces.apps.all_root import all_root
from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device, device_names
from spaces.constraints.legality.verify import verify
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.apps.cases import written
from tests.draw_counts import some

FILES = [
    pytest.param(name, stem, id=f"{name}-{stem}")
    for name, app in APPS.items()
    for stem in app.schedules
]
GPU_KINDS = {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}


@pytest.mark.parametrize("name", APPS)
def test_every_app_has_a_default_schedule_and_one_for_each_kind_of_device(name):
    missing = {"default", "cpu", "gpu"} - set(APPS[name].schedules)
    assert not missing, f"apps/schedules/{name} lacks {sorted(missing)}"
    pipeline, default = written(name, "default")
    assert default in (Schedule.default(pipeline), all_root(pipeline))


@pytest.mark.parametrize(("name", "stem"), some(FILES))
def test_the_text_is_stable_and_has_a_loop_nest(name, stem):
    pipeline, schedule = written(name, stem)
    assert parse_schedule(format_schedule(schedule, pipeline), pipeline) == schedule
    assert loop_nest(pipeline, schedule).outputs


@pytest.mark.parametrize(("name", "stem"), FILES)
def test_loops_are_of_the_kinds_of_the_device(name, stem):
    _, schedule = written(name, stem)
    kinds = {loop.kind for func in schedule.funcs for stage in func.stages for loop in stage.loops}
    if stem == "gpu":
        assert kinds >= GPU_KINDS
    else:
        assert not kinds & GPU_KINDS
    assert (stem == "default") == (kinds == {LoopKind.SERIAL})


@pytest.mark.parametrize(("name", "stem"), FILES)
def test_the_schedule_is_legal_on_every_device_of_its_kind(name, stem):
    pipeline, schedule = written(name, stem)
    gpus = some(n for n in device_names() if n != "cpu")
    for target in gpus if stem == "gpu" else ["cpu"]:
        verdict = verify(pipeline, schedule, device(target))
        assert verdict.legal, f"{target}: {verdict}"
    if stem == "gpu":
        wrong = verify(pipeline, schedule, device("cpu"))
        assert {v.rule for v in wrong.violations} == {"gpu.device"}
