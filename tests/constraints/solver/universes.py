"""Small universes, with sliding windows, folding, vectors and kernels in them."""

from __future__ import annotations

from functools import cache

from attrs import evolve

from spaces.constraints.devices.device import device
from spaces.constraints.examples import algorithms
from spaces.constraints.legality.verify import verify
from spaces.constraints.solver.universe import Assignment, Decision, Universe
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives, schedule
from spaces.model.schedules.schedule import INLINE, ROOT, LoopLevel, Schedule
from tests.draw_counts import some


def _level(text: str) -> LoopLevel:
    if text in ("inline", "root"):
        return INLINE if text == "inline" else ROOT
    return LoopLevel(*text.split("."))


def _placed(directives: Directives, func: str, choice: Assignment) -> Directives:
    entry = directives.schedule.of(func)
    levels = {
        part: _level(str(choice[f"{func} {part}"]))
        for part in ("compute", "store")
        if f"{func} {part}" in choice
    }
    levels.setdefault("store", levels["compute"])
    placed = directives.schedule.replace(evolve(entry, **levels))
    return evolve(directives, schedule=placed, selected=func, stage=0)


def two_stages() -> Universe:
    """Blur: tiles or rows, on CPU or GPU, with bx at any level, legal or not."""
    pipeline = algorithms.blur()
    levels = ("inline", "root", "by.y", "by.x", "by.yi")

    def structure(choice: Assignment) -> Schedule:
        d = schedule(pipeline)
        match choice["by order"]:
            case "tiles":
                d = d.tile("x", "y", "xi", "yi", "tx", "ty")
            case "parallel tiles":
                d = d.tile("x", "y", "xi", "yi", "tx", "ty").parallel("y")
            case "blocks":
                d = d.gpu_tile("x", "y", "xi", "yi", "tx", "ty")
            case "vectors":
                d = d.vectorize("x", "tx")
        d = _placed(d, "bx", choice)
        match choice["bx loops"]:
            case "vectors":
                d = d.vectorize("x", "vx")
            case "threads":
                d = d.gpu_threads("x", "y")
            case "folded":
                d = d.fold_storage("y", "vx")
        return d.schedule

    return Universe(
        pipeline,
        (
            Decision("by order", "by", ("rows", "tiles", "parallel tiles", "blocks", "vectors")),
            Decision("tx", "by", (4, 32)),
            Decision("ty", "by", (2, 31)),
            Decision("bx compute", "bx", levels),
            Decision("bx store", "bx", ("inline", "root", "by.y", "by.x")),
            Decision("bx loops", "bx", ("serial", "vectors", "threads", "folded")),
            Decision("vx", "bx", (2, 8)),
        ),
        structure,
    )


def three_stages() -> Universe:
    """A chain: the compute levels of two producers, and the store level of one."""
    pipeline = algorithms.chain()

    def structure(choice: Assignment) -> Schedule:
        d = schedule(pipeline)
        match choice["c order"]:
            case "strips":
                d = d.split("y", "y", "yi", "tc").parallel("y")
            case "blocks":
                d = d.gpu_tile("x", "xi", "tc").gpu_blocks("y")
        d = _placed(d, "b", choice)
        if choice["b loops"] == "threads":
            d = d.gpu_threads("x")
        return _placed(d, "a", choice).schedule

    return Universe(
        pipeline,
        (
            Decision("c order", "c", ("strips", "blocks")),
            Decision("tc", "c", (8, 1024)),
            Decision("b compute", "b", ("inline", "root", "c.y", "c.yi", "c.x", "c.xi")),
            Decision("b loops", "b", ("serial", "threads")),
            Decision("a compute", "a", ("inline", "root", "c.y", "c.x", "b.y", "b.x")),
            Decision("a store", "a", ("inline", "root", "c.y", "c.x", "b.y")),
        ),
        structure,
    )


def updates() -> Universe:
    """Sums whose loops may be reordered, split, and run concurrently."""
    pipeline: Pipeline = algorithms.total()

    def structure(choice: Assignment) -> Schedule:
        d = schedule(pipeline)
        if choice["out order"] == "parallel":
            d = d.parallel("y")
        d = _placed(d, "s", choice).update(0)
        match choice["s update"]:
            case "split":
                d = d.split("r.x", "ro", "ri", "f")
            case "rounded":
                d = d.split("r.x", "ro", "ri", "f", "round_up")
            case "parallel":
                d = d.reorder("x", "y", "r.x", "r.y").parallel("y")
            case "racing":
                d = d.parallel("r.y")
            case "unrolled":
                d = d.reorder("r.y", "r.x").unroll("r.x")
        return d.schedule

    kinds = ("serial", "split", "rounded", "parallel", "racing", "unrolled")
    return Universe(
        pipeline,
        (
            Decision("out order", "out", ("serial", "parallel")),
            Decision("s compute", "s", ("inline", "root", "out.y", "out.x")),
            Decision("s update", "s", kinds),
            Decision("f", "s", (0, 1, 3)),
        ),
        structure,
    )


UNIVERSES = {"two stages": two_stages, "three stages": three_stages, "updates": updates}


@cache
def verdicts(name: str, on: str) -> dict[frozenset, bool]:
    """Brute force: for the choices of a universe that this run tests, whether the schedule of each
    is legal on a device.
    """
    universe, target = UNIVERSES[name](), device(on)
    schedules = {frozenset(c.items()): universe.schedule(c) for c in some(universe.choices())}
    # Where a number has no effect, several choices give one schedule.
    legal = {s: verify(universe.pipeline, s, target).legal for s in {*schedules.values()}}
    return {choice: legal[one] for choice, one in schedules.items()}
