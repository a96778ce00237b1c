"""Cases: which subject a number has, and which schedule is drawn for it."""

from __future__ import annotations

import random

from attrs import frozen

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from tests.differential.additions import with_constructs
from tests.differential.aims import Aims
from tests.differential.expert_schedules import expert_schedule
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.mutations import mutated
from tests.differential.pipelines import KINDS
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import COMPOSED, Subject, subject
from tests.differential.wild import wild_schedule

CLASSES = ("constructed", "near", "wild")
"""How a schedule is drawn: to be legal, by an edit of a legal one, or blindly."""

CORPUS = "corpus"
"""How it is drawn else: by edits of one that took branches which none had taken before."""

CORPUS_EVERY = 8
"""Of the groups of cases that share a subject, how many have one of the corpus, if there is any."""

_SHARES = (0.42, 0.36, 0.22)
_AIMED_SHARES = (0.75, 0.17, 0.08)
"""The same where cases are aimed."""

SHARED = 10
"""Cases that share a subject, its images and its reference values."""

_FAMILIES_EVERY = (1, 2)
"""Of the groups of cases that share a subject, how many have one of a family, without aims and with
them; the others have composed pipelines.
"""

_TRIES = 3
"""How often a case that aims at something is drawn again."""

_EXPERT_SHARE = 0.2
"""Of schedules for a CPU that aim at nothing, how many are as experts write them."""

_GPU_SHARE = 0.25
_DEVICES = ("sm_70", "sm_80", "sm_90", "sm_120")

NO_AIMS = Aims()
_OF_GPUS = frozenset(
    ("device: gpu", "loop: gpu_block", "loop: gpu_thread", "update loop: gpu_block",
     "update loop: gpu_thread", "memory: gpu_shared", "single: __block", "single: __thread",
     "directive: split of one iteration", "host: a Func", "host: a pure stage",
     "host: an update")
)  # fmt: skip
_OF_CPUS = frozenset(
    ("device: cpu", "loop: parallel", "update loop: parallel", "directive: atomic",
     "prefetch: clamp", "prefetch: guard_with_if", "prefetch: non_faulting")
)  # fmt: skip
"""Constructs that mostly have a meaning on one kind of device."""


@frozen
class Case:
    """A schedule for a subject and a device, and how it was drawn."""

    seed: int
    number: int
    drawn: str
    target: str
    schedule: Schedule


def subject_of(seed: int, number: int, aims: Aims = NO_AIMS) -> Subject:
    """The subject of a case: composed, or of the families, which take turns."""
    turn = number // SHARED
    rng = random.Random(f"{seed} subject {turn}")
    every = _FAMILIES_EVERY[bool(aims)]
    if turn % every:
        return subject(rng, COMPOSED, aims.of_subject(seed, turn))
    kinds = sorted(KINDS)
    return subject(rng, kinds[turn // every % len(kinds)])


def draw(seed: int, number: int, pipeline: Pipeline, aims: Aims = NO_AIMS) -> Case:
    """The case of a number; one that aims at something is drawn until it hits, a few times."""
    wanted = aims.of_case(seed, number // SHARED, number)
    case = _drawn(random.Random(f"{seed} case {number}"), seed, number, pipeline, wanted, aims)
    for attempt in range(_TRIES if wanted and case.drawn == "constructed" else 0):
        if wanted <= constructs_of(case) and _is_legal(pipeline, case):
            return case
        rng = random.Random(f"{seed} case {number} again {attempt}")
        other = _drawn(rng, seed, number, pipeline, wanted, aims)
        if len(wanted & constructs_of(other)) >= len(wanted & constructs_of(case)):
            case = other
    return case


def _is_legal(pipeline: Pipeline, case: Case) -> bool:
    return verify(pipeline, case.schedule, device(case.target)).legal


def _drawn(
    rng: random.Random,
    seed: int,
    number: int,
    pipeline: Pipeline,
    wanted: frozenset[str],
    aims: Aims,
) -> Case:
    gpu = _is_for_gpu(rng, wanted)
    drawn = rng.choices(CLASSES, _AIMED_SHARES if aims else _SHARES)[0]
    if drawn == "wild":
        schedule = wild_schedule(rng, pipeline, gpu)
    else:
        schedule = _sensible_schedule(rng, pipeline, gpu, wanted)
        schedule = with_constructs(rng, pipeline, schedule, wanted)
        schedule = mutated(rng, pipeline, schedule) if drawn == "near" else schedule
    return Case(seed, number, drawn, rng.choice(_DEVICES) if gpu else "cpu", schedule)


def _sensible_schedule(
    rng: random.Random, pipeline: Pipeline, gpu: bool, wanted: frozenset[str]
) -> Schedule:
    if gpu:
        return gpu_schedule(rng, pipeline, wanted)
    if not wanted and rng.random() < _EXPERT_SHARE:
        return expert_schedule(rng, pipeline)
    return cpu_schedule(rng, pipeline, wanted)


@frozen
class Seed:
    """A case to draw others from: its number, and what it aimed at."""

    number: int
    aims: Aims = NO_AIMS


def draw_near(seed: int, number: int, pipeline: Pipeline, origin: Seed, aims: Aims) -> Case:
    """A case with the schedule of another one, edited."""
    rng = random.Random(f"{seed} case {number}")
    found = draw(seed, origin.number, pipeline, origin.aims)
    schedule = found.schedule
    if rng.random() < 0.5:
        wanted = aims.of_case(seed, number // SHARED, number)
        schedule = with_constructs(rng, pipeline, schedule, wanted)
    if schedule == found.schedule or rng.random() < 0.6:
        schedule = mutated(rng, pipeline, schedule)
    return Case(seed, number, CORPUS, found.target, schedule)


def _is_for_gpu(rng: random.Random, wanted: frozenset[str]) -> bool:
    drawn = rng.random() < _GPU_SHARE
    if "device: cpu" in wanted:
        return False
    if wanted & _OF_GPUS:
        return True
    return drawn and not wanted & _OF_CPUS


def constructs_of(case: Case) -> frozenset[str]:
    """What a case is made of, seen from its schedule and its device."""
    on = "cpu" if case.target == "cpu" else "gpu"
    return schedule_constructs(case.schedule) | {f"device: {on}"}
