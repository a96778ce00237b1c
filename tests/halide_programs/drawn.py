"""Random pipelines with schedules that Halide takes."""

from __future__ import annotations

import random
from collections.abc import Iterator

from spaces import Pipeline, Schedule
from spaces.backend.halide import bridge
from spaces.backend.halide.errors import HalideFailure
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import subject
from tests.draw_counts import examples
from tests.halide_programs.round_trip import as_halide_keeps_it


def drawn_schedules(
    seed: str, kind: str, number: int, fewest: int
) -> Iterator[tuple[Pipeline, Schedule]]:
    """Pipelines of a kind as Halide keeps them, each with a schedule for this CPU. Halide refuses
    some schedules when they are made; these are left out of the ``number`` that are drawn.
    """
    rng = random.Random(f"{seed} {kind}")
    for _ in range(examples(number, fewest)):
        pipeline = as_halide_keeps_it(subject(rng, kind).pipeline)
        schedule = cpu_schedule(rng, pipeline)
        try:
            bridge.build(pipeline, schedule)
        except HalideFailure:
            continue
        yield pipeline, schedule
