"""How much the five best schedules of a search differ."""

from __future__ import annotations

import itertools
from functools import partial

from bench.spaces.limits import Found, limited
from bench.spaces.subjects import THREE, Subject
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.structure_distance import strip_factors, structure_distance

SECONDS = 8.0
"""The time limit of each search."""

GRACE = 20.0
"""Seconds after which a search is killed."""

TOP = 5


def measure() -> Found:
    """For each app how far the five best are apart, in decisions and in cost."""
    return {app: limited(partial(_differences, app), GRACE) for app in THREE}


def _differences(app: str) -> Found:
    space = Subject(app, "cpu").space("small")
    limits = Limits(top=TOP, seconds=SECONDS)
    found = best(search(space, cost_model("reuse", space.device), limits=limits)).best
    forms = [strip_factors(one.schedule) for one in found]
    distances = [structure_distance(a, b) for a, b in itertools.combinations(forms, 2)]
    return {
        "schedules": len(found),
        "least_decisions_apart": min(distances, default=None),
        "most_decisions_apart": max(distances, default=None),
        "last_over_first_cost": found[-1].cost / found[0].cost,
    }
