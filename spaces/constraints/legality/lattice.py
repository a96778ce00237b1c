"""Legality of a whole lattice of tile sizes: reads the formulas of the rules as arrays, and as
machine code where the lattice is large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import evolve
from numpy.typing import ArrayLike, NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.judge import (
    ask_matching,
    ask_nest,
    ask_pipeline,
    ask_records,
    ask_specializations,
    bounds_of,
    judged_in,
    pipeline_faults,
)
from spaces.constraints.legality.tail_families import tail_families
from spaces.constraints.rules.findings import Asked
from spaces.constraints.rules.matching import open_parameter
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.algebra import ARRAYS, read_all
from spaces.model.formulas.instructions import NotNativeError
from spaces.model.formulas.native import all_hold
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.cases import Case, cases, is_specialized
from spaces.model.schedules.derive import derived
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule

Columns: TypeAlias = Mapping[str, NDArray[np.int64]]
"""The values of each parameter, one for each choice; the arrays broadcast together."""

MANY = 1 << 17
"""Machine code judges lattices of at least this many choices. To compile it takes 40 to 60 ms.
Arrays judge 1 to 150 million choices a second, so they take 1 to 120 ms for that many; machine code
judges 100 to 1000 million a second.
"""


def legal_mask(
    pipeline: Pipeline,
    structure: Schedule,
    device: Device,
    values: Mapping[str, ArrayLike],
    *,
    exact: bool = False,
    memo: NestMemo | None = None,
) -> NDArray[np.bool_]:
    """Which members of a family of schedules are legal.

    Args:
        pipeline: the pipeline.
        structure: a schedule with names as some of its factors.
        device: the device to judge for.
        values: an array of integers for each name; the arrays broadcast together.
        exact: refuse inexact members, as :func:`~spaces.constraints.legality.verify.verify` does.
        memo: what earlier calls have found; the result is the same without.

    Returns:
        Booleans in the shape of the broadcast arrays. One loop nest serves all members with the
        same automatic tails. It may miss what is provable only with known numbers, such as that a
        loop is constant if a factor is 1. The mask then says illegal where
        :func:`~spaces.constraints.legality.verify.verify` says legal. The reverse never happens.

    Raises:
        ValueError: a name has no array.
        TypeError: an argument is not a Pipeline, a Schedule or a Device.
    """
    check_given("legal_mask", pipeline=pipeline, schedule=structure, device=device)
    missing = [name for name in parameters(structure) if name not in values]
    if missing:
        raise ValueError(f"No values are given for the parameters {', '.join(missing)}.")
    arrays = {name: np.asarray(array, dtype=np.int64) for name, array in values.items()}
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    mask = np.ones(shape, dtype=np.bool_)
    for conditions, sizes in judged_conditions(pipeline, structure, device, exact=exact, memo=memo):
        known = {**sizes, **arrays}
        decided = [c for c in conditions if all(name in known for name in c.names)]
        mask &= holding(decided, known, shape)
    return mask


def judged_conditions(
    pipeline: Pipeline,
    structure: Schedule,
    device: Device,
    *,
    exact: bool = False,
    memo: NestMemo | None = None,
) -> Iterator[tuple[tuple[Expr, ...], Mapping[str, float]]]:
    """What holds of the legal members of a family. Each case of its specializations has conditions
    on factors and sizes, and the sizes that are known there. A condition on other sizes decides
    nothing.
    """
    for asked, sizes in judged_checks(pipeline, structure, device, exact=exact, memo=memo):
        yield tuple(dict.fromkeys(item.check.holds for item in asked)), sizes


def judged_checks(
    pipeline: Pipeline,
    structure: Schedule,
    device: Device,
    *,
    exact: bool = False,
    memo: NestMemo | None = None,
) -> Iterator[tuple[tuple[Asked, ...], Mapping[str, float]]]:
    """The checks behind :func:`judged_conditions`, likewise."""
    wrong = _wrong_cases(pipeline, structure, device) if is_specialized(structure) else ()
    if wrong or pipeline_faults(pipeline, device):
        yield wrong or tuple(ask_pipeline(pipeline, device)), pipeline.usual_values()
        return
    for case in cases(structure):
        if not case.failure:
            judged = judged_in(pipeline, case)
            yield family_checks(judged, case, device, exact=exact, memo=memo), judged.usual_values()


def holding(
    conditions: Sequence[Expr], values: Mapping[str, Any], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Where all ``conditions`` hold, by the faster reading."""
    if math.prod(shape) >= MANY:
        try:
            return all_hold(conditions, values)
        except NotNativeError:
            pass
    mask = np.ones(shape, dtype=np.bool_)
    for holds in conditions:
        mask &= np.asarray(read_all((holds,), values, ARRAYS)[0], dtype=np.bool_)
    return mask


def _wrong_cases(pipeline: Pipeline, structure: Schedule, device: Device) -> tuple[Asked, ...]:
    """The checks about specializations that make every member of a family illegal."""
    matching = _misfits(pipeline, structure)
    if matching:
        return matching
    asked = ask_specializations(Records(pipeline, structure, device))
    return tuple(filter(is_violated, asked))


def _misfits(pipeline: Pipeline, structure: Schedule) -> tuple[Asked, ...]:
    """What is wrong with the entries that a family has, but for its names as factors."""
    return tuple(a for a in ask_matching(pipeline, structure) if a.rule is not open_parameter)


def family_checks(
    pipeline: Pipeline,
    case: Case,
    device: Device,
    *,
    exact: bool = False,
    memo: NestMemo | None = None,
) -> tuple[Asked, ...]:
    """The checks of a family in one case of its specializations. Checks of the loop nest follow
    only if those about records can hold.
    """
    structure = case.schedule
    matching = _misfits(pipeline, structure)
    if matching:
        return matching
    return tuple(
        evolve(item, check=evolve(item.check, holds=family.holds(item.check.holds)))
        for family in tail_families(derived(pipeline, structure), structure)
        for item in _checks(pipeline, evolve(case, schedule=family.schedule), device, exact, memo)
    )


def _checks(
    pipeline: Pipeline, case: Case, device: Device, exact: bool, memo: NestMemo | None
) -> tuple[Asked, ...]:
    """The checks of a family whose tails are alike."""
    records = tuple(ask_records(Records(pipeline, case.schedule, device), exact=exact))
    if any(is_violated(item) for item in records):
        return records
    bounds = bounds_of(pipeline, case.schedule, case.assumptions, memo)
    return (*records, *ask_nest(bounds, device))


def is_violated(item: Asked) -> bool:
    """Whether a check fails for all parameters and sizes."""
    return isinstance(item.check.holds, Const) and not item.check.holds.value
