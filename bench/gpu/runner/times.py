"""Times of programs that take turns, between events around their launches alone."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bench.gpu.runner.card import Card
from bench.gpu.runner.halide import HalideFailed
from bench.gpu.runner.programs import Program
from spaces.backend.cuda.drivers.driver import DriverError

TURNS = 30
"""The most turns of a program unless `--turns` says others."""

REPEATED = 10
"""Runs in a row whose time is taken with a warm cache."""

FEWEST = 3
"""Turns that a program has even where the time is over."""

_LEAST_FLUSH = 64 << 20
"""Bytes that are written between two turns, at least. They leave nothing of the turn before in the
L2 cache, and keep the card busy until the host has launched the next one.
"""

PROTOCOL = (
    "Milliseconds between two events around the launches alone; all memory is allocated, all "
    "arguments are prepared and inputs are on the card before. cold: the L2 cache is flushed "
    "before each turn. warm: a tenth of ten runs in a row. graph: the launches are one CUDA graph. "
    "launched: the host launches one by one; Python launches ours and Halide's C++ its own. "
    "Programs take turns in random order; numbers are medians, with the fastest turn. Kernels are "
    "timed one by one, each after a flush. beforehand: tables that depend on sizes and small "
    "inputs alone, which the CPU computed before; their time is in no number of ours. Halide's "
    "kernels are PTX of its target, which the driver compiles with as many registers as Halide's "
    "runtime allows by default; Halide keeps device memory for the next run."
)
"""How times come about, for the readers of a result."""


class Flush:
    """Overwrites more memory than the L2 cache holds."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._bytes = max(2 * card.about()["l2_bytes"], _LEAST_FLUSH)
        self._address = card.allocate(self._bytes)

    def __call__(self) -> None:
        self._card.fill(self._address, 0, self._bytes)


def measured(
    card: Card,
    programs: Mapping[str, Program],
    seconds: float,
    turns: int,
    began: Callable[[str], None],
    why_wrong: Callable[[str, Callable[[], None]], str],
    flush: Callable[[], None],
) -> dict[str, dict[str, Any]]:
    """For each program its times by way of launching and state of the cache.

    Args:
        card: where they run.
        programs: the programs by name; each has run before.
        seconds: the most time for all of them; each has a few turns in any case.
        turns: the most turns of each.
        began: hears the name of a program before each turn of it.
        why_wrong: what is wrong with the results of a program by some way to run it; empty if they
            are right. A graph lacks what the CPU does in a run.
        flush: launches work that flushes the cache.
    """
    end = time.monotonic() + seconds
    found: dict[str, dict[str, Any]] = {name: {} for name in programs}
    ways: list[_Way] = []
    for name, program in programs.items():
        began(name)
        ways.append(_Way(name, "launched", program.run, _repeated(program.run), [], []))
        try:
            ways.append(_as_graph(card, name, program, why_wrong))
        except (DriverError, HalideFailed, ValueError) as error:
            found[name]["no_graph"] = str(error)
    order = random.Random(0)
    for number in range(turns):
        if number >= FEWEST and time.monotonic() > end:
            break
        for way in order.sample(ways, len(ways)):
            began(way.name)
            way.cold.append(card.times([way.once], flush)[0])
            way.warm.append(card.times([way.repeated], _nothing)[0] / REPEATED)
    for way in ways:
        found[way.name][way.launching] = {"cold": _summary(way.cold), "warm": _summary(way.warm)}
    for name, program in programs.items():
        if program.parts():
            began(name)
            found[name]["kernels"] = _kernels(card, program, flush)
    return found


class _Way(NamedTuple):
    """A program and a way to launch it, with the times so far."""

    name: str
    launching: str
    once: Callable[[], None]
    repeated: Callable[[], None]
    cold: list[float]
    warm: list[float]


def _as_graph(
    card: Card, name: str, program: Program, why_wrong: Callable[[str, Callable[[], None]], str]
) -> _Way:
    """The program as a graph.

    Raises:
        DriverError, HalideFailed: a run does what a graph cannot hold.
        ValueError: the graph computes something else.
    """
    once = card.graph(program.run)
    why = why_wrong(name, once)
    if why:
        raise ValueError(f"the graph is not the run: {why}")
    return _Way(name, "graph", once, card.graph(_repeated(program.run)), [], [])


def _repeated(run: Callable[[], None]) -> Callable[[], None]:
    def runs() -> None:
        for _ in range(REPEATED):
            run()

    return runs


def _nothing() -> None:
    """No work."""


def _summary(seconds: list[float]) -> dict[str, float]:
    return {
        "ms": _ms(statistics.median(seconds)),
        "fastest_ms": _ms(min(seconds)),
        "turns": len(seconds),
    }


def _kernels(card: Card, program: Program, flush: Callable[[], None]) -> list[dict[str, Any]]:
    """The kernels in order of their first launch, with the sum of the times of their launches."""
    parts = program.parts()
    rounds = [card.times([work for _, work in parts], flush) for _ in range(FEWEST)]
    each = [statistics.median(times) for times in zip(*rounds, strict=True)]
    sums: dict[str, list[float]] = {}
    for (name, _), seconds in zip(parts, each, strict=True):
        sums.setdefault(name, []).append(seconds)
    return [
        {"kernel": name, "launches": len(times), "ms": _ms(sum(times))}
        for name, times in sums.items()
    ]


def _ms(seconds: float) -> float:
    return round(seconds * 1e3, 5)
