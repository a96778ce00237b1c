"""The buffers that stages move into caches, and which of them move together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from attrs import frozen

from spaces.cost.cpu.term import FROM_L2, FROM_L3, FROM_MEMORY, Core, TermKind
from spaces.features.features import Features
from spaces.features.footprints import Footprint
from spaces.features.lanes_together import join_lanes
from spaces.features.records import LoopKey, StageFeatures
from spaces.features.traffic import Cache, Traffic, buffers_of, moving_loops, resident_depth
from spaces.features.unfuse import unfuse
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, where

STREAMS_FROM_MEMORY = 12
"""How many rows are followed at once while they come from memory. Measured with copies of 24
million doubles in tiles of 8 values by some lines, one tile beside the other, at widths of 1500,
3000, 3008 and 5000. A copy of up to 8 lines at a time takes as long as line by line. With 12 lines
it takes a tenth longer, with 16 a quarter longer, and with 24 and more at least one and a half
times as long.
"""

TransferPlace: TypeAlias = tuple[object, ...]
"""What identifies a transfer: a buffer, whether it is written, and the loop whose body moves it for
several stages, or the only stage that moves it.
"""


@frozen
class Transfer:
    """A buffer that a stage moves into caches.

    Attributes:
        resident: the loop depth at which a cache that holds the body also holds the whole buffer.
        places: for each loop whose body may move it, the place. Transfers with the same place move
            together.

    In ``stage``, a nest stands for each fused loop.
    """

    stage: StageFeatures
    buffer: str
    resident: int
    places: tuple[TransferPlace, ...]


def list_transfers(features: Features) -> list[Transfer]:
    """The transfers of all stages; a stage without loops moves nothing."""
    features = join_lanes(unfuse(features))
    moving = [
        (stage, buffer, moving_loops(stage))
        for stage in features.stages
        if stage.loops and not stage.work.is_undefined
        for buffer in buffers_of(stage)
    ]
    # Few buffers have several movers, so few loops need a count.
    movers = Counter((buffer, buffer == stage.func) for stage, buffer, _ in moving)
    sharing = Counter(
        _shared_place(stage, buffer, loop)
        for stage, buffer, loops in moving
        if movers[buffer, buffer == stage.func] > 1
        for loop in loops
    )
    return [
        Transfer(
            stage,
            buffer,
            resident_depth(features, buffer, buffer == stage.func),
            _places(sharing, stage, buffer, loops)
            if movers[buffer, buffer == stage.func] > 1
            else (_own_place(stage, buffer),) * len(loops),
        )
        for stage, buffer, loops in moving
    ]


def _shared_place(stage: StageFeatures, buffer: str, loop: LoopKey) -> TransferPlace:
    return (buffer, buffer == stage.func, loop)


def _own_place(stage: StageFeatures, buffer: str) -> TransferPlace:
    """The place of all loops that no other stage shares: a stage moves a buffer in one of them."""
    return (buffer, buffer == stage.func, stage.func, stage.index)


def _places(
    sharing: Mapping[TransferPlace, int],
    stage: StageFeatures,
    buffer: str,
    loops: Sequence[LoopKey],
) -> tuple[TransferPlace, ...]:
    """The places of a transfer of a buffer that several stages move."""
    together = (_shared_place(stage, buffer, loop) for loop in loops)
    return tuple(one if sharing[one] > 1 else _own_place(stage, buffer) for one in together)


def caches(core: Core) -> Iterator[tuple[TermKind[Footprint], Cache]]:
    """Each cache of a core, with the terms that move data into it."""
    device = core.device
    yield FROM_L2, Cache(device.l1_bytes)
    yield FROM_L3, Cache(device.l2_bytes)
    shared = device.l3_bytes // device.cores
    yield FROM_MEMORY, Cache(shared, is_even=True, streams=STREAMS_FROM_MEMORY)


def transfer_cycles(
    core: Core, features: Features, transfers: list[Transfer]
) -> Iterator[tuple[TermKind[Footprint], dict[TransferPlace, SymbolicNumber]]]:
    """Cycles to move lines to the first-level cache and out again, by where they come from. All
    transfers with the same place have one number.
    """
    traffic = Traffic(join_lanes(unfuse(features)), core.device.cache_line_bytes)
    # The order of a sum must not depend on the numbers: sums of floats do.
    places = dict.fromkeys(place for transfer in transfers for place in transfer.places)
    speedups = {(one.func, one.index): core.cores_busy(one.loops) for one in features.stages}
    for kind, cache in caches(core):
        yield kind, _moves(core, traffic, transfers, places, speedups, kind, cache)


def _moves(
    core: Core,
    traffic: Traffic,
    transfers: list[Transfer],
    places: Iterable[TransferPlace],
    speedups: Mapping[tuple[str, int], SymbolicNumber],
    kind: TermKind[Footprint],
    cache: Cache,
) -> dict[TransferPlace, SymbolicNumber]:
    """Cycles to move all missing data into a cache.

    Stages in one loop body that read the same data move it once.
    """
    moved: dict[TransferPlace, SymbolicNumber | None] = dict.fromkeys(places)
    fitting = {
        (stage.func, stage.index): traffic.fitting_depth(stage, cache)
        for stage in traffic.features.stages
        if stage.loops
    }
    price = partial(core.sum_terms, kind)
    for transfer in transfers:
        stage, buffer = transfer.stage, transfer.buffer
        fits, is_written = fitting[stage.func, stage.index], buffer == stage.func
        bodies: dict[TransferPlace, SymbolicNumber] = {}
        for depth, here, body in traffic.moves(
            stage, buffer, cache, fits, transfer.resident, price
        ):
            place = transfer.places[depth]
            bodies[place] = where(here, body, bodies.get(place, 0.0))
        for place, body in bodies.items():
            # A write fetches its line first and evicts it later.
            cost = (2 * body if is_written else body) / speedups[stage.func, stage.index]
            known = moved[place]
            moved[place] = cost if known is None else maximum(known, cost)
    return {place: cost for place, cost in moved.items() if cost is not None}
