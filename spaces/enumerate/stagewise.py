"""Stage-by-stage search, from the outputs backwards.

As in [A21] section 4, the search decides one Func after another, consumers first, and keeps a beam
of half-decided schedules. A half-decided schedule is a whole schedule of a smaller pipeline, in
which the open Funcs are images: so it has a loop nest, a cost and a verdict like any other. The
search leaves out choices that [S19] section 3 proves dominated: it stores only at the compute level
or at the outermost level where windows slide, and computes nothing inside the loop over vectors.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.cost.accesses import Course, stage_work
from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.enumerate.board import Board, Limits
from spaces.enumerate.events import Event, Expanded, Found
from spaces.enumerate.frontier import ResidualPath, depth_of, store_depths
from spaces.enumerate.ladder import RUNGS, filled, incumbents, priced
from spaces.enumerate.menus import entry_parameters
from spaces.enumerate.process.decided_part import decided_part
from spaces.enumerate.process.partial import PartialSchedule
from spaces.enumerate.process.placing import may_be_inlined
from spaces.enumerate.restrictions.restricted import Restricted
from spaces.enumerate.space import ScheduleSpace
from spaces.enumerate.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.formulas.regions import UnboundedError
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.inlining import inlined_functions
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Bound, FuncSchedule, LoopLevel, Schedule

COMPLETING = 0.125
"""The share of the time limit that is left to complete half-decided schedules."""


@frozen
class _State:
    """A half-decided schedule, the numbers of its parameters, and its cost."""

    partial: PartialSchedule
    numbers: Mapping[str, int]
    cost: float

    def entries(self, decided: Collection[str]) -> tuple[FuncSchedule, ...]:
        """The entries of some Funcs, producers first, with parameters."""
        return tuple(one for one in self.partial.state.entries if one.name in decided)


@frozen
class _Candidate:
    """A state after one more decision, with the costs of the open choices."""

    state: _State
    structure: Structure
    costs: NDArray[np.float64]
    is_legal: bool

    @property
    def levels(self) -> tuple[object, ...]:
        """Where its Funcs are computed and stored, and the loops of the Func decided last."""
        first, *_ = entries = self.structure.schedule.funcs
        loops = tuple((loop.name, loop.kind) for loop in first.stages[0].loops)
        return (loops, *((entry.name, entry.compute, entry.store) for entry in entries))

    @property
    def chosen(self) -> _State:
        """The state with the numbers of the cheapest choice."""
        index = int(np.argmin(self.costs))
        numbers = {**self.state.numbers, **self.structure.numbers(index)}
        return evolve(self.state, numbers=numbers, cost=float(self.costs.flat[index]))


@frozen(kw_only=True)
class Stagewise:
    """Stage-by-stage search of the whole patterns of a space (``ScheduleSpace.of_patterns``): for
    ``Options.small`` and ``Options.medium``; of larger spaces it searches the medium part.

    It skips what [S19] section 3 shows to be dominated: stores between the compute level and the
    outermost one, and compute levels inside vectors. Of the half-decided schedules it keeps the
    cheapest.

    Attributes:
        width: the number of half-decided schedules that the search keeps after each Func.
        lattice: the largest number of choices of tile sizes to score at once; beyond it, Funcs
            decided earlier keep the values found then.
        polished: the number of complete schedules whose numbers the search chooses again at the
            end, one Func at a time.
        rounds: how often it chooses them again.
        alike: how many of the half-decided schedules may compute and store all Funcs at the same
            levels, with the same loops of the Func decided last.
    """

    width: int = 6
    lattice: int = 4096
    polished: int = 3
    rounds: int = 1
    alike: int = 2

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        board = Board(limits)
        complete = yield from self.searched(space, model, board)
        yield board.done(space, complete)

    def searched(
        self, space: ScheduleSpace, model: CostModel, board: Board, share: float = 1.0
    ) -> Generator[Event, None, bool]:
        """Climbs the ladder of simple schedules, and goes on as :meth:`refined`."""
        yield from incumbents(space, model, board)
        return (yield from self.refined(space, model, board, share))

    def refined(
        self, space: ScheduleSpace, model: CostModel, board: Board, share: float = 1.0
    ) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        space = space.of_patterns
        task = _Task(space, model, board, self.lattice, board.until(share), self.alike)
        start = _underived(space.start())
        states = [_State(start, {}, 0.0)]
        names = [function.name for function in reversed(start.state.pipeline.functions)]
        steps = len(names) + 1
        try:
            for step, name in enumerate(names, start=1):
                yield Expanded(step, steps, name)
                with board.until(share * (1 - COMPLETING)).kept():
                    states = task.decided(states, names[:step], max(self.width, board.limits.top))
                yield board.scored
            if names[-1] in space.kept_names:
                with task.deadline.kept():
                    states = task.priced(states)
        except OutOfTime:
            yield from task.completions(states)
            return False
        yield Expanded(steps, steps, "numbers")
        polished = states[: max(self.polished, board.limits.top)]
        for state in polished:
            yield from task.offered(state)
        try:
            for state in polished:
                for _ in range(self.rounds):
                    with task.deadline.kept():
                        state = task.polished(state)
                yield from task.offered(state)
        except OutOfTime:
            return False
        yield board.scored
        return True


@frozen
class _Task:
    """The state that the steps of one search share."""

    space: ScheduleSpace
    model: CostModel
    board: Board
    lattice: int
    deadline: Deadline
    alike: int

    def decided(self, states: list[_State], names: list[str], width: int) -> list[_State]:
        """The ``width`` cheapest legal states after the last of some Funcs is decided. A Func that
        the space fixes is taken without a look at the cost or at rules: they wait for the next
        choice.
        """
        if not states:
            return []
        if names[-1] in self.space.kept_names:
            return [self._passed(state, names[-1]) for state in states]
        part = decided_part(states[0].partial.state.pipeline, frozenset(names))
        return self.cheapest(part, list(self.candidates(part, states, names)), width)

    @staticmethod
    def _passed(state: _State, name: str) -> _State:
        """The state after a Func that the space fixes."""
        (after,) = state.partial.ways(name, lambda _: True)
        return evolve(state, partial=after)

    def priced(self, states: list[_State]) -> list[_State]:
        """The legal ones of some complete states, cheapest first."""
        pipeline = self.space.pipeline
        candidates = [self._scored(pipeline, state, ()) for state in states]
        return self.cheapest(pipeline, [one for one in candidates if one], len(states))

    def completions(self, states: list[_State]) -> Iterator[Event]:
        """Offers half-decided schedules, with the Funcs that are left as the ladder has them."""
        space, board = self.space, self.board
        for state in states if states and states[0].partial.state.entries else ():
            for rung in RUNGS:
                try:
                    with self.deadline.kept():
                        schedule = filled(state.partial, state.numbers, rung)
                        if not space.verdict(schedule):
                            continue
                        cost = priced(space, self.model, board, schedule)
                except OutOfTime:
                    return
                yield from board.offer(Found(cost, schedule))

    def offered(self, state: _State) -> Iterator[Event]:
        """Offers a schedule in which every Func is decided."""
        schedule = bind(state.partial.schedule, state.numbers)
        yield from self.board.offer(Found(state.cost, schedule))

    def candidates(
        self, part: Pipeline, states: list[_State], names: list[str]
    ) -> Iterator[_Candidate]:
        """Every undominated decision about the last of some Funcs, for each state."""
        *_, name = names
        for state in states:
            path = state.partial.state.frontier.path(name)
            for after in state.partial.ways(name, self._wanted(state, names)):
                self.board.considered += 1
                decided = _State(after, state.numbers, np.inf)
                candidate = self._scored(part, decided, self._free(decided, names, path))
                if candidate is not None:
                    yield candidate

    def _wanted(self, state: _State, names: list[str]) -> Callable[[FuncSchedule], bool]:
        """Which entries of the last of some Funcs to try: only the inlined one, if inlining
        computes nothing twice; all of them in a restricted space.
        """
        if self.space.where:
            return lambda entry: True
        *decided, name = names
        process = state.partial.state
        if may_be_inlined(process, name):
            part = decided_part(process.pipeline, frozenset(decided))
            if is_read_once(part, Schedule(state.entries(decided)), name):
                return lambda entry: entry.compute.is_inline
        path = process.frontier.path(name)
        terms = {
            LoopLevel(function.name, rvar.name)
            for function in process.pipeline.functions
            for stage in function.stages
            for rvar in stage.rvars
        }
        return lambda entry: is_undominated(entry, path, terms)

    def _free(self, state: _State, names: list[str], path: ResidualPath) -> tuple[str, ...]:
        """The parameters to choose together: those of the entry of the last of some Funcs and, if
        they are not too many, those of the loops around it.
        """
        entries = {one.name: one for one in state.entries(names)}
        entry = entries[names[-1]]
        own = entry_parameters(entry)
        around = path[: depth_of(path, entry.compute)]
        shared = entry_parameters(entries[around[0].func]) if around else ()
        both = (*own, *shared)
        size = _structure(state, names, both, {}).size
        return both if size <= self.lattice else own

    def _scored(self, part: Pipeline, state: _State, free: Collection[str]) -> _Candidate | None:
        names = [function.name for function in part.functions]
        structure = _structure(state, names, free, state.numbers)
        try:
            batch = Batch.of(part, structure.schedule, structure.columns, memo=self.space.memo)
        except UnboundedError:
            return None
        return _Candidate(state, structure, self.board.score(self.model, batch), is_legal=False)

    def _legal(self, part: Pipeline, candidate: _Candidate) -> _Candidate:
        """The candidate with an infinite cost for each choice that is illegal, or that the
        restrictions leave out.
        """
        structure, restricted = candidate.structure, self.space.restricted
        columns, memo = structure.columns, self.space.memo.nests
        mask = self.space.judged.mask(part, structure.schedule, columns, memo)
        if restricted.where:
            mask = restricted.conditions_mask(structure.schedule, columns, mask, part)
        costs = np.where(mask, candidate.costs, np.inf)
        if restricted.predicates:
            _drop_unwanted(restricted, structure, costs)
        return evolve(candidate, costs=costs, is_legal=True)

    def cheapest(self, part: Pipeline, candidates: list[_Candidate], width: int) -> list[_State]:
        """The states of the ``width`` cheapest candidates that have a legal choice.

        Checks the legality only of the candidates that may be among them.
        """
        queue = [(float(c.costs.min()), i) for i, c in enumerate(candidates)]
        heapq.heapify(queue)
        states: list[_State] = []
        alike: Counter[object] = Counter()
        while queue and len(states) < width:
            cost, i = heapq.heappop(queue)
            if not np.isfinite(cost):
                break
            if candidates[i].is_legal:
                levels = candidates[i].levels
                alike[levels] += 1
                if alike[levels] <= self.alike:
                    states.append(candidates[i].chosen)
            else:
                candidates[i] = self._legal(part, candidates[i])
                self.board.legal += bool(np.isfinite(candidates[i].costs).any())
                heapq.heappush(queue, (float(candidates[i].costs.min()), i))
        return states

    def polished(self, state: _State) -> _State:
        """The complete state with the numbers of each Func chosen again, while others are fixed."""
        pipeline = state.partial.state.pipeline
        for entry in state.partial.state.entries:
            free = entry_parameters(entry)
            if free:
                candidate = self._scored(pipeline, state, free)
                if candidate is not None:
                    better = self._legal(pipeline, candidate).chosen
                    state = min(state, better, key=lambda s: s.cost)
        return state


def _drop_unwanted(
    restricted: Restricted, structure: Structure, costs: NDArray[np.float64]
) -> None:
    """Makes the cost of choices that predicates refuse infinite: cheapest first, up to the first
    one that they allow.
    """
    for index in np.argsort(costs, axis=None, kind="stable"):
        if not np.isfinite(costs.flat[index]) or restricted.allows(structure.at(int(index))):
            break
        costs.flat[index] = np.inf


def is_undominated(
    entry: FuncSchedule, path: ResidualPath, terms: Collection[LoopLevel] = ()
) -> bool:
    """Whether [S19] does not show the entry of a Func to be dominated. Windows that slide along
    the terms of a sum, and bounds of loops that are not unrolled, are left out, too.

    Args:
        entry: the entry, or a part of it.
        path: the loops around the uses of the Func.
        terms: the loops over terms of sums.
    """
    unrolled = {loop.name for loop in entry.stages[0].loops if loop.kind is LoopKind.UNROLLED}
    bounds = (one for one in entry.bounds if isinstance(one, Bound))
    if any(bound.dimension not in unrolled for bound in bounds):
        return False
    if entry.compute in terms and entry.store != entry.compute:
        return False
    compute = depth_of(path, entry.compute)
    following = path[compute].kind if 0 < compute < len(path) else None
    if following is LoopKind.VECTORIZED:
        return False
    stores = store_depths(path, compute)
    return compute == 0 or depth_of(path, entry.store) in (*stores[:2], stores[-1])


def is_read_once(pipeline: Pipeline, schedule: Schedule, buffer: str) -> bool:
    """Whether only one evaluation of one stage reads each value of ``buffer``: then reads do not
    overlap, and [S19] (Algorithm 1) and [S20] inline it.
    """
    works = [
        (stage, stage_work(stage))
        for function in inlined_functions(pipeline, schedule)
        for stage in function.stages
    ]
    readers = [(stage, work) for stage, work in works if work.reads(buffer)]
    if len(readers) != 1 or readers[0][1].reads(buffer) != 1:
        return False
    stage, work = readers[0]
    (access,) = (a for a in work.accesses if a.buffer == buffer)
    moved = [index.moves for index in access.indices if index.course is Course.AFFINE]
    moving = {moves[0][0] for moves in moved if len(moves) == 1 and abs(moves[0][1]) == 1}
    return moving >= set(stage.dimensions)


def _structure(
    state: _State, decided: Collection[str], free: Collection[str], numbers: Mapping[str, int]
) -> Structure:
    """The structure of some Funcs that leaves only some parameters open."""
    whole = state.partial.state
    schedule = Schedule(state.entries(decided), whole.pipeline.derivations)
    bound = bind(schedule, {n: v for n, v in numbers.items() if n not in free})
    return Structure(bound, {name: whole.menus[name] for name in parameters(bound)})


def _underived(partial: PartialSchedule) -> PartialSchedule:
    """The partial schedule that decides against all derivations."""
    while partial.decision is not None and not partial.decision.func:
        partial = partial.take(next(one for one in partial.options if one.is_plain))
    return partial
