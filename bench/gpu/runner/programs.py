"""Our kernels and the steps of their host, prepared: a run is launches and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from bench.gpu.runner.card import Card
from bench.gpu.runner.inputs import Array
from spaces.backend.cuda.drivers.driver import KernelCall

POISON = 0xFF
"""Each byte of memory before a run whose results are checked: NaN in floats."""

_GRANULE = 512
"""Sizes of memory are rounded up to this, so that buffers of nearly equal sizes can share some."""


class Program(Protocol):
    """A contender at one size, with memory for its arguments and results."""

    def run(self) -> None:
        """Launches everything on the card's stream; may return before it is done."""

    def poison(self) -> None:
        """Overwrites the results, and what the program holds besides its inputs."""

    def results(self) -> dict[str, Array]:
        """Waits, and returns the outputs."""

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        """The launches of a run in order, by the names of their kernels; none if not known."""

    def release(self) -> None:
        """Gives its memory back."""


class Memory:
    """Pieces of a card's memory."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.pieces: dict[int, int] = {}
        self._unused: dict[int, list[int]] = {}

    def take(self, nbytes: int) -> int:
        """The address of that many bytes, which :meth:`give` may have returned."""
        size = -(-max(nbytes, 1) // _GRANULE) * _GRANULE
        waiting = self._unused.get(size)
        if waiting:
            return waiting.pop()
        address = self.card.allocate(size)
        self.pieces[address] = size
        return address

    def give(self, address: int) -> None:
        """Lets later steps have this piece."""
        self._unused.setdefault(self.pieces[address], []).append(address)

    def fill(self, byte: int) -> None:
        """Sets each byte of all pieces."""
        for address, size in self.pieces.items():
            self.card.fill(address, byte, size)

    def release(self) -> None:
        """Frees all pieces."""
        for address in self.pieces:
            self.card.free(address)
        self.pieces.clear()
        self._unused.clear()


class Images:
    """Arrays on the card, which programs only read."""

    def __init__(self, card: Card, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self._memory = Memory(card)
        self.addresses = {}
        for name, array in arrays.items():
            self.addresses[name] = self._memory.take(array.nbytes)
            if array.nbytes:
                card.upload(self.addresses[name], np.ascontiguousarray(array))
        card.wait()

    def release(self) -> None:
        """Frees the memory."""
        self._memory.release()


class KernelProgram:
    """Launches of our kernels."""

    def __init__(
        self,
        card: Card,
        module: Any,
        steps: Sequence[Mapping[str, Any]],
        images: Mapping[str, int],
        outputs: Mapping[str, Array],
    ) -> None:
        self._card = card
        self._memory = Memory(card)
        self._outputs = outputs
        self._module = module
        self._functions: dict[str, Any] = {}
        self._addresses = {name: self._memory.take(a.nbytes) for name, a in outputs.items()}
        places = {**images, **self._addresses}
        self._launches: list[tuple[str, Callable[[], None]]] = []
        for step in steps:
            if "allocate" in step:
                places[step["allocate"]] = self._memory.take(step["bytes"])
            elif "free" in step:
                self._memory.give(places.pop(step["free"]))
            else:
                self._launches.append((step["launch"], self._prepared(step, places)))

    def _prepared(self, step: Mapping[str, Any], places: Mapping[str, int]) -> Callable[[], None]:
        name, shared = step["launch"], step["shared"]
        if name not in self._functions:
            self._functions[name] = self._card.function(self._module, name, shared)
        given = step["arguments"]
        values = [None if isinstance(one, str) else np.dtype(one[0]).type(one[1]) for one in given]
        grid, block = tuple(step["grid"]), tuple(step["block"])
        call = KernelCall(self._functions[name], grid, block, shared, values)
        prepared = self._card.prepared([call])
        prepared.point([places[one] for one in given if isinstance(one, str)])
        return prepared.makes[0]

    def run(self) -> None:
        for _, launch in self._launches:
            launch()

    def poison(self) -> None:
        self._memory.fill(POISON)

    def results(self) -> dict[str, Array]:
        self._card.wait()
        found = {name: np.empty_like(array) for name, array in self._outputs.items()}
        for name, array in found.items():
            if array.nbytes:
                self._card.download(array, self._addresses[name])
        return found

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        return list(self._launches)

    def release(self) -> None:
        self._memory.release()
