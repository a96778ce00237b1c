"""Funcs that directives add, drawn before anything is scheduled."""

from __future__ import annotations

import random

from spaces.model.derive import derived
from spaces.model.directives import Directives, schedule
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Clone, Wrap

_SHARE = 0.25
"""Of schedules that add Funcs."""


def with_funcs_added(rng: random.Random, pipeline: Pipeline) -> Directives:
    """The default schedule, in a part of cases with wrappers and clones of what is read."""
    directives = schedule(pipeline)
    if rng.random() >= _SHARE:
        return directives
    for _ in range(rng.choice((1, 1, 2))):
        whole = derived(pipeline, directives.schedule)
        read = {name: whole.consumers(name) for name in whole.is_image}
        name = rng.choice([name for name, readers in read.items() if readers])
        readers = read[name]
        some = tuple(rng.sample(readers, rng.randint(1, len(readers))))
        if rng.random() < 0.25:
            step: Wrap | Clone = Wrap(name)
        elif len(some) < len(readers) and not whole.is_image[name]:
            step = rng.choice((Wrap(name, some), Clone(name, some)))
        else:
            step = Wrap(name, some)
        if step.name not in whole.is_image:
            directives = directives.derive(step)
    return directives
