"""How much of a Func an iteration of each loop around it asks for.

That follows from the Func and from the stages around it, its readers and theirs. A search compares
many schedules of producers below the same readers, so what is found of a Func in its surroundings
is kept with the Func.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attrs import define, field

from spaces.features.features import Features, read_extents
from spaces.features.records import FuncFeatures, StageFeatures
from spaces.model.formulas.symbolic import SymbolicNumber, maximum, minimum

Extents: TypeAlias = Mapping[str, SymbolicNumber]
"""The number of values of each Var and RVar of a stage."""

Readers: TypeAlias = "tuple[tuple[StageFeatures, FuncSurroundings], ...]"
"""The stages that read a Func, each with the surroundings of its own Func."""


@define(eq=False)
class FuncSurroundings:
    """A Func and the stages around it. ``depth`` counts loops from the outside: depth 0 means the
    whole nest, and the depth of all loops of a stage means one evaluation.

    Attributes:
        func: the Func.
        readers: the stages of other Funcs that read it.
        known: what else was found of the Func here.
    """

    func: FuncFeatures
    readers: Readers
    known: dict[object, object] = field(init=False, factory=dict)
    _required: dict[int, tuple[SymbolicNumber, ...]] = field(init=False, factory=dict)
    _extents: dict[tuple[int, int], Extents] = field(init=False, factory=dict)

    @staticmethod
    def of(func: FuncFeatures, readers: Readers) -> FuncSurroundings:
        """Those of a Func, the same object where they were asked for before."""
        key = tuple((stage.index, around) for stage, around in readers)
        found = func.known.get(key)
        if not isinstance(found, FuncSurroundings):
            found = func.known[key] = FuncSurroundings(func, readers)
        return found

    def required(self, depth: int) -> tuple[SymbolicNumber, ...]:
        """The extents of the Func that an iteration of ``depth`` of its loops needs."""
        if depth not in self._required:
            if depth == self.func.depth:
                self._required[depth] = self.func.required
            elif depth == 0:
                self._required[depth] = self.func.whole
            else:
                self._required[depth] = self._from_readers(depth)
        return self._required[depth]

    def _from_readers(self, depth: int) -> tuple[SymbolicNumber, ...]:
        extents: tuple[SymbolicNumber, ...] = self.func.required
        for reader, around in self.readers:
            inner = around.extents(reader.index, depth)
            for access in reader.work.accesses:
                if access.buffer == self.func.name and all(i.is_known for i in access.indices):
                    read = read_extents(access, inner)
                    extents = tuple(map(maximum, extents, read))
        return tuple(map(minimum, extents, self.func.whole))

    def extents(self, index: int, depth: int) -> Extents:
        """The number of values of each Var of a stage in an iteration of ``depth`` loops."""
        key = (index, depth)
        if key not in self._extents:
            self._extents[key] = self._extents_of(self.func.stages[index], depth)
        return self._extents[key]

    def _extents_of(self, stage: StageFeatures, depth: int) -> Extents:
        func = self.func
        inner: dict[str, SymbolicNumber] = {
            name: 1 for loop in stage.own for name in loop.dimensions
        }
        inner |= dict.fromkeys(func.args, 1)
        for loop in stage.loops[max(depth, stage.depth) :]:
            for name, values in zip(loop.dimensions, loop.covers, strict=True):
                inner[name] = inner[name] * values
        if depth < stage.depth:
            inner |= dict(zip(func.args, self.required(depth), strict=True))
        return inner


def surroundings(features: Features) -> dict[str, FuncSurroundings]:
    """The surroundings of each computed Func."""
    return {around.func.name: around for around in _consumers_first(features)}


def _consumers_first(features: Features) -> Iterator[FuncSurroundings]:
    readers: dict[str, list[tuple[StageFeatures, FuncSurroundings]]] = {}
    for func in reversed(features.funcs):
        around = FuncSurroundings.of(func, tuple(reversed(readers.get(func.name, ()))))
        yield around
        for stage in reversed(func.stages):
            for buffer in stage.work.buffers:
                if buffer != func.name:
                    readers.setdefault(buffer, []).append((stage, around))
