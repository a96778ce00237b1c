"""Upper limits of loop-by-loop spaces against all schedules that the process lists."""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import Device, device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.process.order_counts import fuses
from spaces.enumerate.space.process.topics.factors import factors_for, most_divisors, most_factors
from spaces.enumerate.space.space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.schedule import LoopAlign
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, copied, gated, line, row_sums, two_outputs

GPU = device("sm_80")


def options(
    pattern: str, splits: int, *directives: str, tails: tuple[Tail, ...] = (Tail.AUTO,), **more
) -> Options:
    """Loop by loop, with a menu of two factors."""
    return Options(
        root=(pattern,),
        inner=(pattern,),
        directives=directives,
        splits=splits,
        tails=tails,
        small_factors=1,
        equal_parts=1,
        largest_factor=2,
        **more,
    )


def listed(space: ScheduleSpace) -> int:
    """The number of schedules that the process lists, legal or not."""
    return sum(structure.size for structure in space.structures())


TAILS = (Tail.AUTO, Tail.ROUND_UP, Tail.GUARD_WITH_IF)
EXACT = {
    "splits of splits": (line(), FOUR_CORES, options("loops", 2, "split")),
    "kinds": (line(), FOUR_CORES, options("loops", 1, "split", "parallel", "unroll", tails=TAILS)),
    "fuses": (line(), FOUR_CORES, options("loops", 2, "split", "fuse")),
    "specializations": (
        gated(),
        FOUR_CORES,
        options("loops", 1, "split", "unroll", "specialize", specializations=2),
    ),
    "storage": (line(16), FOUR_CORES, options("loops", 0, "bound", "align_bounds")),
    "blocks": (line(), GPU, options("loops", 1, "split", "gpu_blocks", "gpu_single_thread")),
    "nests": (line(), FOUR_CORES, options("nests", 2, "split", "parallel")),
    "nests on a GPU": (line(), GPU, options("nests", 1, "split", "gpu_blocks", "gpu_threads")),
}


@pytest.mark.parametrize("case", EXACT.values(), ids=EXACT)
def test_the_limit_of_one_stage_is_its_number(case: tuple[Pipeline, Device, Options]) -> None:
    space = ScheduleSpace(*case)
    assert space.candidates == listed(space)


LIMITED = {
    "storage": (blur(), FOUR_CORES, options("loops", 0, "hoist_storage", "store_in", "vectorize")),
    "wrappers": (copied(4096), FOUR_CORES, options("loops", 0, "in_", "parallel", "unroll")),
    "wrapped stages": (
        blur(),
        FOUR_CORES,
        options("loops", 0, "in_", placements=("at",), storage="compute"),
    ),
    "together": (
        two_outputs(),
        FOUR_CORES,
        options("loops", 0, "compute_with", placements=("root",), alignments=tuple(LoopAlign)),
    ),
    "bounds of storage": (blur(), FOUR_CORES, options("loops", 0, "bound_storage", "unroll")),
    "specialized stages": (
        blur(),
        FOUR_CORES,
        options("loops", 0, "specialize", placements=("inline", "at"), storage="compute"),
    ),
    "updates": (row_sums(), FOUR_CORES, options("loops", 0, "atomic", "parallel", "fuse")),
    "nests": (blur(), FOUR_CORES, options("nests", 1, "split")),
    "patterns at loops": (
        blur(),
        FOUR_CORES,
        Options(root=("loops",), splits=0, row_tiles=(8,), tiles=(8,), directives=("unroll",)),
    ),
}


@pytest.mark.parametrize("case", LIMITED.values(), ids=LIMITED)
def test_limits_of_several_stages_hold(case: tuple[Pipeline, Device, Options]) -> None:
    space = ScheduleSpace(*case)
    assert 0 < listed(space) <= space.candidates


def test_fuses_of_three_loops() -> None:
    """Three loops: a pair of six, then the rest with it on either side."""
    assert [fuses(3, loops) for loops in (2, 1)] == [6, 12]


@pytest.mark.parametrize(
    ("limit", "divisors"), [(1, 1), (11, 4), (12, 6), (100, 12), (10_000, 64), (1_000_000, 240)]
)
def test_the_most_divisors_up_to_a_limit(limit: int, divisors: int) -> None:
    """Those of 1, 6, 12, 60, 7560 and 720720 [OEIS A002182]."""
    assert most_divisors(limit) == divisors


@pytest.mark.parametrize("device", [FOUR_CORES, GPU], ids=lambda device: device.name)
def test_menus_of_smaller_extents_are_no_longer_than_their_limit(device: Device) -> None:
    function, longest = line().function("f"), 0
    for choices in (Options(), options("loops", 1), Options.everything(device)):
        for extent in range(1, 300):
            longest = max(longest, len(factors_for(choices, device, function, extent)))
            assert longest <= most_factors(choices, device, function, extent)
        assert longest <= most_factors(choices, device, function, None)
        longest = 0
