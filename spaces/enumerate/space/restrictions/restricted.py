"""What the restrictions of a space say about schedules, whole lattices and partial schedules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.lattice import Columns
from spaces.constraints.rules.findings import Asked, Violation, fails, violation
from spaces.constraints.rules.rule import RESTRICTION, SpaceRule
from spaces.constraints.solver.clauses import readers
from spaces.enumerate.space.restrictions.restriction import (
    FeatureCondition,
    PartialPredicate,
    Predicate,
    Restriction,
)
from spaces.features.trend import Trend, trend
from spaces.features.used_features import UsedFeature, used_feature
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import ask_clock
from spaces.model.formulas.algebra import ARRAYS, read_all
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import ROOT, FuncSchedule, Schedule

_MOST_CHOICES = 1 << 14
"""The most choices of the parameters of a condition that are tried for a partial schedule."""


@frozen
class Restricted:
    """The restrictions of one space.

    Attributes:
        where: the restrictions.
        pipeline: the pipeline of the space.
        device: its device.
    """

    where: tuple[Restriction, ...]
    pipeline: Pipeline
    device: Device

    @property
    def conditions(self) -> tuple[FeatureCondition, ...]:
        """The restrictions by formulas."""
        return tuple(one for one in self.where if isinstance(one, FeatureCondition))

    @property
    def predicates(self) -> tuple[Predicate | PartialPredicate, ...]:
        """The restrictions by Python functions."""
        return tuple(one for one in self.where if not isinstance(one, FeatureCondition))

    @property
    def rules(self) -> tuple[SpaceRule, ...]:
        """The conditions as rules."""
        return tuple(one.rule(self.pipeline, self.device) for one in self.conditions)

    def broken(self, schedule: Schedule) -> Iterator[Violation]:
        """The restrictions that a legal schedule does not satisfy."""
        for rule in self.rules:
            for check in rule.check(schedule, self.pipeline.name):
                if fails(check, {}, {}):
                    yield violation(Asked(rule, check), {})
        for predicate in self.predicates:
            if not predicate.allows(schedule):
                message = f"The space is restricted to schedules for which {predicate} is true."
                yield Violation(f"{RESTRICTION}{predicate}", self.pipeline.name, 0, "", message)

    def allows(self, schedule: Schedule) -> bool:
        """Whether the predicates allow a schedule, or may allow a completion of a partial one."""
        return next(self.refusing_predicates(schedule), None) is None

    def refusing_predicates(self, schedule: Schedule) -> Iterator[Predicate | PartialPredicate]:
        """The predicates that refuse a schedule, or all completions of a partial one."""
        ask_clock()
        is_whole = len(schedule.funcs) >= len(self.pipeline.functions) and not parameters(schedule)
        asked = (one for one in self.predicates if is_whole or isinstance(one, PartialPredicate))
        return (one for one in asked if not one.allows(schedule))

    def mask(
        self, structure: Schedule, columns: Columns, legal: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which of the legal choices of a structure satisfy all restrictions."""
        mask = self.conditions_mask(structure, columns, legal, self.pipeline)
        if self.predicates:
            for index in np.flatnonzero(mask):
                place = np.unravel_index(index, mask.shape) if mask.shape else ()
                numbers = {
                    n: int(np.broadcast_to(c, mask.shape)[place]) for n, c in columns.items()
                }
                mask.flat[index] = self.allows(bind(structure, numbers))
        return mask

    def conditions_mask(
        self,
        structure: Schedule,
        columns: Columns,
        legal: NDArray[np.bool_],
        pipeline: Pipeline,
    ) -> NDArray[np.bool_]:
        """Which of the legal choices of a structure satisfy the conditions.

        Args:
            structure: the structure.
            columns: the numbers of its parameters.
            legal: the choices to judge.
            pipeline: the pipeline of the space, or of the Funcs decided so far; the conditions that
                open Funcs may change then do not count.
        """
        mask = np.array(legal)
        open_ = _open(self.pipeline, structure)
        decided = frozenset(entry.name for entry in structure.funcs)
        for condition in self.conditions if mask.any() else ():
            if _is_decided(condition, open_, decided):
                for check in condition.rule(pipeline, self.device).check(structure, pipeline.name):
                    holds = read_all((check.holds,), dict(columns), ARRAYS)[0]
                    mask &= np.asarray(holds, dtype=np.bool_)
        return mask

    def condition_mask(
        self, condition: FeatureCondition, structure: Schedule, columns: Columns
    ) -> NDArray[np.bool_]:
        """Which choices of a structure, legal or not, satisfy a condition. None does where the
        structure has no loop nest.
        """
        rule = condition.rule(self.pipeline, self.device)
        try:
            (check,) = rule.check(structure, self.pipeline.name)
        except (LevelError, OrderError, UnboundedError):
            return np.zeros((), dtype=np.bool_)
        return np.asarray(read_all((check.holds,), dict(columns), ARRAYS)[0], dtype=np.bool_)

    def hopeless_restrictions(
        self,
        pipeline: Pipeline,
        entries: tuple[FuncSchedule, ...],
        numbers: Mapping[str, int],
        menus: Mapping[str, tuple[int, ...]],
        final: frozenset[str],
    ) -> Iterator[Restriction]:
        """The restrictions that no completion of a partial schedule satisfies.

        A condition counts if no open decision changes what it reads. It also counts if open
        decisions can only make it false. More Funcs can only lower ``parallel_tasks``, the minimum
        over all, and raise ``total_bytes``, the sum over all; so the values of the final Funcs
        alone are limits. The other features that depend on the whole schedule have no such limit
        here: what an open Func adds to a kernel, or to what its readers load, may go either way.

        Args:
            pipeline: the pipeline, as the derivations chosen so far make it.
            entries: the Funcs decided so far; a Func is decided after its consumers.
            numbers: the numbers of some of their factors.
            menus: the numbers that other factors may have.
            final: the Funcs whose loops and storage no open decision changes.
        """
        decided = bind(Schedule(entries, pipeline.derivations), numbers)
        yield from self.refusing_predicates(decided)
        open_ = _open(pipeline, decided)
        stored = frozenset(e.name for e in entries if not e.compute.is_inline) & final
        for condition in self.conditions:
            only: frozenset[str] | None = None
            structure = decided
            if _is_decided(condition, open_, final):
                funcs = {used.func for used in condition.features}
                structure = _with_consumers(pipeline, decided, funcs) if open_ else decided
            elif stored and _only_falls(condition, open_, final):
                only, structure = stored, _with_consumers(pipeline, decided, set(final))
            else:
                continue
            factors = tuple((name, menus[name]) for name in parameters(structure))
            if not _may_hold(condition, self.pipeline, structure, self.device, factors, only):
                yield condition


def _open(pipeline: Pipeline, decided: Schedule) -> frozenset[str]:
    """The Funcs without an entry."""
    names = {function.name for function in pipeline.functions}
    return frozenset(names - {entry.name for entry in decided.funcs})


def _is_decided(condition: FeatureCondition, open_: frozenset[str], final: frozenset[str]) -> bool:
    """Whether no Func that is still open changes what a condition reads."""
    return not open_ or all(_is_steady(used, open_, final) for used in condition.features)


def _is_steady(used: UsedFeature, open_: frozenset[str], final: frozenset[str]) -> bool:
    """Whether no Func that is still open changes a feature."""
    if used.feature.decided_by == "entry":
        return used.func not in open_
    return used.feature.decided_by == "consumers" and used.func in final


def _only_falls(condition: FeatureCondition, open_: frozenset[str], final: frozenset[str]) -> bool:
    """Whether a condition that the final Funcs alone do not satisfy is false for all."""

    def later(name: str) -> Trend:
        used = used_feature(name)
        return Trend.STEADY if _is_steady(used, open_, final) else used.feature.later

    return Trend.RISES not in trend(condition.holds, later)


def _with_consumers(pipeline: Pipeline, decided: Schedule, funcs: set[str]) -> Schedule:
    """A whole schedule that has the entries of some Funcs and their consumers; the others are at
    root. So partial schedules that differ elsewhere have the same one.
    """
    consumers = readers(pipeline)
    kept = funcs.union(*(consumers.get(func, frozenset()) for func in funcs))
    entries = []
    for entry in Schedule.default(pipeline).funcs:
        if entry.name in kept:
            entries.append(decided.of(entry.name))
        elif pipeline.consumers(entry.name):
            entries.append(evolve(entry, compute=ROOT, store=ROOT))
        else:
            entries.append(entry)
    return Schedule(tuple(entries), pipeline.derivations)


@lru_cache(maxsize=4096)
def _may_hold(
    condition: FeatureCondition,
    pipeline: Pipeline,
    structure: Schedule,
    device: Device,
    menus: tuple[tuple[str, tuple[int, ...]], ...],
    only: frozenset[str] | None,
) -> bool:
    """Whether a condition holds for some numbers of a structure, and the Funcs that count."""
    try:
        (check,) = condition.rule(pipeline, device, only).check(structure, pipeline.name)
    except (LevelError, OrderError, UnboundedError):
        return True  # rules judge such a structure
    open_ = {name: menu for name, menu in menus if name in check.holds.names}
    if len(open_) < len(check.holds.names) or math.prod(map(len, open_.values())) > _MOST_CHOICES:
        return True
    axes = np.ix_(*open_.values()) if open_ else ()
    columns = {n: a.astype(np.int64) for n, a in zip(open_, axes, strict=True)}
    return bool(np.any(read_all((check.holds,), columns, ARRAYS)[0]))
