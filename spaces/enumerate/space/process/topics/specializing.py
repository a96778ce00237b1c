"""Decisions about the specializations of a stage: for which conditions it has other loops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

from attrs import evolve, frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.rules.specializations import ONLY_IN_DEFINITIONS
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.factors import natural_lanes
from spaces.enumerate.space.process.topics.ordering import LoopsMaker, SplitsTopic
from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.expressions.expr import Const, Expr, Op, Variable, compare, walk
from spaces.model.expressions.operators import COMPARISONS
from spaces.model.schedules.conditions import (
    ConditionError,
    check_size,
    format_condition,
    plain_condition,
)
from spaces.model.schedules.order_of import OrderOf, cases_of
from spaces.model.schedules.schedule import FuncSchedule, Specialization, StageOf


@frozen
class CaseTopic:
    """Whether a stage has one more specialization, and for which condition.

    Attributes:
        stage: the stage, whose loops are decided.
        order: makes the topic that gives the loops of the specialization their order and kinds.
        number: how many specializations the stage has.
    """

    stage: StageOf
    order: LoopsMaker
    number: int = 0

    @property
    def func(self) -> str:
        return self.stage.func

    @property
    def name(self) -> str:
        return f"{OrderOf(self.stage, self.number)} condition"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        place = OrderOf(self.stage, self.number)
        yield DecisionOption(f"no {place}", {self.name: None}, state)
        conditions = offered_conditions(state.pipeline, state.device)
        if self.number >= most_cases(state, len(conditions)):
            return
        function, stage = state.function(self.func), self.stage.stage
        tested = {one.condition for one in cases_of(state.entry, stage)}
        as_written = FuncSchedule.default(function, stored=True).stages[stage]
        for condition in conditions:
            if condition not in tested:
                case = Specialization(stage, condition, as_written)
                yield DecisionOption(
                    f"{self.stage}.specialize({format_condition(condition)})",
                    {self.name: str(condition), f"{place} failure": None},
                    state,
                    change=partial(self._specialize, case),
                )

    def _specialize(self, case: Specialization, state: ProcessState) -> ProcessState:
        """The state in which the stage has one more specialization, with loops to decide."""
        cases = (*state.entry.specializations, case)
        after = state.with_draft(evolve(state.entry, specializations=cases))
        place = OrderOf(self.stage, self.number)
        return after.then(SplitsTopic(place, self.order), evolve(self, number=self.number + 1))


def most_cases(state: ProcessState, conditions: int) -> int:
    """The largest number of specializations of a stage for some of that many conditions."""
    is_offered = "specialize" in state.choices.directives
    return min(conditions, state.choices.specializations) if is_offered else 0


@lru_cache(maxsize=64)
def offered_conditions(pipeline: Pipeline, device: Device) -> tuple[Expr, ...]:
    """The conditions for which a pipeline may have other loops: its boolean parameters, comparisons
    of its parameters in definitions, and whether rows of an output are whole vector registers, or
    whole warps.
    """
    found = (*_conditions_on_parameters(pipeline), *_conditions_on_rows(pipeline, device))
    return tuple(dict.fromkeys(condition for condition in found if _may_be_asked(condition)))


def _conditions_on_parameters(pipeline: Pipeline) -> Iterator[Expr]:
    names = {scalar.name for scalar in pipeline.scalars}
    stages = (stage for function in pipeline.functions for stage in function.stages)
    for node in walk(*(expr for stage in stages for expr in stage.expressions)):
        is_test = isinstance(node, Variable) or (isinstance(node, Op) and node.name in COMPARISONS)
        if is_test and node.type.is_bool and node.names and node.names <= names and not node.loads:
            yield plain_condition(node)


def _conditions_on_rows(pipeline: Pipeline, device: Device) -> Iterator[Expr]:
    for name in pipeline.outputs:
        function = pipeline.function(name)
        if function.args:
            width = size_variable(name, "extent", 0)
            if isinstance(device, CpuDevice):
                yield compare("eq", width % natural_lanes(device, function), 0)
            else:
                yield compare("eq", width % device.warp_threads, 0)


def _may_be_asked(condition: Expr) -> bool:
    """Whether a condition can be asked before a run, and is short enough to be written as text."""
    nodes = walk(condition)
    if any(isinstance(node, Op) and node.name in ONLY_IN_DEFINITIONS for node in nodes):
        return False
    try:
        check_size(condition)
    except ConditionError:
        return False
    return not isinstance(condition, Const)
