"""Directives drawn blindly: what is written rarely makes sense, and must be told so in words."""

from __future__ import annotations

import random
from typing import Any

from spaces import Directives, MemoryType, Pipeline, Schedule, Tail, schedule

_NAMES = ("x", "y", "xi", "yi", "xo", "r.x", "t")
_ONE_LOOP = ("serial", "parallel", "vectorize", "unroll", "parallel", "vectorize")


def wild_schedule(rng: random.Random, pipeline: Pipeline, gpu: bool) -> Schedule:
    """A few random directives on random stages, most of them about loops that exist."""
    names = [f.name for f in pipeline.functions]
    directives = schedule(pipeline)
    for _ in range(rng.choice((1, 2, 3, 4, 5, 6, 8))):
        directives = directives.func(rng.choice(names))
        updates = len(directives.schedule.of(directives.selected).stages) - 1
        if updates and rng.random() < 0.5:
            directives = directives.update(rng.randrange(updates))
        directives = _directive(rng, directives, names, gpu)
    return directives.schedule


def _directive(
    rng: random.Random, directives: Directives, names: list[str], gpu: bool
) -> Directives:
    entry = directives.schedule.of(directives.selected)
    own = [loop.name for loop in entry.stages[directives.stage].loops]

    def loop() -> str:
        return rng.choice(own) if own and rng.random() < 0.93 else rng.choice(_NAMES)

    factor: Any = rng.choice((1, 2, 3, 4, 4, 5, 8, 0, 16)) if rng.random() < 0.98 else "t_x"
    tail = rng.choice(list(Tail))
    kinds = ("gpu_blocks", "gpu_threads", "gpu_tile") if gpu else _ONE_LOOP
    form = rng.choice(("split", "split", "fuse", "reorder", "tile", "kind", "kind", "at", "store"))
    match form:
        case "split":
            old = loop()
            return directives.split(old, old, rng.choice(("xi", "yi", "w")), factor, tail)
        case "fuse":
            return directives.fuse(loop(), loop(), "t")
        case "reorder":
            count = rng.randint(1, max(1, len(own)))
            return directives.reorder(*rng.sample(own or ["x"], min(count, len(own) or 1)))
        case "tile":
            return directives.tile(loop(), loop(), "xi", "yi", factor, factor, tail)
        case "kind":
            kind = rng.choice((*kinds, *kinds, "serial", "parallel", "vectorize", "unroll"))
            if kind == "gpu_tile":
                return directives.gpu_tile(loop(), "xi", factor)
            return getattr(directives, kind)(loop())  # type: ignore[no-any-return]
        case "store":
            return _storage(rng, directives, names, loop())
    level = rng.choice(("root", "inline", "at", "at", "at"))
    if level == "root":
        return directives.compute_root()
    if level == "inline":
        return directives.compute_inline()
    return directives.compute_at(*_some_loop(rng, directives, names))


def _storage(rng: random.Random, directives: Directives, names: list[str], loop: str) -> Directives:
    match rng.randrange(4):
        case 0:
            return directives.store_in(rng.choice(list(MemoryType)))
        case 1:
            return directives.fold_storage(loop, rng.choice((1, 2, 3, 4, 8)))
        case 2:
            return directives.store_root()
    return directives.store_at(*_some_loop(rng, directives, names))


def _some_loop(rng: random.Random, directives: Directives, names: list[str]) -> tuple[str, str]:
    func = rng.choice(names)
    loops = [n.name for order in directives.schedule.of(func).stages for n in order.loops]
    return func, rng.choice(loops or list(_NAMES))
