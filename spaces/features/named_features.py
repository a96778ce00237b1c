"""Features by name, for restrictions of a space: ``threads("blur_y") % 32 == 0``.

Each function gives an expression that stands for a number of a schedule. A restriction calculates
with such expressions (:mod:`~spaces.features.used_features`). A number that a schedule does not
have is 0: the threads of a Func outside kernels, the bytes of an inlined Func, the factor of a loop
that is not split.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import reduce
from typing import Literal, ParamSpec, TypeAlias

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.features.features import reads_of
from spaces.features.records import FuncFeatures, KernelFeatures, StageFeatures, total
from spaces.features.structure_features import (
    StructureFeatures,
    occupancy_of,
    parallel_iterations,
)
from spaces.features.trend import Trend
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.symbolic import SymbolicNumber, minimum
from spaces.model.schedules.domain_order import Split

KiB = 1024
"""Bytes of a kibibyte."""

MiB = 1024 * KiB
"""Bytes of a mebibyte."""


FeatureReader: TypeAlias = Callable[[StructureFeatures], SymbolicNumber]
"""Reads a named feature from a structure."""

DecidedBy: TypeAlias = Literal["entry", "consumers", "schedule"]
"""The entries that a feature of a Func depends on: the entry of the Func; also the entries of its
direct and indirect consumers; or all entries.
"""

_P = ParamSpec("_P")


@frozen
class NamedFeature:
    """A feature that formulas may name.

    Attributes:
        name: the name of its function.
        reader: makes the reader for some arguments.
        decided_by: the entries that it depends on.
        device: the kind of device that has it; None for both.
        later: whether its value over some Funcs may rise or fall if more Funcs count.
    """

    name: str
    reader: Callable[..., FeatureReader]
    decided_by: DecidedBy
    device: type[Device] | None = None
    later: Trend = Trend.ANY

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of its arguments."""
        return tuple(inspect.signature(self.reader).parameters)

    def written(self, args: tuple[object, ...]) -> str:
        """The feature with arguments, as formulas name it."""
        return f"{self.name}({', '.join(map(str, args))})" if self.takes else self.name


NAMED_FEATURES: dict[str, NamedFeature] = {}
"""All named features."""


def _name_feature(
    decided_by: DecidedBy, device: type[Device] | None = None
) -> Callable[[Callable[_P, FeatureReader]], Callable[_P, Expr]]:
    """Turns a function that returns a reader into one that returns the name of the feature, as an
    expression.
    """

    def named(reader: Callable[_P, FeatureReader]) -> Callable[_P, Expr]:
        feature = NamedFeature(reader.__name__, reader, decided_by, device)
        NAMED_FEATURES[feature.name] = feature
        signature = inspect.signature(reader)

        @functools.wraps(reader)
        def name(*args: _P.args, **kwargs: _P.kwargs) -> Expr:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            return _variable(feature, tuple(given.arguments.values()))

        name.__annotations__ = {**reader.__annotations__, "return": "Expr"}
        return name

    return named


def _variable(feature: NamedFeature, args: tuple[object, ...]) -> Expr:
    """The expression that stands for a feature; stage 0 is not written.

    Raises:
        TypeError: an argument is not the name of a Func or loop, or the number of a stage.
    """
    for takes, given in zip(feature.takes, args, strict=True):
        wanted = int if takes == "stage" else str
        if not isinstance(given, wanted) or isinstance(given, bool):
            what = "the number of a stage" if wanted is int else f"the name of a {_NOUNS[takes]}"
            raise TypeError(f"{feature.name} takes {what} as {takes}, not {given!r}.")
    shortest = args[:-1] if feature.takes[-1:] == ("stage",) and args[-1] == 0 else args
    return Variable(Int32, feature.written(shortest))


_NOUNS = {"func": "Func", "loop": "loop", "var": "Var"}


@_name_feature("entry")
def factor(func: str, loop: str, stage: int = 0) -> FeatureReader:
    """The factor of the split whose inner loop is ``loop``."""

    def read(about: StructureFeatures) -> SymbolicNumber:
        for entry in about.schedule.funcs:
            if entry.name == func and not entry.compute.is_inline and stage < len(entry.stages):
                for record in entry.stages[stage].splits:
                    if isinstance(record, Split) and record.inner == loop:
                        number = record.factor
                        return Variable(Int32, number) if isinstance(number, str) else number
        return 0

    return read


@_name_feature("consumers")
def iterations(func: str, loop: str, stage: int = 0) -> FeatureReader:
    """The iterations of a loop of a Func in a typical visit."""

    def read(about: StructureFeatures) -> SymbolicNumber:
        found = about.stage(func, stage)
        trips = (one.trips for one in found.own if one.loop == loop) if found else ()
        return next(iter(trips), 0)

    return read


@_name_feature("consumers")
def extent(func: str, var: str) -> FeatureReader:
    """How many values of a Func its consumers need along a Var in a typical visit."""

    def read(about: StructureFeatures) -> SymbolicNumber:
        found = about.func(func)
        if found is None or var not in found.args:
            return 0
        return found.required[found.args.index(var)]

    return read


@_name_feature("consumers")
def lanes(func: str, stage: int = 0) -> FeatureReader:
    """The iterations of the vectorized loops of a stage, 1 without vectorized loops."""
    return _of_stage(func, stage, lambda about, found: found.lanes)


@_name_feature("consumers", CpuDevice)
def tasks(func: str, stage: int = 0) -> FeatureReader:
    """The iterations of all parallel loops around a stage, 1 without parallel loops."""
    return _of_stage(func, stage, lambda about, found: parallel_iterations(found))


@_name_feature("schedule", GpuDevice)
def threads(func: str, stage: int = 0) -> FeatureReader:
    """The threads of a block of the kernel that computes a stage."""
    return _of_kernel(func, stage, lambda about, kernel: kernel.threads)


@_name_feature("consumers", GpuDevice)
def blocks(func: str, stage: int = 0) -> FeatureReader:
    """The blocks of the grid of the kernel that computes a stage, in a typical launch."""
    return _of_kernel(func, stage, lambda about, kernel: kernel.blocks)


@_name_feature("schedule", GpuDevice)
def shared_bytes(func: str, stage: int = 0) -> FeatureReader:
    """The bytes of shared memory of a block of the kernel that computes a stage."""
    return _of_kernel(func, stage, lambda about, kernel: kernel.shared_bytes)


@_name_feature("schedule", GpuDevice)
def occupancy_percent(func: str, stage: int = 0) -> FeatureReader:
    """The warps of the kernel that computes a stage which one multiprocessor holds, in percent of
    the most that it can hold. A thread is assumed to take 64 registers, fewer in large blocks.
    """
    return _of_kernel(func, stage, occupancy_of)


@_name_feature("consumers")
def points(func: str) -> FeatureReader:
    """How many values the pure definition of a Func computes, redundant ones included."""
    return _of_func(func, lambda about, found: found.points)


@_name_feature("consumers")
def distinct(func: str) -> FeatureReader:
    """How many values of a Func its consumers need, each counted once."""
    return _of_func(func, lambda about, found: found.distinct)


@_name_feature("consumers")
def redundant(func: str) -> FeatureReader:
    """How many values of a Func are computed again."""
    return _of_func(func, lambda about, found: found.redundant)


@_name_feature("consumers")
def visits(func: str) -> FeatureReader:
    """How often a Func is computed."""
    return _of_func(func, lambda about, found: found.visits)


@_name_feature("consumers")
def allocations(func: str) -> FeatureReader:
    """How often a Func is allocated."""
    return _of_func(func, lambda about, found: found.allocations)


@_name_feature("consumers")
def bytes_stored(func: str) -> FeatureReader:
    """The bytes of one allocation of a Func, after folding; 0 for outputs, which the caller
    allocates.
    """
    return _of_func(func, lambda about, found: found.allocation_bytes)


@_name_feature("consumers")
def stores(func: str) -> FeatureReader:
    """How many values all stages of a Func store."""
    return _of_func(func, lambda about, found: found.stores)


@_name_feature("schedule")
def loads(func: str) -> FeatureReader:
    """How many values of Funcs and images all stages of a Func read."""
    return _of_func(func, lambda about, found: total(map(reads_of, found.stages)))


@_name_feature("schedule")
def working_set(func: str) -> FeatureReader:
    """The bytes that one visit of a Func touches: the values that its consumers need, and what its
    stages read of each other buffer, with the whole domains of their RVars.
    """
    return _of_func(func, lambda about, found: about.features.working_set(func))


@_name_feature("schedule")
def reuse_distance(func: str) -> FeatureReader:
    """The largest number of reads between computing a value of a Func and reading it."""
    return _of_func(func, lambda about, found: about.features.reuse_distance(func))


def _least_tasks() -> FeatureReader:
    def read(about: StructureFeatures) -> SymbolicNumber:
        return reduce(minimum, map(parallel_iterations, about.features.stages))

    return read


def _bytes() -> FeatureReader:
    def read(about: StructureFeatures) -> SymbolicNumber:
        return total(func.allocation_bytes for func in about.features.funcs)

    return read


def _name_whole(
    name: str,
    decided_by: DecidedBy,
    reader: Callable[[], FeatureReader],
    device: type[Device] | None,
    later: Trend = Trend.ANY,
) -> Expr:
    """A feature without arguments, of the whole schedule or the device."""
    NAMED_FEATURES[name] = NamedFeature(name, reader, decided_by, device, later)
    return Variable(Int32, name)


parallel_tasks = _name_whole("parallel_tasks", "schedule", _least_tasks, CpuDevice, Trend.FALLS)
"""The fewest tasks of any stage of a schedule: the iterations of all parallel loops around it."""

total_bytes = _name_whole("total_bytes", "schedule", _bytes, None, Trend.RISES)
"""The bytes of one allocation of each Func, added up."""

cores = _name_whole("cores", "entry", lambda: lambda about: about.device.cores, CpuDevice)  # type: ignore[union-attr]
"""The cores of the CPU."""

multiprocessors = _name_whole(
    "multiprocessors",
    "entry",
    lambda: lambda about: about.device.sm_count,  # type: ignore[union-attr]
    GpuDevice,
)
"""The multiprocessors of the GPU."""


def _of_func(
    func: str, count: Callable[[StructureFeatures, FuncFeatures], SymbolicNumber]
) -> FeatureReader:
    def read(about: StructureFeatures) -> SymbolicNumber:
        found = about.func(func)
        return 0 if found is None else count(about, found)

    return read


def _of_stage(
    func: str, stage: int, count: Callable[[StructureFeatures, StageFeatures], SymbolicNumber]
) -> FeatureReader:
    def read(about: StructureFeatures) -> SymbolicNumber:
        found = about.stage(func, stage)
        return 0 if found is None else count(about, found)

    return read


def _of_kernel(
    func: str, stage: int, count: Callable[[StructureFeatures, KernelFeatures], SymbolicNumber]
) -> FeatureReader:
    def read(about: StructureFeatures) -> SymbolicNumber:
        found = about.kernel(func, stage)
        return 0 if found is None else count(about, found)

    return read
