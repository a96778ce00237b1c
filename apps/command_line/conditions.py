"""The options of commands that say under which conditions schedules are timed."""

from __future__ import annotations

from typing import Annotated

import typer

from spaces.apps.errors import WrongUsage
from spaces.backend.measuring.conditions import RunConditions

MOST_CORES = 4096

RANDOM = "random"
"""Asks for new inputs each time."""

Cold = Annotated[
    bool, typer.Option("--cold", help="Empty the caches before each run; for code that runs once.")
]
Inputs = Annotated[
    str,
    typer.Option(
        "--inputs",
        metavar="SEED",
        help="Random inputs from a seed, or random: other ones each time.",
        show_default="the photograph of the app, or seed 0",
    ),
]
Cores = Annotated[
    str,
    typer.Option(
        "--cores",
        metavar="LIST",
        help="The cores that run, such as 0-3,6; others may be busy.",
        show_default="all",
    ),
]
FreeCores = Annotated[
    int,
    typer.Option(
        "--free-cores",
        min=0,
        max=MOST_CORES,
        help="Run on so many cores that nothing else uses, whichever these are.",
        show_default="all cores, free or not",
    ),
]


def conditions_of(cold: bool, inputs: str, cores: str, free_cores: int) -> RunConditions:
    """The conditions that options name.

    Raises:
        WrongUsage: they cannot be read, or contradict each other.
    """
    try:
        return RunConditions(
            cold=cold,
            input_seed=_seed(inputs),
            new_inputs=inputs == RANDOM,
            cores=_numbers(cores),
            free_cores=free_cores,
        )
    except ValueError as error:
        raise WrongUsage(str(error)) from None


def _seed(inputs: str) -> int | None:
    if inputs in ("", RANDOM):
        return None
    if not inputs.isdecimal():
        raise WrongUsage(f"--inputs takes a seed such as 7, or random; it is {inputs!r}.")
    return int(inputs)


def _numbers(cores: str) -> tuple[int, ...]:
    """The cores of a list such as ``0-3,6``."""
    found: list[int] = []
    for part in filter(None, cores.split(",")):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise WrongUsage(f"--cores takes numbers and ranges, such as 0-3,6; it has {part!r}.")
        first, last = int(low), int(high or low)
        if max(first, last) >= MOST_CORES or last < first:
            raise WrongUsage(f"--cores has {part!r}; cores are numbered from 0 up to {MOST_CORES}.")
        found += range(first, last + 1)
    return tuple(found)
