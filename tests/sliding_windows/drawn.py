"""Schedules that spaces and searches hand over, and random ones that store Funcs outside the loops
in which they are computed; each legal one with all its proofs.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

from attrs import field, frozen

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.enumerate.search.events import Done
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.syntax_error import ScheduleSyntaxError
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.search_runs.run import drawn as drawn_search
from tests.sliding_windows.moving import moving_pipeline
from tests.sliding_windows.storing import storing_schedule

SECONDS = 20.0
"""The time limit for all proofs about one schedule."""


@frozen
class DrawnSchedule:
    """A legal schedule, and what the prover says of it.

    Attributes:
        way: how it was drawn.
        text: its directives.
        proven, unknown: the numbers of obligations that hold, and that are undecided, by kind.
        refuted: the statements of those that fail, each with its counterexample.
        keeps: whether it keeps values from visit to visit.
    """

    way: str
    text: str
    proven: int = 0
    unknown: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    keeps: bool = field(default=False)


def drawn_schedules(seed: int, number: int) -> Iterator[DrawnSchedule]:
    """The legal schedules of draw ``number``: some of one random pipeline, in one way."""
    rng = random.Random(f"windows {seed} {number}")
    way = rng.choice(sorted(WAYS))
    target = rng.choice(("cpu", "cpu", "sm_80"))
    algorithm = moving_pipeline(rng) if rng.random() < 0.6 else drawn_search(seed, number).pipeline
    for schedule in WAYS[way](algorithm, target, rng):
        verdict = verify(algorithm, schedule, device(target))
        if isinstance(verdict, CheckedSchedule):
            yield _proven(f"{way} on {target}", verdict)


def _proven(way: str, verdict: CheckedSchedule) -> DrawnSchedule:
    report = prove(verdict, seconds=SECONDS)
    return DrawnSchedule(
        way,
        format_schedule(verdict.schedule, verdict.pipeline),
        len(report.proven),
        tuple(p.obligation.kind for p in report.unknown),
        tuple(f"{p.obligation.statement} {p.outcome}" for p in report.refuted),
        any(p.storage.slides for p in verdict.bounds.placements.values()),
    )


def _space(algorithm: Pipeline, target: str, rng: random.Random) -> ScheduleSpace:
    on = device(target)
    preset = rng.choice((Options.medium, Options.expert, Options.everything))
    return ScheduleSpace(algorithm, on, preset(on))


def _sampled(algorithm: Pipeline, target: str, rng: random.Random) -> Iterator[Schedule]:
    try:
        space = _space(algorithm, target, rng)
    except EmptySpaceError:
        return
    for draw in itertools.islice(space.draws(rng.randrange(1000)), 6):
        if draw.schedule is not None:
            yield draw.schedule


def _iterated(algorithm: Pipeline, target: str, rng: random.Random) -> Iterator[Schedule]:
    on = device(target)
    try:
        space = ScheduleSpace(algorithm, on, Options.small(on))
    except EmptySpaceError:
        return
    step = rng.randint(1, 40)
    yield from itertools.islice(space, 0, 4 * step, step)


def _searched(algorithm: Pipeline, target: str, rng: random.Random) -> Iterator[Schedule]:
    model = "reuse" if target == "cpu" else "occupancy"
    limits = Limits(top=3, structures=10, seed=rng.randrange(1000))
    try:
        space = _space(algorithm, target, rng)
        *_, last = search(space, model, rng.choice(("stagewise", "beam")), limits)
    except EmptySpaceError:
        return
    if isinstance(last, Done):
        yield from (found.schedule for found in last.best)


def _stored_outside(algorithm: Pipeline, target: str, rng: random.Random) -> Iterator[Schedule]:
    for _ in range(8):
        text = storing_schedule(rng, algorithm, gpu=target != "cpu")
        try:
            yield parse_schedule(text, algorithm)
        except ScheduleSyntaxError:
            continue


WAYS: dict[str, Callable[[Pipeline, str, random.Random], Iterator[Schedule]]] = {
    "sampled": _sampled,
    "iterated": _iterated,
    "searched": _searched,
    "stored outside": _stored_outside,
}
"""How schedules are drawn, by name."""
