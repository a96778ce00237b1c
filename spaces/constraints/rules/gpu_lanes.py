"""Rules about loops whose threads are lanes of a warp."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.gpu_kernels import GUIDE, kernels_of
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, check, nest_rule, own_rule, refuse
from spaces.model.schedules.domain_order import Lanes, LoopKind


@own_rule(
    "gpu.lanes",
    "Lanes of a loop that is not the innermost thread loop of its stage are illegal, because a "
    "warp consists of threads that follow one another along x.",
    f"Warps are made of consecutive threads ({GUIDE}, SIMT architecture); Halide refuses others.",
)
def lanes(records: Records, func: str) -> Iterator[Check]:
    """One check for each such loop."""
    for index, order in enumerate(records.entry(func).stages):
        threads = [loop.name for loop in order.loops if loop.kind is LoopKind.GPU_THREAD]
        for one in order.lanes:
            if one.loop != threads[-1]:
                yield refuse(
                    func,
                    "{stage_name}.gpu_lanes({loop}) makes the threads of {loop} lanes of a warp, "
                    "but the thread loop {inner} lies inside {loop}.",
                    "Reorder the loops so that {loop} is the innermost thread loop, or write "
                    "{stage_name}.gpu_threads({loop}).",
                    stage=index,
                    loop=one.loop,
                    inner=threads[-1],
                )


@nest_rule(
    "gpu.lane-extent",
    "A loop of lanes with more iterations than a warp has threads is illegal, because the lanes of "
    "a loop are threads of one warp.",
    f"A warp has 32 threads ({GUIDE}, SIMT architecture); Halide refuses others.",
    threads=Quantity("most iterations of the loop of lanes", "threads"),
    limit=Quantity("threads of a warp of the device", "threads"),
)
def lane_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each loop of lanes in the Func's kernels."""
    for gpu, kernel in kernels_of(view, func):
        for threads in kernel.threads:
            order = view.nest.schedule.of(threads.func).stages[threads.stage]
            for loop, extent in zip(threads.loops, threads.extents, strict=True):
                if Lanes(loop.loop) in order.lanes and view.is_constant(extent):
                    yield check(
                        threads.func,
                        extent <= gpu.warp_threads,
                        "{directive} makes {threads} lanes; a warp of {device} has {limit} "
                        "threads.",
                        "Split {loop} by a factor of at most {limit}, and make the inner loop the "
                        "lanes.",
                        stage=threads.stage,
                        loop=loop.loop,
                        directive=f"{stage_name(threads.func, threads.stage)}.gpu_lanes"
                        f"({loop.loop})",
                        threads=extent,
                        device=gpu.name,
                        limit=gpu.warp_threads,
                    )


RULES = (lanes, lane_extent)
