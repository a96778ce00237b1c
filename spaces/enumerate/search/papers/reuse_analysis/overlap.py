"""Overlaps between the regions that neighboring iterations of a consumer read [S19 4.1]."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from spaces.features.accesses import ReadGroup
from spaces.features.features import read_extents
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.formulas.symbolic import as_array


def overlap(access: ReadGroup, var: str, dimensions: tuple[str, ...]) -> int:
    """How many values of a read region two neighboring iterations along ``var`` share: v of
    [S19] (1).

    Two boxes of extent e1 whose hull has the extent e2 share ``2 * e1 - e2`` coordinates. A Var
    that moves no index shares everything: that is one iteration's region, so the result is 1.

    Args:
        access: the reads of the consumer.
        var: a Var or RVar of the consumer.
        dimensions: all Vars and RVars of the consumer.
    """
    still = dict.fromkeys(dimensions, 1)
    one = read_extents(access, still)
    two = read_extents(access, {**still, var: 2})
    shared = [
        2 * int(as_array(first)) - int(as_array(both))
        for index, first, both in zip(access.indices, one, two, strict=True)
        if index.step(var)
    ]
    return max(0, min(shared, default=1))


@frozen
class Dependence:
    """What one Func reads of another one: Y of [S19] 4.1.

    Attributes:
        consumer: the Func that reads.
        overlaps: the overlap along each Var and RVar of the consumer, without zeros.
        is_known: whether indices alone determine what is read, and no values.
    """

    consumer: str
    overlaps: Mapping[str, int] = field(eq=False)
    is_known: bool


def dependences(pipeline: Pipeline, producer: str) -> tuple[Dependence, ...]:
    """The dependences of all consumers on a Func: W of [S19] 4.1."""
    readers = (pipeline.function(name) for name in pipeline.consumers(producer))
    return tuple(_dependence(reader, producer) for reader in readers)


def _dependence(consumer: Function, producer: str) -> Dependence:
    overlaps: dict[str, int] = {}
    is_known = True
    for stage in consumer.stages:
        for access in stage_work(stage).accesses:
            if access.buffer == producer:
                is_known &= all(index.is_known for index in access.indices)
                for var in stage.dimensions:
                    shared = overlap(access, var, stage.dimensions)
                    overlaps[var] = max(overlaps.get(var, 0), shared)
    return Dependence(consumer.name, {var: v for var, v in overlaps.items() if v}, is_known)


@frozen
class OutputOrigin:
    """Which loops of the output of a pipeline move a Func.

    Attributes:
        dimensions: for each Var of the Func, the dimensions of the output that move it.
        stages: the stages of the output that read the Func, directly or through others.
    """

    dimensions: Mapping[str, frozenset[str]] = field(eq=False)
    stages: frozenset[int]


def origins(pipeline: Pipeline, output: str) -> dict[str, OutputOrigin]:
    """The origin of each Func that ``output`` reads, directly or through others."""
    found: dict[str, OutputOrigin] = {}
    for function in reversed(pipeline.functions):
        readers = [pipeline.function(name) for name in pipeline.consumers(function.name)]
        moved: dict[str, frozenset[str]] = dict.fromkeys(function.args, frozenset())
        stages: frozenset[int] = frozenset()
        for reader in readers:
            if reader.name != output and reader.name not in found:
                continue
            for number, stage in enumerate(reader.stages):
                accesses = [a for a in stage_work(stage).accesses if a.buffer == function.name]
                if not accesses:
                    continue
                stages |= {number} if reader.name == output else found[reader.name].stages
                for access in accesses:
                    for arg, index in zip(function.args, access.indices, strict=True):
                        for var, _ in index.moves:
                            moved[arg] |= in_output(found, output, reader.name, var)
        if stages:
            found[function.name] = OutputOrigin(moved, stages)
    return found


def in_output(
    found: Mapping[str, OutputOrigin], output: str, func: str, var: str
) -> frozenset[str]:
    """The dimensions of the output that move a Var of a Func; none for other RVars."""
    if func == output:
        return frozenset((var,))
    return found[func].dimensions.get(var, frozenset())
