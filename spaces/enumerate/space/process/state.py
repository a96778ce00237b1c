"""Half-decided schedules: the state of the decision process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from attrs import field, fields, frozen

from spaces.constraints.devices.device import Device
from spaces.enumerate.space.estimated_boxes import EstimatedBoxes, sizes_of
from spaces.enumerate.space.frontier import Frontier, ResidualLoop
from spaces.enumerate.space.further_sizes import FurtherSize
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.process.topic import Topic
from spaces.enumerate.space.restrictions.restricted import Restricted
from spaces.model.algorithm.inlined import may_hide_reads
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.nest.canonical import Origins
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.order_of import OrderOf
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule, StageOf


@frozen
class ProcessState:
    """A half-decided schedule and what is still to decide.

    Attributes:
        pipeline: the pipeline, as the derivations chosen so far make it.
        device: the device.
        choices: the options of the space.
        given: the entries that no decision changes.
        left: the Funcs of these that the user leaves out of all decisions.
        restricted: the restrictions of the space.
        entries: the Funcs decided so far, producers first; factors are parameters.
        draft: the Func that is being decided.
        frontier: the loops around each open Func.
        menus: the numbers to choose from, for each parameter that has no number.
        numbers: the numbers chosen so far, by parameter.
        agenda: the topics to decide, the next one first.
        nests: what the nests of similar states have in common.
        further: the sizes beside the estimates at which schedules are legal.
    """

    pipeline: Pipeline
    device: Device
    choices: Options
    given: tuple[FuncSchedule, ...] = ()
    left: frozenset[str] = frozenset()
    restricted: Restricted | None = None
    entries: tuple[FuncSchedule, ...] = ()
    draft: FuncSchedule | None = None
    frontier: Frontier = field(factory=lambda: Frontier({}))
    menus: Mapping[str, tuple[int, ...]] = field(factory=dict)
    numbers: Mapping[str, int] = field(factory=dict)
    agenda: tuple[Topic, ...] = ()
    nests: NestMemo = field(factory=NestMemo, eq=False, repr=False)
    further: tuple[FurtherSize, ...] = ()

    @property
    def schedule(self) -> Schedule:
        """The entries decided so far; parameters with a number have it."""
        return bind(Schedule(self.entries, self.pipeline.derivations), self.numbers)

    @property
    def has_structure(self) -> bool:
        """Whether at most factors are still to decide: their topics come last."""
        return self.draft is None and len(self.entries) == len(self.pipeline.functions)

    @property
    def open_menus(self) -> dict[str, tuple[int, ...]]:
        """The menus of the factors of decided Funcs that have no number yet."""
        names = parameters(Schedule(self.entries))
        return {name: self.menus[name] for name in names if name not in self.numbers}

    @property
    def sizes(self) -> EstimatedBoxes:
        """What is known of extents at the estimates."""
        return sizes_of(self.pipeline)

    @property
    def entry(self) -> FuncSchedule:
        """The Func that is being decided."""
        if self.draft is None:
            raise ValueError("no Func is being decided")
        return self.draft

    def function(self, name: str) -> Function:
        """A Func of the pipeline."""
        return self.pipeline.function(name)

    def stage(self, stage: StageOf) -> Stage:
        """A stage of the pipeline."""
        return self.function(stage.func).stages[stage.stage]

    def origins(self, place: OrderOf) -> Origins:
        """What the loops of an order are made from, decided or being decided."""
        if self.draft is not None and self.draft.name == place.func:
            order = place.order(self.draft)
        else:
            order = place.order(next(one for one in self.entries if one.name == place.func))
        return Origins.of(order, self.stage(place.stage).dimensions)

    def level_part(self, loop: ResidualLoop) -> str:
        """The level inside a loop, as canonical forms write it."""
        place = OrderOf(StageOf(loop.func, loop.stage))
        return f"{place} {self.origins(place)[loop.loop]}"

    def then(self, *topics: Topic) -> ProcessState:
        """The state in which these topics come first."""
        return self.replace(agenda=(*topics, *self.agenda))

    def with_draft(self, draft: FuncSchedule) -> ProcessState:
        """The state in which the Func that is being decided has another entry."""
        return self.replace(draft=draft)

    def with_order(self, place: OrderOf, order: DomainOrder) -> ProcessState:
        """The state in which this Func has another domain order somewhere."""
        return self.with_draft(place.replaced(self.entry, order))

    def with_menu(self, parameter: str, menu: Iterable[int]) -> ProcessState:
        """The state with one more parameter."""
        return self.replace(menus={**self.menus, parameter: tuple(menu)})

    def with_number(self, parameter: str, number: int) -> ProcessState:
        """The state in which a parameter has a number."""
        return self.replace(numbers={**self.numbers, parameter: number})

    def close_func(self) -> ProcessState:
        """The state after the Func that is being decided."""
        entry = self.entry
        entries = (entry, *self.entries)
        if entry.compute.is_inline and may_hide_reads(self.pipeline):
            frontier = Frontier.of(self.pipeline, reversed(entries))
        else:
            frontier = self.frontier.after(self.function(entry.name), entry)
        return self.replace(entries=entries, draft=None, frontier=frontier)

    def without_topic(self) -> ProcessState:
        """The state in which the next topic is not on the agenda."""
        return self.replace(agenda=self.agenda[1:])

    def replace(self, **changes: Any) -> ProcessState:
        """The state with other values of some attributes: ``attrs.evolve`` takes three times as
        long, and one search changes states a hundred thousand times.
        """
        values = list(_values(self))
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return ProcessState(*values)


_NAMES = tuple(one.name for one in fields(ProcessState))
_PLACES = {name: place for place, name in enumerate(_NAMES)}
_values = attrgetter(*_NAMES)
