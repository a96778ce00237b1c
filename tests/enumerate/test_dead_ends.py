"""Why spaces are empty that no universe holds, and half-decided schedules have no completion."""

from __future__ import annotations

import pytest
from attrs import evolve

import spaces
from spaces import Options, PartialPredicate, Schedule, ScheduleSpace, explain_empty, verify
from spaces.constraints.solver.emptiness import Emptiness
from spaces.enumerate.space.completing.dead_ends import explain_dead_ends
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import blur, copied, line, two_outputs

GPU = spaces.device("sm_80")
FEW = Options(root=("strips",), row_tiles=(16,), tiles=(4, 64), lanes=(1,))
LOOPS = Options(
    root=("loops",), inner=("loops",), directives=("vectorize",), splits=0, placements=("root",)
)


def reasons(found: Emptiness) -> list[str]:
    """The rules and restrictions that exclude everything together."""
    assert (found.answer, found.minimal) == ("empty", True)
    return [str(label) for label in found.rules]


def has_threads(schedule: Schedule) -> bool:
    """A restriction that no schedule of a CPU satisfies."""
    return any(loop.kind.is_gpu for entry in schedule.funcs for loop in entry.stages[0].loops)


def test_loops_decided_one_by_one_are_explained() -> None:
    """The row of 30 values is a serial loop, or a vector that no register holds."""
    space = ScheduleSpace(line(30), FOUR_CORES, LOOPS)
    serial, vector = space.structures()
    broken = verify(space.pipeline, vector.at(0), FOUR_CORES).violations
    assert (len(list(space)), len(broken)) == (1, 1)
    wide = evolve(space, where=["lanes(f) > 1"])
    assert set(reasons(explain_empty(wide))) == {
        f"{broken[0].rule} of f",
        "where lanes(f) > 1 of f",
    }
    assert serial.schedule.of("f").stages[0].loops[0].kind.value == "serial"


@pytest.mark.parametrize("directive", some(["in_", "clone_in", "compute_with", "hoist_storage"]))
def test_spaces_are_explained_whatever_they_decide(directive: str) -> None:
    pipeline = copied(64) if directive == "in_" else two_outputs(64)
    space = ScheduleSpace(pipeline, FOUR_CORES, evolve(FEW, directives=(directive,)))
    assert explain_empty(space, seconds=60).answer == "inhabited"
    none = evolve(space, where=["parallel_tasks >= 100000"])
    found = explain_empty(none, seconds=60)
    assert [one.rule for one in found.rules] == ["where parallel_tasks >= 100000"]
    assert found.answer == "empty"


@pytest.mark.parametrize("predicate", [has_threads, PartialPredicate(has_threads)])
def test_a_python_restriction_is_a_reason_with_its_name(predicate: object) -> None:
    space = ScheduleSpace(line(64), FOUR_CORES, FEW, where=[predicate])
    found = explain_empty(space)
    assert reasons(found) == [f"where has_threads of {space.pipeline.name}"]
    assert "where has_threads: a restriction of this space." in str(found)


def test_a_given_entry_is_a_reason_whatever_the_rest_is() -> None:
    """A CPU has no blocks, and the walk need not decide about the reader first."""
    pipeline = blur()
    text = "blur_x.compute_root().gpu_blocks(x)"
    fixed = spaces.parse_partial(text, pipeline)
    whole = spaces.parse_schedule(text, pipeline)
    (broken,) = verify(pipeline, whole, FOUR_CORES).violations
    space = ScheduleSpace(pipeline, FOUR_CORES, fixed=fixed)
    assert reasons(explain_empty(space)) == [f"{broken.rule} of blur_x"]


def test_a_partial_schedule_is_explained() -> None:
    """Blocks of 64 x 32 threads are too large, whatever else is decided."""
    options = Options(
        root=("blocks",), inner=("serial",), row_tiles=(32, 64), tiles=(16, 32), storage="compute"
    )
    space = ScheduleSpace(blur(), GPU, options)
    assert explain_empty(space.start(), seconds=60).answer == "inhabited"
    structure = next(space.structures())
    large = structure.at(structure.size - 1)
    way = space.way_to(large)
    assert "2048" in str(space.verdict(large))
    half = next(one for one in way if len(one.state.numbers) == 2)
    assert reasons(explain_empty(half, seconds=60)) == ["gpu.threads-per-block of blur_y"]
    assert explain_empty(way[-1]).answer == "empty"
    legal = next(iter(space))
    assert all(explain_empty(one, seconds=60).answer == "inhabited" for one in space.way_to(legal))


def test_the_walk_and_the_solver_agree_about_patterns() -> None:
    """Both find that blocks of 64 x 32 threads leave no legal choice; the size is named."""
    options = Options(root=("blocks",), placements=("inline",), row_tiles=(16, 64), tiles=(4, 32))
    space = ScheduleSpace(blur(), GPU, options, where=["threads(blur_y) >= 2000"])
    by_solver = explain_empty(space, seconds=60)
    by_walk = explain_dead_ends(space.start(), seconds=60)
    assert set(reasons(by_walk)) == set(reasons(by_solver))
    assert len(by_walk.rules) == 2


def test_a_further_size_is_named() -> None:
    long = spaces.parse_partial("f.split(x, x, xi, 64)", line(100))
    space = ScheduleSpace(line(100), FOUR_CORES, LOOPS, fixed=long, sizes=[{"f": [8]}])
    (reason,) = reasons(explain_empty(space))
    assert reason.endswith(" of f at f = 8")


def test_without_one_of_the_reasons_a_schedule_is_left() -> None:
    """Two restrictions contradict each other; a third one and the rules are not needed."""
    where = ["lanes(f) > 1", "lanes(f) <= 1", "total_bytes >= 0"]
    space = ScheduleSpace(line(32), FOUR_CORES, LOOPS, where=where)
    assert set(reasons(explain_empty(space))) == {
        f"{one} of f" for one in ("where lanes(f) > 1", "where lanes(f) <= 1")
    }


def test_a_walk_that_takes_too_long_is_unknown(clock: Clock) -> None:
    clock.step = 1e-3
    space = ScheduleSpace(blur(), FOUR_CORES, where=["lanes(blur_x) >= 4096"])
    found = explain_dead_ends(space.start(), seconds=0.2)
    assert (found.answer, found.rules) == ("unknown", ())
    hinted = explain_empty(space, seconds=20)
    assert hinted.answer == "unknown"
    assert "of whole patterns alone" in str(hinted)


def test_what_is_blamed_first_and_not_needed_is_left_out() -> None:
    """The first restriction excludes the serial loop alone, and the second one both structures."""
    where = ["lanes(f) > 1", "parallel_tasks > 1000"]
    space = ScheduleSpace(line(32), FOUR_CORES, LOOPS, where=where)
    assert [one.rule for one in explain_empty(space).rules] == ["where parallel_tasks > 1000"]
