"""The buffers that stages move into caches, and which of them move together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from attrs import frozen

from spaces.cost.features.features import Features
from spaces.cost.features.records import LoopKey, StageFeatures
from spaces.cost.features.traffic import buffers_of, moving_loops, resident_depth
from spaces.cost.features.unfuse import unfuse

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
    features = unfuse(features)
    moving = [
        (stage, buffer, moving_loops(stage))
        for stage in features.stages
        if stage.loops and not stage.work.is_undefined
        for buffer in buffers_of(stage)
    ]
    sharing = Counter(
        _shared(stage, buffer, loop) for stage, buffer, loops in moving for loop in loops
    )
    return [
        Transfer(
            stage,
            buffer,
            resident_depth(features, buffer, buffer == stage.func),
            tuple(_place(sharing, stage, buffer, loop) for loop in loops),
        )
        for stage, buffer, loops in moving
    ]


def _shared(stage: StageFeatures, buffer: str, loop: LoopKey) -> TransferPlace:
    return (buffer, buffer == stage.func, loop)


def _place(
    sharing: Mapping[TransferPlace, int], stage: StageFeatures, buffer: str, loop: LoopKey
) -> TransferPlace:
    """The place of a transfer. A stage moves a buffer in one of its loops only. So all loops that
    no other stage shares have the same place.
    """
    together = _shared(stage, buffer, loop)
    is_shared = sharing[together] > 1
    return together if is_shared else (buffer, buffer == stage.func, stage.func, stage.index)
