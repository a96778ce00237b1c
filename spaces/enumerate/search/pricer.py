"""Judges and prices the candidates of one search.

A candidate is a :class:`Structure`: a schedule with the numbers of its parameters as arrays. It is
a schedule of the pipeline, or of a part of it that reads the other Funcs as images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import GpuDevice
from spaces.cost.batch import Batch
from spaces.cost.errors import PartName, PriceParts
from spaces.cost.lattice import lattice_costs
from spaces.cost.model import AdditiveModel, CostModel, FunctionModel, PartedModel
from spaces.cost.price import read_parts
from spaces.enumerate.search.board import Board
from spaces.enumerate.search.bounds import lower_bound
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.feature_memos import feature_memo
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.features.extraction import FeatureMemo
from spaces.features.features import Features
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.formulas.symbolic import as_array
from spaces.model.memo import Memo
from spaces.model.nest.splits import OrderError
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule

NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
"""The numbers of a schedule without parameters."""

REMEMBERED = 1024
"""How many structures keep their costs for the case that the search comes back to them."""


@frozen
class Pricer:
    """What judges and prices the candidates of one search.

    The costs of a structure are kept and given again. So the model must give the same structure the
    same costs as long as the search lasts: train a model, or change its prices, between searches.

    Attributes:
        space: the space of the candidates.
        model: the cost model; it does not change while the search runs.
        board: counts what is judged and priced, and keeps what is found.
        cost_memo: the costs of the last structures, None where there is no loop nest. A second walk
            begins with those that the first one began with.
    """

    space: ScheduleSpace
    model: CostModel
    board: Board
    cost_memo: Memo[NDArray[np.float64] | None] = field(
        factory=lambda: Memo[NDArray[np.float64] | None](REMEMBERED), eq=False, repr=False
    )

    @staticmethod
    def of(space: ScheduleSpace, model: CostModel, limits: Limits) -> Pricer:
        """The pricer of a search that begins now."""
        return Pricer(space, model, Board(limits))

    def within(self, space: ScheduleSpace) -> Pricer:
        """The pricer of the same search for another space of the same pipeline."""
        return evolve(self, space=space)

    @cached_property
    def adds_nests(self) -> bool:
        """Whether the cost of a schedule is the sum of the costs of its nests at root."""
        return isinstance(self.model, AdditiveModel)

    @cached_property
    def is_gpu(self) -> bool:
        """Whether candidates run on a GPU."""
        return isinstance(self.space.device, GpuDevice)

    @cached_property
    def memo(self) -> FeatureMemo:
        """What the features of the candidates of the space have in common."""
        return feature_memo(self.space.nests)

    @property
    def of_whole_schedules(self) -> Pricer:
        """The pricer that never adds up nests, for a search that finds no legal complete schedule:
        it then prices and judges whole schedules at each step.
        """
        return Pricer(self.space, FunctionModel(self.model.cost), self.board)

    def price_structure(
        self, structure: Structure, part: Pipeline | None = None
    ) -> NDArray[np.float64]:
        """The costs of the choices of a structure, legal or not, in the shape of its lattice;
        infinite if it has no loop nest. The funnel counts the structure.

        Args:
            structure: the candidate.
            part: the pipeline of its Funcs, if it is not the one of the space.

        Raises:
            BatchError: the model does not give a number for each choice.
            OutOfTime: as many structures as the limits allow have a cost.
        """
        self.board.ask_for_one_more()
        return self._price(structure, part, structures=1)

    def reprice_structure(
        self, structure: Structure, part: Pipeline | None = None
    ) -> NDArray[np.float64]:
        """The costs of the choices of a structure that has a cost for other choices already: the
        funnel counts the choices alone.

        Raises:
            BatchError: the model does not give a number for each choice.
        """
        return self._price(structure, part, structures=0)

    def price_schedule(
        self,
        schedule: Schedule,
        numbers: Mapping[str, int] = NO_NUMBERS,
        part: Pipeline | None = None,
    ) -> float:
        """The cost of one choice of a structure, legal or not, outside the funnel; infinite if it
        has no loop nest.

        Args:
            schedule: the structure.
            numbers: the numbers of its parameters. With ``numbers`` the cost is the one that a
                search of all choices gives. With numbers written into the schedule it may be a
                little lower or higher.
            part: the pipeline of its Funcs, if it is not the one of the space.
        """
        batch = self._batch(schedule, numbers, part)
        return np.inf if batch is None else float(self._costs(batch))

    def find_legal(self, structure: Structure, part: Pipeline | None = None) -> NDArray[np.bool_]:
        """Which choices of a structure are legal and satisfy the conditions of the space, as far as
        the Funcs of the structure decide these. Predicates are not asked.
        """
        space, columns = self.space, structure.columns
        part = space.pipeline if part is None else part
        mask = space.judged.mask(part, structure.schedule, columns, space.nests)
        mask = np.array(np.broadcast_to(mask, structure.shape))
        if not space.where:
            return mask
        return space.restricted.conditions_mask(structure.schedule, columns, mask, part)

    def is_legal(self, schedule: Schedule) -> bool:
        """Whether a schedule is legal for all sizes and satisfies the restrictions of the space, as
        ``ScheduleSpace.verdict`` says.
        """
        space = self.space
        if not space.judged.is_legal(schedule, space.nests):
            return False
        return not space.where or next(space.restricted.broken(schedule), None) is None

    def keep_legal(
        self, structure: Structure, costs: NDArray[np.float64], part: Pipeline | None = None
    ) -> NDArray[np.float64]:
        """The costs of a structure, infinite for each choice that is illegal or that the
        restrictions leave out. Predicates are asked about choices, cheapest first, up to the first
        one that they allow.
        """
        if not np.isfinite(costs).any():
            return costs
        kept = self._exclude_forbidden(
            structure, np.where(self.find_legal(structure, part), costs, np.inf)
        )
        self.board.legal += bool(np.isfinite(kept).any())
        return kept

    def order_legal(self, structure: Structure, costs: NDArray[np.float64]) -> Iterator[int]:
        """The legal choices of a structure that have a finite cost, by their index in the flattened
        lattice: the cheapest first, of equal ones the first. Predicates are asked about a choice
        when it is asked for. The funnel does not count them.

        Args:
            structure: the candidate.
            costs: the costs of its choices, legal or not.
        """
        if not np.isfinite(costs).any():
            return
        restricted = self.space.restricted
        costs = np.where(self.find_legal(structure), costs, np.inf)
        for index in map(int, np.argsort(costs, axis=None, kind="stable")):
            if not np.isfinite(costs.flat[index]):
                return
            if not restricted.predicates or restricted.allows(structure.at(index)):
                yield index

    def find_cheapest(self, structure: Structure) -> Found | None:
        """The cheapest legal choice of a structure; None if it has no legal choice.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        found = (one for one in self.find_cheapest_of_parts(structure) if one is not None)
        return min(found, key=lambda one: one.cost, default=None)

    def find_cheapest_below(self, structure: Structure, most: float) -> Found | None:
        """The cheapest legal choice of a structure, if it costs at most ``most``. What costs more
        gets no verdict, which takes longer than a price.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        self.board.considered += 1
        costs = self.price_structure(structure)
        costs = self.keep_legal(structure, np.where(costs <= most, costs, np.inf))
        index = int(np.argmin(costs))
        cost = float(costs.flat[index])
        return Found(cost, structure.at(index)) if np.isfinite(cost) else None

    def find_cheapest_of_parts(self, structure: Structure) -> Iterator[Found | None]:
        """The cheapest legal choice of each part of a structure; None for a part without one. The
        cost of a choice does not depend on its part: all have the formulas of the whole structure.
        What is illegal gets no price.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        self.board.considered += 1
        is_legal = False
        batch: Batch | None = None
        for part in structure.parts():
            legal = self.find_legal(part)
            if not legal.any():
                yield None
                continue
            self.board.ask_for_one_more()
            columns = part.all_columns
            batch = batch or Batch.of(
                self.space.pipeline, structure.schedule, columns, memo=self.memo
            )
            costs = self._costs(batch.at(columns))
            self.board.count(costs)
            costs = self._exclude_forbidden(part, np.where(legal, costs, np.inf))
            index = int(np.argmin(costs))
            if self.space.restricted.predicates and not np.isfinite(costs.flat[index]):
                yield None  # the predicates refuse all
                continue
            self.board.legal += not is_legal
            is_legal = True
            yield Found(float(costs.flat[index]), part.at(index))

    def read_parts(self, model: PartedModel, schedule: Schedule) -> PriceParts:
        """The parts of the price of a schedule with a loop nest."""
        batch = Batch.of(self.space.pipeline, schedule, memo=self.memo)
        return read_parts(model, batch.features)

    def read_choice_parts(
        self, model: PartedModel, structure: Structure
    ) -> dict[PartName, NDArray[np.float64]]:
        """The parts of the prices of all choices of a structure, each in the shape of its lattice;
        none if it has no loop nest. The funnel does not count them.
        """
        features = self.read_features(structure)
        if features is None:
            return {}
        return {
            (func, stage, what): np.broadcast_to(as_array(cost), structure.shape)
            for (func, stage), costs in model.parts(features).items()
            for what, cost in costs.items()
        }

    def bound_cost(self, partial: PartialSchedule) -> float:
        """A lower bound of the cost of all completions of a partial schedule; minus infinity if the
        model knows none.
        """
        return lower_bound(partial, self.model)

    def read_features(self, structure: Structure, part: Pipeline | None = None) -> Features | None:
        """The features of all choices of a structure; None if it has no loop nest."""
        batch = self._batch(structure.schedule, structure.columns, part)
        return None if batch is None else batch.features

    def _price(
        self, structure: Structure, part: Pipeline | None, structures: int
    ) -> NDArray[np.float64]:
        """The costs of the choices of a structure; the funnel counts that many structures. It
        counts a structure each time, so that a search takes the same way with and without a memory.
        """
        pipeline = self.space.pipeline if part is None else part
        key = structure.schedule, pipeline, tuple(structure.menus.items())
        known = self.cost_memo.find(key)
        if known is None:
            batch = self._batch(structure.schedule, structure.columns, pipeline)
            known = self.cost_memo.keep(key, None if batch is None else self._costs(batch))
        elif known.value is not None:
            self.board.work += len(structure.schedule.funcs)
        if known.value is None:
            return np.full(structure.shape, np.inf)
        self.board.count(known.value, structures)
        return known.value

    def _batch(
        self, schedule: Schedule, columns: Mapping[str, object], part: Pipeline | None
    ) -> Batch | None:
        """The batch of some choices of a structure; None if it has no loop nest."""
        pipeline = self.space.pipeline if part is None else part
        try:
            return Batch.of(pipeline, schedule, columns, memo=self.memo)
        except (LevelError, OrderError, UnboundedError):
            return None

    def _costs(self, batch: Batch) -> NDArray[np.float64]:
        self.board.work += len(batch.schedule.funcs)
        costs = lattice_costs(self.model, batch)
        costs[np.isnan(costs)] = np.inf  # a choice without a cost is useless
        return costs

    def _exclude_forbidden(
        self, structure: Structure, costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The costs, infinite for choices before the first one that the predicates allow."""
        restricted = self.space.restricted
        if restricted.predicates:
            for index in np.argsort(costs, axis=None, kind="stable"):
                is_wanted = np.isfinite(costs.flat[index])
                if not is_wanted or restricted.allows(structure.at(int(index))):
                    break
                costs.flat[index] = np.inf
        return costs
