"""Uses of `compute_with` that are illegal, and neighbors that are legal."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu
from spaces.model.directives.directives import schedule
from spaces.model.schedules.schedule import StageOf

SLOPES = schedule(algorithms.slopes())
_both = schedule(algorithms.updated_slopes()).func("dy").compute_root().func("dx").compute_root()
_dx = SLOPES.func("dy").compute_root().func("dx").compute_root()

EXAMPLES = (
    on_cpu(
        "with.func",
        _dx.compute_with("dy", "x").func("dy").compute_with("dx", "x"),
        _dx.compute_with("dy", "x"),
    ),
    on_cpu(
        "with.loops",
        _dx.parallel("y").compute_with("dy", "x"),
        _dx.parallel("y").func("dy").parallel("y").compute_with("dx", "x"),
    ),
    on_cpu(
        "with.level",
        _dx.func("dy").compute_at("out", "y").compute_with("dx", "x"),
        _dx.compute_with("dy", "x"),
    ),
    on_cpu(
        "with.dependent",
        _dx.func("steep").compute_root().compute_with("dx", "x"),
        _dx.func("steep").compute_root().compute_with("dy", "x"),
    ),
    on_cpu(
        "with.order",
        _both.compute_with(StageOf("dy", 1), "y").update(0).compute_with("dy", "y"),
        _both.compute_with("dy", "y").update(0).compute_with(StageOf("dy", 1), "y"),
    ),
    on_cpu(
        "with.stages",
        _both.compute_with("dy", "y").update(0).compute_with("dy", "y", "align_end"),
        _both.compute_with("dy", "y").update(0).compute_with("dy", "x"),
    ),
)
