"""Lower bounds of the cost of all completions of a partial schedule.

The Funcs that no later decision changes have the same features in every completion. So the least
cost of a Func, as the model gives it, holds for all completions, and the sum over these Funcs is a
lower bound of the cost:

- Operations and reads of a stage do not count if it reads an open Func that may be inlined. What
  is inlined may be a constant, or a value that the stage computes anyway. Nor do they count if it
  reads an open Tuple, whose components are images of their own until it is decided. Nor do they
  count if it reads an open Func whose dimensions may get another order in memory.
- A number that is open counts with its cheapest choice, for each Func alone. A Func that depends on
  too many choices counts when some of them have a number.

Costs are those of choices of a structure, as searches price them. A schedule that has numbers for
factors from the start may have simpler formulas and another cost: where a window slides, what a
typical iteration computes is an estimate.

Each decision adds Funcs to the sum, or operations and reads to a Func, or leaves less choices. So
the bound never falls from a decision to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
from attrs import evolve

from spaces.cost.model import BoundedModel, CostModel
from spaces.enumerate.search.feature_memos import feature_memo
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.places import FuncPlaces
from spaces.enumerate.space.process.final_funcs import final_funcs
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.orders import menu_of
from spaces.features.extraction import extract_features
from spaces.features.features import Features
from spaces.features.records import FuncFeatures
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.formulas.symbolic import as_array
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.cases import followed
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import FuncSchedule, Schedule

_MOST_CHOICES = 1 << 14
"""The most choices of the parameters of a Func that are tried."""

_ROUNDED_DOWN = 1 - 2.0**-40
"""More than the difference between sums of the same floats in different orders."""


def decided_features(partial: PartialSchedule) -> Features | None:
    """The features of the decided Funcs, as formulas over factors without a number and sizes. They
    read the other Funcs as images. None if no Func is decided, or if an index that they read has no
    limit yet.
    """
    state = partial.state
    decided = frozenset(entry.name for entry in state.entries)
    if not decided:
        return None
    part = decided_part(state.pipeline, decided)
    try:
        return extract_features(
            part, bind(Schedule(state.entries, part.derivations), state.numbers)
        )
    except UnboundedError:
        return None


def lower_bound(partial: PartialSchedule, model: CostModel) -> float:
    """A lower bound of the cost of all completions of a partial schedule, at the estimates, as a
    search prices choices of a structure. It never falls from a decision to the next. Minus infinity
    if the model is no :class:`BoundedModel`.
    """
    state = partial.state
    if not isinstance(model, BoundedModel):
        return -math.inf
    parts = _final_parts(state)
    first = next(parts)
    bound = float(as_array(model.least(first)))
    for part in parts:
        bound += _find_least_cost(state, model, part)
    return bound * _ROUNDED_DOWN


def _find_least_cost(state: ProcessState, model: BoundedModel, part: Features) -> float:
    """The least cost of a Func over all choices of its parameters; 0 if there are too many, or if a
    scalar without a default decides on it.
    """
    named = part.names
    chosen = {name: (number,) for name, number in state.numbers.items()}
    menus = {n: m for n, m in {**state.menus, **chosen}.items() if n in named}
    if math.prod(map(len, menus.values())) > _MOST_CHOICES:
        return 0.0
    axes = np.ix_(*menus.values()) if menus else ()
    columns = {n: a.astype(np.int64) for n, a in zip(menus, axes, strict=True)}
    pipeline = state.pipeline
    known = {**pipeline.scalar_defaults(), **pipeline.sizes(), **columns}
    if not named <= known.keys():
        return 0.0
    return float(as_array(model.least(part.read(known))).min())


def _final_parts(state: ProcessState) -> Iterator[Features]:
    """Features without any Func, and then with one more final Func each time (:func:`final_funcs`),
    in the order of decisions. Stages have only the operations and reads that they have in all
    completions.
    """
    entries, found = _select_countable(state)
    inlined = frozenset(entry.name for entry in state.entries if entry.compute.is_inline)
    decided = frozenset(entry.name for entry in state.entries)
    readers = _readers_of_images(state.pipeline, decided, inlined)
    alone = evolve(found, funcs=(), kernels=(), readers=readers)
    yield alone
    kept = final_funcs(state, entries)
    decided = frozenset(entry.name for entry in entries)
    unsure = frozenset(
        buffer
        for function in state.pipeline.functions
        if function.name not in decided and _changes_readers(state, function)
        for buffer in function.buffers
    )
    for func in reversed(found.funcs):
        if func.name in kept:
            yield evolve(alone, funcs=(_with_sure_work(found, func, unsure),))


def _select_countable(state: ProcessState) -> tuple[tuple[FuncSchedule, ...], Features]:
    """The features of the Funcs decided so far, and their entries: as many as have a loop nest
    while the others are images. A Func that is computed with an open one is alone meanwhile.
    """
    names = {entry.name for entry in state.entries}
    alone = [
        evolve(one, companions=tuple(c for c in one.companions if c.other.func in names))
        for one in state.entries
    ]
    entries = tuple(alone)
    while True:
        part = decided_part(state.pipeline, frozenset(entry.name for entry in entries))
        schedule = followed(Schedule(entries, part.derivations), state.pipeline.sizes())
        try:
            return entries, extract_features(part, schedule, feature_memo(state.nests))
        except (LevelError, OrderError, UnboundedError):
            entries = entries[1:]


@lru_cache(maxsize=256)
def _readers_of_images(
    pipeline: Pipeline, decided: frozenset[str], inlined: frozenset[str]
) -> Mapping[str, frozenset[str]]:
    """The Funcs that may read each image in a completion: directly, or through Funcs that are
    inlined into them.
    """
    hosts: dict[str, frozenset[str]] = {}
    readers: dict[str, frozenset[str]] = {image.name: frozenset() for image in pipeline.images}
    for function in reversed(pipeline.functions):
        name = function.name
        own = frozenset() if name in inlined else frozenset((name,))
        if name in inlined or name not in decided:
            own = own.union(*(hosts[one] for one in pipeline.consumers(name) if one != name))
        hosts[name] = own
        for image in readers.keys() & set(function.callees):
            readers[image] |= own
    return readers


def _changes_readers(state: ProcessState, function: Function) -> bool:
    """Whether a decision about an open Func may change what its readers compute and read."""
    given = next((entry for entry in state.given if entry.name == function.name), None)
    if given is None:
        may_inline = FuncPlaces.of(state.pipeline, state.choices, function.name).inline
        is_output = function.name in state.pipeline.outputs
        may_reorder = not is_output and (
            "reorder_storage" in state.choices.directives
            or menu_of(state, function.name).may_reorder_storage
        )
    else:
        may_inline, may_reorder = given.compute.is_inline, bool(given.storage_orders)
    return may_inline or may_reorder or len(function.types) > 1


def _with_sure_work(found: Features, func: FuncFeatures, unsure: frozenset[str]) -> FuncFeatures:
    """A Func whose stages have only the operations and reads that no decision changes."""
    stages = []
    for stage in func.stages:
        definition = found.pipeline.function(func.name).stages[stage.index]
        if not unsure.isdisjoint(definition.callees):
            own = tuple(a for a in stage.work.accesses if a.buffer == func.name)
            stage = evolve(stage, work=evolve(stage.work, accesses=own, parts=()))
        stages.append(stage)
    return evolve(func, stages=tuple(stages))
