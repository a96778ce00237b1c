"""What a search for a GPU found, ranked again by the compiler's registers and spills."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import spaces
from spaces import Batch, CudaUnavailable, Found, KernelResources, rank_by_compiler
from spaces.backend.cuda.compiled_apart import resources_within
from spaces.backend.cuda.errors import CudaCompileError
from spaces.backend.cuda.nvrtc import available_archs
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.tuning import compiler_ranking
from tests.backend.cuda.texts import SAXPY_TEXT
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

GPU = spaces.device("sm_90")
SPACE = spaces.ScheduleSpace(blur(), GPU)

try:
    MISSING = "" if available_archs() else "NVRTC compiles for nothing"
except CudaUnavailable as error:
    MISSING = str(error)


def _found(width: int, height: int, cost: float) -> Found:
    text = f"blur_y.gpu_tile(x, y, xi, yi, {width}, {height})"
    return Found(cost, spaces.parse_schedule(text, SPACE.pipeline))


CHEAP, DEAR, LATE = _found(32, 8, 1.0), _found(64, 8, 2.0), _found(128, 8, 3.0)


def _counted(registers: int, spilled: int) -> Mapping[str, KernelResources]:
    return {"blur_y_kernel": KernelResources(registers, 0, spilled, spilled, spilled)}


def test_schedules_that_spill_come_after_those_that_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first spills, the second does not, and the compiler refuses the third."""
    answers = iter([_counted(64, 400), _counted(32, 0), None])

    def answered(*_: object) -> Mapping[str, KernelResources]:
        answer = next(answers)
        if answer is None:
            raise CudaCompileError("no", log="")
        return answer

    monkeypatch.setattr(compiler_ranking, "resources_within", answered)
    ranked = rank_by_compiler(SPACE, [CHEAP, DEAR, LATE], "roofline")
    assert [one.found for one in ranked] == [DEAR, CHEAP, LATE]
    assert [one.spilled_bytes for one in ranked] == [0, 400, 0]
    assert ranked[-1].kernels is None


def test_what_has_no_kernel_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """All its loops run on the CPU: it is not behind schedules whose threads spill."""
    plain = Found(1.5, spaces.Schedule.default(SPACE.pipeline))
    answers = iter([_counted(64, 400)])
    monkeypatch.setattr(compiler_ranking, "resources_within", lambda *_: next(answers))
    ranked = rank_by_compiler(SPACE, [CHEAP, plain], "roofline")
    assert [one.found for one in ranked] == [plain, CHEAP]
    assert ranked[0].kernels == {}


def test_costs_count_the_registers_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([_counted(255, 0), _counted(32, 0)])
    monkeypatch.setattr(compiler_ranking, "resources_within", lambda *_: next(answers))
    ranked = rank_by_compiler(SPACE, [CHEAP, DEAR])
    assert [one.found.schedule for one in ranked] == [DEAR.schedule, CHEAP.schedule]
    model = OccupancyModel.of(GPU).with_registers({("blur_y", 0): 255})
    batch = Batch.of(SPACE.pipeline, CHEAP.schedule)
    assert (
        ranked[1].found.cost == float(model.cost(batch)) > float(OccupancyModel.of(GPU).cost(batch))
    )


def test_what_has_no_time_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> Mapping[str, KernelResources]:
        raise TimeoutError

    monkeypatch.setattr(compiler_ranking, "resources_within", late)
    ranked = rank_by_compiler(SPACE, [CHEAP, DEAR], seconds=1e-9)
    assert [one.found for one in ranked] == [CHEAP, DEAR]


def test_it_is_for_gpus() -> None:
    with pytest.raises(ValueError, match="rank_by_compiler is for GPUs"):
        rank_by_compiler(spaces.ScheduleSpace(blur(), FOUR_CORES), [])


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_the_compiler_counts_in_a_process_of_its_own() -> None:
    counted = resources_within(SAXPY_TEXT, "sm_90", 60.0)
    assert 4 <= counted["saxpy_kernel"].registers <= 64
    with pytest.raises(CudaCompileError, match="does not compile"):
        resources_within("nonsense", "sm_90", 60.0)
    with pytest.raises(TimeoutError, match="takes more than"):
        resources_within(SAXPY_TEXT, "sm_90", 0.01)
