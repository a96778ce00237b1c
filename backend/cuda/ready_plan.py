"""A plan whose launches are prepared: a call only sets the pointers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.backend.cuda.drivers.driver import PreparedLaunches
from spaces.backend.cuda.plan import DevicePart, PlannedLaunch
from spaces.backend.cuda.scratch import PointedPlace


@frozen(eq=False)
class ReadyPart:
    """The launches of a part.

    Attributes:
        launches: the launches, in order.
        names: their kernels.
        makes: makes each of them.
    """

    launches: tuple[PlannedLaunch, ...]
    names: tuple[str, ...]
    makes: tuple[Callable[[], None], ...]
    _point: Callable[[NDArray[np.uint64]], None]
    _buffers: tuple[str, ...]
    _bases: NDArray[np.intp]
    """For each pointer the number of what it points into: 0 is the scratch memory, then come the
    buffers."""
    _offsets: NDArray[np.uint64]

    @staticmethod
    def of(
        part: DevicePart, pointers: Sequence[PointedPlace], prepared: PreparedLaunches
    ) -> ReadyPart:
        """The prepared launches of a part, whose pointers point to these places."""
        numbers = {name: number for number, name in enumerate(part.buffers, 1)}
        launches = part.launches
        return ReadyPart(
            launches,
            tuple(launch.kernel.name for launch in launches),
            prepared.makes,
            prepared.point,
            part.buffers,
            np.array([numbers[p] if isinstance(p, str) else 0 for p in pointers], np.intp),
            np.array([0 if isinstance(p, str) else p for p in pointers], np.uint64),
        )

    def point(self, scratch: int, memory: Mapping[str, int]) -> None:
        """Sets all pointers: to scratch memory, and to the buffers of the call."""
        bases = np.array([scratch, *(memory[name] for name in self._buffers)], np.uint64)
        self._point(bases[self._bases] + self._offsets)


@frozen(eq=False)
class ReadyPlan:
    """The parts of a plan on a device.

    Attributes:
        module: stays loaded as long as the plan is ready.
        nbytes: the scratch memory of a call.
        parts: its parts, prepared.
    """

    module: object
    nbytes: int
    parts: Mapping[DevicePart, ReadyPart]
