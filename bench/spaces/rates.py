"""How many structures and tile choices one core judges and scores in a second, and how long a cold
verdict takes.
"""

from __future__ import annotations

import random
import statistics
import time
from functools import partial
from typing import Any

import numpy as np

from bench.spaces.limits import Found, is_failed, limited
from bench.spaces.subjects import THREE, Subject, hand_schedule
from bench.throughput import CHOICES, FAMILIES
from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality.lattice import legal_mask
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.model.writing.text import parse_schedule

SECONDS = 5.0
"""How long each rate is taken."""

GRACE = 20.0
"""Seconds after which a measurement is killed that should have ended."""

ROUNDS = 3

SEARCHES: dict[str, tuple[str, Strategy]] = {
    "stagewise": ("small", Stagewise()),
    "annealing": ("expert", Annealing()),
}
"""Strategies whose order is measured, by name, each with a preset that it takes."""

LARGE = (1024, 2048)
"""Numbers of tile sizes along x and y that are worth machine code."""

OTHER = "blur"
"""The app whose verdict warms the program."""

VERIFIED = ("harris", "unsharp", "local_laplacian")


def structures() -> Found:
    """Structures that are judged and scored in a second: in the orders of searches, and random
    ones.
    """
    found: Found = {}
    for app in THREE:
        subject = Subject(app, "cpu")
        rates = found[app] = {}
        for name, search_of in SEARCHES.items():
            rates[name] = limited(partial(_searched, subject, *search_of), GRACE)
        rates["random"] = limited(partial(_random, subject), GRACE)
    return found


def _searched(subject: Subject, preset: str, strategy: Strategy) -> Found:
    space = subject.space(preset)
    start = time.process_time()
    done = best(search(space, cost_model("reuse", space.device), strategy, Limits(seconds=SECONDS)))
    seconds = time.process_time() - start
    return {
        "structures_per_second": done.structures / seconds,
        "choices_per_second": done.choices / seconds,
    }


def _random(subject: Subject) -> Found:
    """Judges random candidates, and scores the legal ones."""
    space, chosen = subject.space("small"), random.Random(0)
    model, number, scored = cost_model("reuse", space.device), space.candidates, 0
    start = time.process_time()
    judged = 0
    while time.process_time() - start < SECONDS:
        schedule = space.candidate(chosen.randrange(number))
        if verify(space.pipeline, schedule, space.device):
            model.cost(Batch.of(space.pipeline, schedule, {}))
            scored += 1
        judged += 1
    seconds = time.process_time() - start
    return {"structures_per_second": judged / seconds, "scored_per_second": scored / seconds}


def tile_choices() -> Found:
    """Tile choices of one structure of the unsharp mask in a second."""
    asks = {
        "legality": (_legality, CHOICES),
        "legality of a large lattice": (_legality, LARGE),
        "cost": (_cost, CHOICES),
        "both": (_both, CHOICES),
    }
    return {name: limited(partial(_rate, *ask), GRACE) for name, ask in asks.items()}


def _rate(ask: Any, choices: tuple[int, int]) -> Found:
    pipeline, cpu = APPS["unsharp"].pipeline(), device("cpu")
    family = parse_schedule(FAMILIES["cpu"], pipeline)
    tx, ty = np.ix_(8 * np.arange(1, choices[0] + 1), np.arange(1, choices[1] + 1))
    rates = []
    for _ in range(2 * ROUNDS):
        start = time.process_time()
        ask(pipeline, family, cpu, {"tx": tx, "ty": ty})
        rates.append(tx.size * ty.size / (time.process_time() - start))
    return {"choices": tx.size * ty.size, "choices_per_second": statistics.median(rates)}


def _legality(pipeline: Any, family: Any, cpu: Any, columns: Any) -> None:
    legal_mask(pipeline, family, cpu, columns)


def _cost(pipeline: Any, family: Any, cpu: Any, columns: Any) -> None:
    cost_model("reuse", cpu).cost(Batch.of(pipeline, family, columns))


def _both(pipeline: Any, family: Any, cpu: Any, columns: Any) -> None:
    _legality(pipeline, family, cpu, columns)
    _cost(pipeline, family, cpu, columns)


def verdicts() -> Found:
    """Milliseconds of the first verdict on a hand schedule for a CPU, after one about another app:
    so the program is warm, and nothing of the schedule is cached.
    """
    found: Found = {}
    for app in VERIFIED:
        runs = [limited(partial(_verdict, app), GRACE) for _ in range(ROUNDS)]
        failed = [run for run in runs if is_failed(run)]
        found[app] = failed[0] if failed else {"ms": statistics.median(r["ms"] for r in runs)}
    return found


def _verdict(app: str) -> Found:
    other = Subject(OTHER, "cpu").space("small")
    verify(other.pipeline, hand_schedule("cpu", other, OTHER), other.device)
    space = Subject(app, "cpu").space("small")
    schedule = hand_schedule("cpu", space, app)
    start = time.process_time()
    verdict = verify(space.pipeline, schedule, space.device)
    return {"ms": 1000 * (time.process_time() - start), "is_legal": bool(verdict)}
