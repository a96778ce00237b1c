"""Funcs that directives add, drawn before anything is scheduled."""

from __future__ import annotations

import random

from spaces import Directives, Pipeline, derived, schedule
from spaces.model.schedules.derivations import Clone, Wrap
from spaces.model.schedules.reductions.accumulation import accumulation

_SHARE, _FACTORED = 0.25, 0.4
"""Of schedules that add Funcs, and of reductions that are factored."""

_ADDING = frozenset(("directive: in", "directive: in of all", "directive: clone_in"))


def _factored(rng: random.Random, directives: Directives) -> Directives:
    """An update that accumulates along RVars, factored along some of them, or along parts."""
    found = [
        (function, index)
        for function in directives.pipeline.functions
        for index, stage in enumerate(function.stages)
        if stage.rvars and accumulation(function, index)
    ]
    if not found:
        return directives
    function, index = rng.choice(found)
    stage = directives.func(function.name).update(index - 1)
    loops = [r.name for r in function.stages[index].rvars]
    name = rng.choice(loops)
    if rng.random() < 0.5:
        factor = rng.choice((1, 2, 3, 4))
        stage = stage.split(name, "ro", "ri", factor)
        name = rng.choice(("ro", "ri"))
    others = stage.schedule.of(function.name).stages[index].names
    more = [loop for loop in loops if loop in others and loop != name and rng.random() < 0.3]
    pairs = [(loop, var) for loop, var in zip((name, *more), ("u", "v", "w"), strict=False)]
    return stage.rfactor(pairs)


def with_funcs_added(
    rng: random.Random, pipeline: Pipeline, aims: frozenset[str] = frozenset()
) -> Directives:
    """The default schedule, in a part of cases with wrappers and clones of what is read, and with
    reductions in two steps.
    """
    directives = schedule(pipeline)
    if rng.random() < _FACTORED or "directive: rfactor" in aims:
        directives = _factored(rng, directives)
    if rng.random() >= _SHARE and not aims & _ADDING:
        return directives
    for _ in range(rng.choice((1, 1, 2))):
        whole = derived(pipeline, directives.schedule)
        read = {name: whole.consumers(name) for name in whole.is_image}
        names = [name for name, readers in read.items() if readers]
        shared = [n for n in names if len(read[n]) > 1 and not whole.is_image[n]]
        if not names:
            return directives
        cloned = "directive: clone_in" in aims and shared
        name = rng.choice(shared if cloned else names)
        readers = read[name]
        some = tuple(rng.sample(readers, rng.randint(1, len(readers) - bool(cloned))))
        if cloned:
            step: Wrap | Clone = Clone(name, some)
        elif rng.random() < (0.9 if "directive: in of all" in aims else 0.25):
            step = Wrap(name)
        elif len(some) < len(readers) and not whole.is_image[name]:
            step = rng.choice((Wrap(name, some), Clone(name, some)))
        else:
            step = Wrap(name, some)
        if step.name not in whole.is_image:
            directives = directives.derive(step)
    return directives
