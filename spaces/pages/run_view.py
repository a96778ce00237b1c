"""The picture of a small run, step by step: what is computed, stored and read when, as [RK13]
Figure 3 shows it. Without scripts the page has its numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

import attrs
from attrs import define, field, frozen

from spaces.backend.replay.recording import Recording, StorageBegins
from spaces.backend.replay.report import Coordinate
from spaces.markup.element import Markup, joined, table, tag
from spaces.markup.quantities import shown_count
from spaces.model.amounts import amount
from spaces.pages.small_run import SmallRun


@define
class _Grid:
    """A buffer of the run: the box of all its elements that the run touches, and counts of them."""

    name: str
    is_image: bool
    low: list[int] = field(factory=list)
    high: list[int] = field(factory=list)
    computed: dict[Coordinate, int] = field(factory=dict)
    alive: set[Coordinate] = field(factory=set)
    most_alive: int = 0
    reads: int = 0

    def touch(self, at: Coordinate) -> None:
        if not self.low:
            self.low, self.high = list(at), list(at)
        self.low = list(map(min, self.low, at))
        self.high = list(map(max, self.high, at))

    @property
    def extents(self) -> list[int]:
        return [high - low + 1 for low, high in zip(self.low, self.high, strict=True)]

    def flat(self, at: Coordinate) -> int:
        """The number of an element in the box, innermost dimension first."""
        place, step = 0, 1
        for x, low, extent in zip(at, self.low, self.extents, strict=True):
            place, step = place + (x - low) * step, step * extent
        return place


def run_view(run: SmallRun, prefix: str) -> Markup:
    """The picture of a run, with a slider over its steps."""
    grids = _grids(run.recording)
    data = _data(run.recording, grids)
    changed = (
        f" Split factors are smaller for it: {', '.join(run.changed[:8])}"
        f"{' …' if len(run.changed) > 8 else ''}."
        if run.changed
        else ""
    )
    cut = "" if run.recording.complete else " The picture ends before the run does."
    about = (
        f"The loop nest at a small size, in {amount(len(data.events), 'step')}; lanes of a vector "
        f"are one step, and concurrent iterations run one after the other.{changed}{cut}"
    )
    rows = [_row(grid) for grid in grids if not grid.is_image]
    columns = ("Func", "box", "evaluations", "repeated", "reads", "most kept at once")
    drawn = json.dumps(attrs.asdict(data), separators=(",", ":"))
    player = tag(
        "div",
        tag("div", class_="controls"),
        tag("div", class_="grids"),
        class_="player",
        id=f"{prefix}run",
        data_run=drawn,
        hidden=True,
    )
    return joined(tag("p", about), player, tag("div", table(columns, rows), class_="scroll"))


def _grids(recording: Recording) -> list[_Grid]:
    """The buffers in the order in which the run first touches them, images first."""
    found: dict[str, _Grid] = {name: _Grid(name, True) for name in recording.images}
    for event in recording.events:
        if isinstance(event, StorageBegins):
            grid = found.setdefault(event.buffer, _Grid(event.buffer, False))
            grid.alive.clear()
            continue
        for name, at in event.read:
            other = found.setdefault(name, _Grid(name, False))
            other.touch(at)
            other.reads += 1
        grid = found.setdefault(event.buffer, _Grid(event.buffer, False))
        for at in event.written:
            grid.touch(at)
            grid.computed[at] = grid.computed.get(at, 0) + 1
        grid.alive |= set(event.written)
        grid.alive -= set(event.lost)
        grid.most_alive = max(grid.most_alive, len(grid.alive))
    return [grid for grid in found.values() if grid.low or not grid.is_image]


def _row(grid: _Grid) -> Sequence[str | Markup]:
    evaluations = sum(grid.computed.values())
    again = evaluations - len(grid.computed)
    box = " × ".join(map(str, grid.extents))
    numbers = (evaluations, again, grid.reads, grid.most_alive)
    return (tag("span", grid.name, data_func=grid.name), box, *map(shown_count, numbers))


@frozen
class _Drawn:
    """What the script draws.

    Attributes:
        grids: the buffers, each with its name and extents.
        events: the steps; a number is a grid whose storage begins, a list has numbers of elements.
    """

    grids: list[dict[str, object]]
    events: list[object]


def _data(recording: Recording, grids: Iterable[_Grid]) -> _Drawn:
    """What the script draws."""
    every = list(grids)
    number = {grid.name: i for i, grid in enumerate(every)}
    events: list[object] = []
    for event in recording.events:
        own = number.get(event.buffer)
        if own is None:
            continue
        if isinstance(event, StorageBegins):
            events.append(own)
            continue
        grid = every[own]
        read: dict[int, list[int]] = {}
        for name, at in event.read:
            read.setdefault(number[name], []).append(every[number[name]].flat(at))
        written = [grid.flat(at) for at in event.written]
        told: list[object] = [own, written, [[n, *places] for n, places in read.items()]]
        lost = [grid.flat(at) for at in event.lost]
        events.append([*told, lost] if lost else told)
    boxes = [
        {"name": g.name, "image": g.is_image, "extents": g.extents or [1],
         "size": math.prod(g.extents)}
        for g in every
    ]  # fmt: skip
    return _Drawn(boxes, events)
