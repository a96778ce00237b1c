"""Families of schedules: split and fold factors that are names stand for numbers given later."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from attrs import evolve

from spaces.model.schedules.domain_order import DomainOrder, Factor, Split
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def parameters(schedule: Schedule) -> tuple[str, ...]:
    """Names that stand for factors in ``schedule``, each once, in order of first use."""
    return tuple(dict.fromkeys(n for func in schedule.funcs for n in entry_parameters(func)))


@lru_cache(maxsize=4096)
def entry_parameters(entry: FuncSchedule) -> tuple[str, ...]:
    """The parameters of the entry of one Func."""
    return tuple(dict.fromkeys(f for f in _factors(entry) if isinstance(f, str)))


def bind(schedule: Schedule, values: Mapping[str, int]) -> Schedule:
    """``schedule`` with each factor that is named in ``values`` replaced by its number."""
    return schedule.with_funcs(_bound(func, values) for func in schedule.funcs)


def _factors(func: FuncSchedule) -> list[Factor]:
    orders = (*func.stages, *(special.order for special in func.specializations))
    splits = [r.factor for order in orders for r in order.splits if isinstance(r, Split)]
    return [*splits, *(fold.factor for fold in func.folds)]


def _bound(func: FuncSchedule, values: Mapping[str, int]) -> FuncSchedule:
    own = tuple((name, values[name]) for name in entry_parameters(func) if name in values)
    return _with_numbers(func, own) if own else func


@lru_cache(maxsize=4096)
def _with_numbers(func: FuncSchedule, numbers: tuple[tuple[str, int], ...]) -> FuncSchedule:
    """The entry with numbers for some of its parameters: the same object each time, since searches
    give the Funcs that they have decided the same numbers in each candidate.
    """
    values = dict(numbers)

    def number(factor: Factor) -> Factor:
        return values.get(factor, factor) if isinstance(factor, str) else factor

    def numbered(order: DomainOrder) -> DomainOrder:
        splits = (
            evolve(r, factor=number(r.factor)) if isinstance(r, Split) else r for r in order.splits
        )
        return evolve(order, splits=tuple(splits))

    return evolve(
        func,
        stages=tuple(map(numbered, func.stages)),
        folds=tuple(evolve(fold, factor=number(fold.factor)) for fold in func.folds),
        specializations=tuple(
            evolve(special, order=numbered(special.order)) for special in func.specializations
        ),
    )
