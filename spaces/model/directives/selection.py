"""What directives act on: a schedule of a pipeline with one stage of one Func selected."""

from __future__ import annotations

from typing import Self

import attrs
from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.directives.directive_arguments import name_of
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.schedule import FuncSchedule, Schedule, Specialization


@frozen
class Selection:
    """A schedule of a pipeline with one stage of one Func selected, on which directives act; or a
    specialization of that stage, by its number ``within`` those of the Func.

    ``placed`` names the Funcs whose storage a directive has put somewhere, so that it no longer
    follows the compute level.
    """

    pipeline: Pipeline
    schedule: Schedule
    selected: str
    stage: int = 0
    placed: frozenset[str] = frozenset()
    within: int | None = None

    def func(self, func: str | Func | ImageParam) -> Self:
        """Select the pure stage of another Func, or an input image to put a Func around.

        Raises:
            KeyError: the pipeline has no such Func.
        """
        name = name_of(func)
        if all(image.name != name for image in self.pipeline.images):
            name = self.schedule.of(name).name
        return attrs.evolve(self, selected=name, stage=0, within=None)

    def update(self, index: int = 0) -> Self:
        """Select an update stage of the same Func, counted from 0.

        Raises:
            IndexError: the Func has no such update stage.
        """
        updates = len(self._func.stages) - 1
        if not 0 <= index < updates:
            raise IndexError(
                f"Func {self.selected} has {amount(updates, 'update stage')}; there is no "
                f"update({index})."
            )
        return attrs.evolve(self, stage=index + 1, within=None)

    @property
    def _func(self) -> FuncSchedule:
        return self.schedule.of(self.selected)

    @property
    def _order(self) -> DomainOrder:
        if self.within is not None:
            return self._func.specializations[self.within].order
        return self._func.stages[self.stage]

    def _with_order(self, order: DomainOrder) -> Self:
        if self.within is not None:
            known = list(self._func.specializations)
            known[self.within] = attrs.evolve(known[self.within], order=order)
            return self._with_specializations(known, self.within)
        changed = self.schedule.with_stage(self.selected, self.stage, order)
        return attrs.evolve(self, schedule=changed)

    def _with_specializations(self, changed: list[Specialization], place: int) -> Self:
        func = attrs.evolve(self._func, specializations=tuple(changed))
        within = func.specializations.index(changed[place])
        return attrs.evolve(self, schedule=self.schedule.replace(func), within=within)

    def _with_func(self, func: FuncSchedule) -> Self:
        if self.within is not None:
            raise TypeError(
                f"After specialize only the loops of {self.selected} can be scheduled: where and "
                "how its values are stored is the same for all of its specializations. Begin a "
                "new line."
            )
        return attrs.evolve(self, schedule=self.schedule.replace(func))
