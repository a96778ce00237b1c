"""How many hand schedules of the apps their own spaces have, up to the names of loops."""

from __future__ import annotations

from functools import partial

from bench.spaces.limits import Found, limited
from bench.spaces.subjects import PRESETS, Subject, hand_schedule, hand_schedules

SECONDS = 5.0
"""The time limit of one hand schedule in one space."""


def measure() -> Found:
    """For each preset whether each hand schedule is found."""
    return {
        preset: {
            f"{subject.app} {kind}": limited(partial(_found, kind, subject, preset), SECONDS)
            for kind, subject in hand_schedules()
        }
        for preset in PRESETS
    }


def _found(kind: str, subject: Subject, preset: str) -> Found:
    space = subject.space(preset)
    try:
        space.way_to(hand_schedule(kind, space, subject.app))
    except ValueError as error:
        return {"is_found": False, "why": str(error)[:300]}
    return {"is_found": True}
