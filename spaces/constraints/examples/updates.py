"""Updates that would change an element twice or concurrently, and neighbors that do not."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import POWERS, SUM
from spaces.model.directives.directives import schedule

NEAREST = schedule(algorithms.nearest())

EXAMPLES = (
    on_cpu(
        "order.repeated-update",
        POWERS.split("x", "x", "xi", 4).split("xi", "xi", "xj", 3, "round_up"),
        POWERS.split("x", "x", "xi", 4).split("xi", "xi", "xj", 3),
    ),
    on_cpu(
        "order.blend",
        SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend").parallel("x"),
        SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend").parallel("y"),
    ),
    on_cpu(
        "order.blend",
        SUM.split("x", "x", "xi", 4, "round_up_and_blend").parallel("xi"),
        SUM.split("x", "x", "xi", 4, "round_up_and_blend").vectorize("xi"),
        "accepted as a vector",
    ),
    on_cpu(
        "order.blend",
        SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend")
        .split("y", "y", "yi", 2)
        .parallel("x"),
        SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend")
        .split("y", "y", "yi", 2)
        .parallel("y"),
        "accepted along another Var that is split",
    ),
    on_cpu("race.atomic", POWERS.atomic(), SUM.atomic()),
    on_cpu("race.atomic", NEAREST.func("s").update(0).atomic(), NEAREST, "the best of several"),
)
