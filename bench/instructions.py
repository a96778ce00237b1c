"""What loads, stores and operations of vectors take on this processor, beside their prices.

``python -m bench instructions`` compiles loops that do little else. They are sums over a term that
reads data in the first-level cache at one kind of place, or that has eight operations of one kind.
It writes ``bench/results/instructions.json`` and ``docs/instructions.md``: for each kind, type and
number of lanes the time of a vector, and its price in the cost model ``reuse``. Times are in units
of :data:`UNIT`, a plain load and sum of eight floats, so the frequency of the core does not matter.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import asdict, frozen

import spaces
from bench.machine import machine
from bench.report import RESULTS
from spaces import Func, ImageParam, Pipeline, RDom, Type, UInt8, Var, cast, i32
from spaces.apps.files import write_text
from spaces.backend.measuring.inputs import random_inputs
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.model.expressions.expr import Expr
from spaces.model.writing.text import parse_schedule

FILE = RESULTS / "instructions.json"
PAGE = Path(__file__).parents[1] / "docs" / "instructions.md"

ELEMENTS = 1024
"""The sums of a kernel, and the terms of each."""

TABLE = 256
"""The elements of a table."""

COPIES = 4
"""The vectors of sums that are added up side by side."""

LANES = (1, 4, 8, 16, 32, 64)
TYPES = (spaces.UInt8, spaces.UInt16, spaces.Int32, spaces.Float32, spaces.Float64)

UNIT = ("neighbors", "float32", 8)
"""The kernel whose time is one unit."""

RUNS, REPEATS = 7, 3
"""The least of this many times counts, each of this many calls."""

X, R = Var("x"), RDom([(0, ELEMENTS)], "r")
PLACES = ImageParam(UInt8, 1, "places")

_READ = 6 * ELEMENTS
"""The elements that the terms of any kind read."""

Term = Callable[[ImageParam], Expr]
"""The term of a sum, from an image of one dimension."""


def _at_step(step: int) -> Term:
    return lambda image: image[step * X + R]


def _looked_up(image: ImageParam) -> Expr:
    return image[i32(PLACES[X + R])]


def _eight(change: Callable[[Expr, Expr], Expr]) -> Term:
    """A term that changes a value eight times."""

    def term(image: ImageParam) -> Expr:
        first = value = image[X + R]
        for _ in range(8):
            value = change(value, first)
        return value

    return term


KINDS: Mapping[str, Term] = {
    "neighbors": _at_step(1),
    "steps of 2": _at_step(2),
    "steps of 3": _at_step(3),
    "steps of 4": _at_step(4),
    "steps of 5": _at_step(5),
    "backwards": lambda image: image[ELEMENTS - X + R],
    "halves": lambda image: image[(X + R) / 2],
    "look-ups": _looked_up,
    "8 sums": _eight(lambda value, first: spaces.max(value, first) + first),
    "8 products": _eight(lambda value, first: value * first + first),
    "a quotient": lambda image: image[X + R] / cast(image.type, 7),
    "a square root": lambda image: cast(image.type, spaces.sqrt(_real(image))),
    "an exponential": lambda image: cast(image.type, spaces.exp(_real(image))),
}
"""The kernels by name."""


def _real(image: ImageParam) -> Expr:
    value = image[X + R]
    return value if image.type.is_float else spaces.f32(value)


@frozen
class Timed:
    """A kernel that was timed.

    Attributes:
        kind: of :data:`KINDS`.
        type: of the elements of the image and of the sums.
        lanes: of a vector.
        time: of one vector of terms, in units.
        price: the cycles of one vector in the model.
    """

    kind: str
    type: str
    lanes: int
    time: float
    price: float


def main(arguments: list[str]) -> None:
    """Times all kernels, and writes the results and the page.

    Raises:
        SystemExit: there are arguments.
    """
    if arguments:
        raise SystemExit("python -m bench instructions takes no arguments.")
    seconds = {
        (kind, str(type), lanes): _timed(kind, type, lanes)
        for kind in KINDS
        for type in TYPES
        for lanes in LANES
        if lanes == 1 or lanes * type.bits >= 64
    }
    unit = seconds[UNIT][0]
    found = [Timed(*key, took / unit, price) for key, (took, price) in seconds.items()]
    document = {"machine": machine(), "results": [asdict(one) for one in found]}
    write_text(FILE, json.dumps(document, indent=1) + "\n")
    write_text(PAGE, page(found))


def kernel(kind: str, type: Type) -> Pipeline:
    """Sums over the terms of a kind."""
    image, sums = ImageParam(type, 1, "image"), Func("sums")
    sums[X] += KINDS[kind](image)
    looks_up = kind == "look-ups"
    sizes: dict[Func | ImageParam | str, list[int]] = {sums: [ELEMENTS]}
    sizes |= {image: [TABLE], PLACES: [2 * ELEMENTS]} if looks_up else {image: [_READ]}
    return spaces.pipeline(sums, name="kernel", estimates=sizes)


def schedule_of(lanes: int) -> str:
    """Some vectors of sums at a time, in registers."""
    copies = COPIES * lanes
    vectors = f"split(xi, xi, xv, {lanes}).reorder(xv, xi, r, x).unroll(xi).vectorize(xv)"
    pure = f"sums.split(x, x, xv, {lanes}).vectorize(xv)"
    if lanes == 1:
        return f"sums.update(0).split(x, x, xi, {copies}).reorder(xi, r, x).unroll(xi)"
    return f"{pure}; sums.update(0).split(x, x, xi, {copies}).{vectors}"


def _timed(kind: str, type: Type, lanes: int) -> tuple[float, float]:
    """The seconds of a vector of terms, and its price."""
    pipe = kernel(kind, type)
    cpu = device("cpu")
    chosen = parse_schedule(schedule_of(lanes), pipe)
    verdict = spaces.verify(pipe, chosen, cpu)
    if not isinstance(verdict, CheckedSchedule):
        raise RuntimeError(f"{kind}, {type}, {lanes} lanes: {verdict}")
    inputs = random_inputs(pipe)
    run = spaces.compile_cpu(verdict, threads=1).prepare(inputs)
    run()
    took = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(REPEATS):
            run()
        took.append((time.perf_counter() - start) / REPEATS)
    vectors = ELEMENTS * ELEMENTS / lanes
    price = float(Reuse.of(cpu).cost(Batch.of(pipe, chosen)))
    return min(took) / vectors, price / vectors


def page(found: list[Timed]) -> str:
    """The page of the results."""
    return _HEAD + "\n".join(_rows(found)) + "\n"


_HEAD = """\
<!-- Made by `python -m bench instructions`; change that, not this. -->

# What vectors take, and what they cost

Each kernel adds up terms of data in the first-level cache: terms at one kind of place, or with
operations of one kind. A cell has the time of one vector of so many lanes, in units of a load and a
sum of eight floats, and behind it its price in the cost model `reuse`, in cycles
([terms](cost_terms.md)). A price is right if it is in proportion to the time.

"""


def _rows(found: list[Timed]) -> Iterator[str]:
    named = ("scalar" if lanes == 1 else f"{lanes} lanes" for lanes in LANES)
    yield f"| kind | type | {' | '.join(named)} |"
    yield "| --- | --- |" + " --- |" * len(LANES)
    cells = {(one.kind, one.type, one.lanes): f"{one.time:.2g} / {one.price:.2g}" for one in found}
    for kind, type in dict.fromkeys((one.kind, one.type) for one in found):
        row = [cells.get((kind, type, lanes), "") for lanes in LANES]
        yield f"| {kind} | {type} | " + " | ".join(row) + " |"
