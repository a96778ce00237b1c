"""The domain orders of a Func: one for each stage, and one for each of its specializations."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.schedule import FuncSchedule, Specialization, StageOf


@frozen
class OrderOf:
    """One domain order of a Func.

    Attributes:
        stage: the stage.
        case: the number of the specialization among those of the stage, in the order in which they
            are tested; None for the order where no condition holds.
    """

    stage: StageOf
    case: int | None = None

    @property
    def func(self) -> str:
        """The Func."""
        return self.stage.func

    def __str__(self) -> str:
        return str(self.stage) if self.case is None else f"{self.stage} case {self.case}"

    def order(self, entry: FuncSchedule) -> DomainOrder:
        """The order in an entry."""
        if self.case is None:
            return entry.stages[self.stage.stage]
        return cases_of(entry, self.stage.stage)[self.case].order

    def replaced(self, entry: FuncSchedule, order: DomainOrder) -> FuncSchedule:
        """The entry with another order here."""
        if self.case is None:
            number = self.stage.stage
            stages = (*entry.stages[:number], order, *entry.stages[number + 1 :])
            return evolve(entry, stages=stages)
        own = cases_of(entry, self.stage.stage)[self.case]
        records = (evolve(o, order=order) if o is own else o for o in entry.specializations)
        return evolve(entry, specializations=tuple(records))


def cases_of(entry: FuncSchedule, stage: int) -> tuple[Specialization, ...]:
    """The specializations of a stage, in the order in which they are tested."""
    return tuple(one for one in entry.specializations if one.stage == stage)


def orders_of(entry: FuncSchedule) -> Iterator[tuple[OrderOf, DomainOrder]]:
    """All domain orders of a Func, stage by stage."""
    for index, order in enumerate(entry.stages):
        stage = StageOf(entry.name, index)
        yield OrderOf(stage), order
        for number, case in enumerate(cases_of(entry, index)):
            yield OrderOf(stage, number), case.order
