"""How search, verification, lowering and LLVM grow with the Funcs of a pipeline.

Chains of pointwise Funcs are inlined, those of stencils are computed in each other's tiles. Each
length is measured in a process of its own; all times are of its processor.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import spaces
from spaces.backend.access import AccessMode
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.lowering.cpu.passes import lower
from spaces.machine_code import compile_module

LENGTHS = (100, 200, 400, 700, 1000)
"""The Funcs of each chain."""

SIZE = 1024
"""The width and the height of the output."""


def pointwise(length: int) -> spaces.Pipeline:
    """Each Func computes a value from one value of the Func before."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Int32, 2, "input")
    last: Any = image
    for number in range(length):
        func = spaces.Func(f"step_{number}")
        func[x, y] = last[x, y] * 3 + number
        last = func
    return spaces.pipeline(last, estimates={image: [SIZE, SIZE], last: [SIZE, SIZE]})


def stencils(length: int) -> spaces.Pipeline:
    """Each Func adds three neighbors of the Func before, along x and along y in turn."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Int32, 2, "input")
    last: Any = image
    for number in range(length):
        func = spaces.Func(f"step_{number}")
        if number % 2:
            func[x, y] = last[x - 1, y] + last[x, y] + last[x + 1, y]
        else:
            func[x, y] = last[x, y - 1] + last[x, y] + last[x, y + 1]
        last = func
    read = (-length, SIZE + 2 * length)
    return spaces.pipeline(last, estimates={image: [read, read], last: [SIZE, SIZE]})


CHAINS: Mapping[str, Callable[[int], spaces.Pipeline]] = {
    "pointwise": pointwise,
    "stencils": stencils,
}
"""The chains, by the kind of their Funcs."""

OPTIONS: Mapping[str, Callable[[spaces.Device], spaces.Options]] = {
    "medium": spaces.Options.medium,
    "default": spaces.default_options,
}
"""The spaces that are searched."""

PARTS = ("search", "verify", "lower", "llvm")
"""What is timed."""


def measure() -> dict[str, Any]:
    """Seconds of each part, by chain, options and number of Funcs; and the cost of the schedule as
    a share of that of all Funcs at root.
    """
    return {
        chain: {
            options: {str(length): _apart(chain, options, length) for length in LENGTHS}
            for options in OPTIONS
        }
        for chain in CHAINS
    }


def _apart(chain: str, options: str, length: int) -> dict[str, float]:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(measured, chain, options, length).result()


def measured(chain: str, options: str, length: int) -> dict[str, float]:
    """The seconds of each part for one chain, after the same for a short one."""
    if length > LENGTHS[0] // 10:
        measured(chain, options, LENGTHS[0] // 10)
    pipeline, cpu = CHAINS[chain](length), spaces.device("cpu")
    clock = _Clock()
    space = spaces.ScheduleSpace(pipeline, cpu, OPTIONS[options](cpu))
    events = list(spaces.search(space, None, "stagewise", spaces.Limits()))
    clock.stop("search")
    first = next(event.best for event in events if isinstance(event, spaces.Improved))
    found = spaces.best(iter(events)).best[0]
    verdict = spaces.verify(pipeline, found.schedule, cpu)
    clock.stop("verify")
    if not isinstance(verdict, spaces.CheckedSchedule):
        raise ValueError(f"The search of {length} {chain} Funcs found an illegal schedule.")
    program = list(lower(verdict.nest).values())[-1]
    clock.stop("lower")
    compile_module(llvm_module(program, FloatMode.STRICT, AccessMode.PLAIN), runtime_symbols())
    clock.stop("llvm")
    return {**clock.seconds, "share of cost at root": round(found.cost / first.cost, 3)}


class _Clock:
    """Seconds of this process since the last stop, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def stop(self, name: str) -> None:
        now = time.process_time()
        self.seconds[name] = round(now - self._last, 2)
        self._last = time.process_time()


def table(found: Mapping[str, Any]) -> str:
    """The results of :func:`measure` as Markdown."""
    headers = ("chain", "space", "Funcs", *(f"{part}, s" for part in PARTS), "cost / at root")
    lines = [f"| {' | '.join(headers)} |", f"|{' --- |' * len(headers)}"]
    for chain, spaces_of in found.items():
        for options, lengths in spaces_of.items():
            for length, one in lengths.items():
                times = (f"{one[part]:.1f}" for part in PARTS)
                share = f"{one['share of cost at root']:.2f}"
                lines.append(f"| {' | '.join((chain, options, length, *times, share))} |")
    return "\n".join(lines)
