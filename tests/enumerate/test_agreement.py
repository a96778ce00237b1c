"""Three independent ways to the legal schedules of a universe agree: the models of the solver, the
enumeration of the space, and the verification of every choice.
"""

from __future__ import annotations

import pytest
from attrs import frozen

from spaces import Options, ScheduleSpace, device, verify
from spaces.constraints.solver.encode import encode, models
from spaces.enumerate.space.completing.universe import universe
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import blur, chain, equalized, row_sums, two_outputs

CPU = FOUR_CORES


def far() -> Pipeline:
    """Two stages; the second reads the first far to the right and below, so a block of any size
    needs a large part of it.
    """
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "input")
    near, out = Func("near"), Func("out")
    near[x, y] = image[x, y] * 2.0
    out[x, y] = near[x, y] + near[x + 90, y + 90]
    return pipeline(out, estimates={out: [512, 256], image: [602, 346]})


@frozen
class Case:
    """A space, and the rule that it tests."""

    space: ScheduleSpace
    rule: str


CASES = {
    "windows that slide over strips": Case(
        ScheduleSpace(
            blur(), CPU,
            Options(root=("strips",), inner=("vectors", "serial"), row_tiles=(32,),
                    tiles=(8, 16, 512), lanes=(1,)),
        ),
        "bounds.smaller-than-tile",
    ),
    "tiles in parallel, storage outside them": Case(
        ScheduleSpace(
            blur(), CPU,
            Options(root=("tiles",), row_tiles=(32, 128), tiles=(16,), lanes=(1, 1024)),
        ),
        "race.shared-storage",
    ),
    "a chain of windows": Case(
        ScheduleSpace(
            chain(), CPU,
            Options(root=("strips",), inner=("serial",), placements=("inline", "at"),
                    tiles=(16,), row_tiles=(32,), lanes=(1,)),
        ),
        "call.compute-level",
    ),
    "an update stage": Case(
        ScheduleSpace(
            row_sums(), CPU,
            Options(root=("strips", "serial"), inner=("serial",), tiles=(8, 16, 512),
                    row_tiles=(64, 1024), lanes=(1,)),
        ),
        "call.store-level",
    ),
    "a scatter and a scan": Case(
        ScheduleSpace(
            equalized(64), CPU,
            Options(root=("serial",), inner=("serial",), placements=("root", "at")),
        ),
        "call.compute-level",
    ),
    "outputs that share a stage": Case(
        ScheduleSpace(
            two_outputs(64), CPU,
            Options(root=("strips",), tiles=(8, 128), row_tiles=(32,), lanes=(1,)),
        ),
        "bounds.smaller-than-tile",
    ),
    "blocks of threads": Case(
        ScheduleSpace(
            blur(), device("sm_80"),
            Options(root=("blocks",), inner=("threads", "serial"), storage="compute",
                    row_tiles=(32, 128), tiles=(8, 16)),
        ),
        "gpu.threads-per-block",
    ),
    "shared memory of a block": Case(
        ScheduleSpace(
            far(), device("sm_75"),
            Options(root=("blocks",), inner=("serial",), storage="outside",
                    row_tiles=(16, 128), tiles=(2, 16, 64)),
        ),
        "gpu.shared-bytes",
    ),
    "kernels in a row": Case(
        ScheduleSpace(
            chain(), device("sm_80"),
            Options(root=("blocks",), inner=("threads",), storage="compute", row_tiles=(64,),
                    tiles=(8, 32)),
        ),
        "gpu.level-between",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(CASES))
def test_models_enumeration_and_brute_force_are_one_set(name: str) -> None:
    space = CASES[name].space
    everything = universe(space)
    schedules = {everything.schedule(choice) for choice in everything.choices()}
    verdicts = {s: verify(space.pipeline, s, space.device) for s in schedules}
    legal = {s for s, verdict in verdicts.items() if verdict}
    # The universe is not trivial: it has many members, legal and not, and the tested rule matters.
    assert len(schedules) >= 50
    assert 0 < len(legal) < len(schedules)
    alone = [v for v in verdicts.values() if {x.rule for x in v.violations} == {CASES[name].rule}]
    assert alone
    listed = list(space)
    assert len(set(listed)) == len(listed)
    assert set(listed) == legal
    found = models(encode(everything, space.device), seconds=120)
    assert found.end == "all"
    assert {everything.schedule(choice) for choice in found.choices} == legal
