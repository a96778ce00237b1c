"""Small universes, decided loop by loop: all schedules of the process, each verified whole, against
what a space lists, counts and draws.
"""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.schedule import LoopAlign
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import (
    blur,
    copied,
    equalized,
    gated,
    line,
    planes,
    row_sums,
    shuffled,
    switched,
    two_outputs,
)

GPU = device("sm_80")


def options(
    pattern: str, *directives: str, splits: int = 0, tails: tuple[Tail, ...] = (Tail.AUTO,), **more
) -> Options:
    """Loop by loop, with few factors."""
    return Options(
        root=(pattern,),
        inner=(pattern,),
        directives=directives,
        splits=splits,
        tails=tails,
        small_factors=1,
        equal_parts=1,
        row_tiles=(1,),
        tiles=(1,),
        **{"largest_factor": 4, "folds": (2, 4), **more},
    )


def patterns(*directives: str, **more) -> Options:
    """Whole patterns and further directives."""
    few = {"root": ("strips",), "row_tiles": (16,), "tiles": (4, 64), "lanes": (1,)}
    return Options(directives=directives, **{**few, **more})


UNIVERSES = {
    "vectors and unrolled loops of one stage": (
        line(12), FOUR_CORES,
        options("loops", "split", "vectorize", "unroll", splits=1, largest_factor=16),
    ),
    "tails": (
        line(6), FOUR_CORES,
        options("loops", "split", "vectorize", splits=1, tails=tuple(Tail), largest_factor=8),
    ),
    "splits of splits": (
        line(40), FOUR_CORES,
        options("nests", "split", "vectorize", splits=2, largest_factor=2),
    ),
    "fuses": (
        blur(8, 8), FOUR_CORES,
        options("loops", "fuse", "vectorize", placements=("inline",)),
    ),
    "sliding windows": (blur(64, 8), FOUR_CORES, options("loops", "vectorize", placements=("at",))),
    "folds": (
        blur(64, 8), FOUR_CORES, options("nests", "fold_storage", placements=("at",)),
    ),
    "bounds of storage": (
        blur(64, 8), FOUR_CORES, options("nests", "bound_storage", placements=("at",)),
    ),
    "storage": (
        blur(64, 8), FOUR_CORES,
        options("nests", "hoist_storage", "store_in", placements=("at",)),
    ),
    "values kept for later calls": (
        shuffled(16), FOUR_CORES, options("nests", "memoize", "vectorize", "hoist_storage"),
    ),
    "bounds": (line(8), FOUR_CORES, options("loops", "bound", "align_bounds", "vectorize")),
    "an update": (row_sums(16, 8), FOUR_CORES, options("loops", "parallel", placements=("root",))),
    "a vectorized reduction": (
        row_sums(16, 8), FOUR_CORES, options("nests", "vectorize", "atomic", placements=("root",)),
    ),
    "a scatter and a scan": (
        equalized(8), FOUR_CORES, options("loops", "parallel", placements=("root",)),
    ),
    "specializations": (
        gated(12), FOUR_CORES,
        options("loops", "parallel", "vectorize", "specialize", specializations=2),
    ),
    "specialized stages": (
        shuffled(16), FOUR_CORES, options("loops", "vectorize", "specialize"),
    ),
    "conditions that limit a parameter": (
        switched(), FOUR_CORES,
        options("loops", "specialize", "bound_storage", placements=("root",), folds=(64,)),
    ),
    "fused stages": (
        two_outputs(16), FOUR_CORES,
        options("nests", "compute_with", "vectorize", placements=("root",)),
    ),
    "aligned stages": (
        planes(16), FOUR_CORES,
        options(
            "nests", "compute_with", "vectorize",
            placements=("root",), alignments=(LoopAlign.ALIGN_START,),
        ),
    ),
    "stages aligned loop by loop": (
        planes(16), FOUR_CORES,
        options(
            "nests", "compute_with", "vectorize",
            placements=("root",), alignments=(LoopAlign.AUTO, LoopAlign.ALIGN_END),
        ),
    ),
    "an index that reads a Func": (
        shuffled(16), FOUR_CORES, options("loops", "vectorize"),
    ),
    "an index that reads a wrapper": (
        shuffled(16), FOUR_CORES,
        options("loops", "in_", "vectorize", placements=("inline", "root")),
    ),
    "wrappers": (copied(16), FOUR_CORES, options("loops", "in_", "vectorize")),
    "whole patterns and storage": (
        blur(64, 8), FOUR_CORES, patterns("hoist_storage", "store_in"),
    ),
    "whole patterns and bounds": (
        line(48), FOUR_CORES, patterns("bound", "align_bounds", row_tiles=(16, 64)),
    ),
    "whole patterns and wrappers": (
        copied(64), FOUR_CORES, patterns("in_", row_tiles=(64, 128)),
    ),
    "whole patterns and clones": (
        two_outputs(16), FOUR_CORES,
        patterns("clone_in", placements=("root", "at"), storage="compute"),
    ),
    "blocks and threads": (
        line(64), GPU,
        options("loops", "split", "gpu_blocks", "gpu_threads", splits=1, largest_factor=32),
    ),
    "single threads": (
        line(64), GPU, options("nests", "gpu_single_thread", "gpu_blocks", "gpu_threads"),
    ),
    "shared memory": (
        blur(8, 8), GPU,
        options("nests", "gpu_blocks", "gpu_threads", placements=("at",)),
    ),
    "updates on a GPU": (
        row_sums(16, 8), GPU, options("nests", "gpu_blocks", "gpu_threads", placements=("root",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(UNIVERSES))
def test_a_space_lists_the_schedules_that_are_legal_alone(name: str) -> None:
    space = ScheduleSpace(*UNIVERSES[name])
    schedules = [s.at(index) for s in space.structures() for index in range(s.size)]
    legal = [s for s in schedules if verify(space.pipeline, s, space.device)]
    assert 0 < len(legal) < len(schedules)
    assert list(space) == legal
    place = len(legal) // 4  # to find a rank takes as long as to list all before it
    assert space.rank(legal[place]) == place
    known = set(legal)
    assert next(s for s in schedules if s not in known) not in space
