"""Spaces: every schedule that the options allow for a pipeline on a device."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import overload

import numpy as np
from attrs import Factory, evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.given import check_given
from spaces.constraints.legality.judge import record_violations
from spaces.constraints.legality.kept_values import may_keep
from spaces.constraints.legality.verdict import Illegal, Verdict
from spaces.cost.features.extraction import FeatureMemo
from spaces.enumerate.search.events import Counted, Ranked
from spaces.enumerate.space.counting.candidates import candidate
from spaces.enumerate.space.counting.census import Census
from spaces.enumerate.space.counting.counted import counted
from spaces.enumerate.space.counting.draws import Draw, Sampled, sampled
from spaces.enumerate.space.counting.estimate import CountBounds, CountEstimate, WeightedEstimate
from spaces.enumerate.space.counting.ranks import Positions
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.fixed import inexact_in_fixed, mistakes_in_fixed
from spaces.enumerate.space.options import OF_PATTERNS, Options, default_options
from spaces.enumerate.space.patterns.by_name import LOOP_BY_LOOP
from spaces.enumerate.space.patterns.menus import FuncMenu, func_menus
from spaces.enumerate.space.process.decision import FormParts, parts_of
from spaces.enumerate.space.process.limits import upper_limit
from spaces.enumerate.space.process.partial import PartialSchedule, replayed
from spaces.enumerate.space.process.random_ways import random_way
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.deriving import KINDS, DeriveTopic, derivations
from spaces.enumerate.space.restrictions.leave import left_funcs, mistakes_in_leave
from spaces.enumerate.space.restrictions.mistakes import Nameable
from spaces.enumerate.space.restrictions.restricted import Restricted
from spaces.enumerate.space.restrictions.restriction import Restriction, as_restrictions
from spaces.enumerate.space.sizes_of_space import (
    FurtherSize,
    JudgedSizes,
    as_sizes,
    mistakes_in_sizes,
)
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.articles import shown_kind
from spaces.model.deadline import Deadline, OutOfTime, ask_clock
from spaces.model.expressions.numbers import seconds_given
from spaces.model.nest.canonical import canonical_form
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule, StageOf
from spaces.model.writing.serialize import to_json

COUNTING = 1.0
"""The most seconds in which the length of a space is found."""

NOTHING_FIXED = Schedule(())
"""A schedule without entries."""


@frozen(repr=False)
class ScheduleSpace:
    """The schedules of ``pipeline`` that ``options`` allow and that are legal on ``device``.

    A schedule is a structure (the compute level, the store level and the loop pattern of each Func)
    and a number for each of its parameters (tile sizes and vector lanes). The space visits
    structures one by one, but never tile sizes: it judges all choices of a structure as arrays.

    A Func with an entry in ``fixed`` keeps this entry, for example a schedule by hand; the options
    apply to the other Funcs. A Func named in ``leave`` has no decisions either: it stays as it is
    in the default schedule, and no wrapper, clone or factored reduction of it is made.

    ``where`` restricts the space: its conditions on features and its predicates are true for every
    schedule of the space. A condition may be a text, such as ``"threads(blur_y) % 32 == 0"``.
    ``sizes`` are further sizes, each a mapping as ``pipeline(..., estimates=...)`` takes: every
    schedule of the space is legal at them, too. By default every schedule is exact
    (:attr:`CheckedSchedule.is_exact`); ``exact=False`` of the options gives up on that.

    Raises:
        EmptySpaceError: the pipeline makes every schedule illegal, for example by contradicting
            estimates.
        ValueError: the pipeline has no estimate of an output; ``fixed`` has an entry that does not
            fit a Func of the pipeline, or makes an exact space inexact; ``leave`` names a Func that
            the pipeline does not have, or one with an entry in ``fixed``; a condition names a
            feature, Func or loop that does not exist; or ``sizes`` do not fit the outputs.
        RestrictionSyntaxError: a text in ``where`` is no condition.
        TypeError: ``where`` is no list of conditions and functions, or ``sizes`` no list of
            mappings.

    >>> space = ScheduleSpace(pipeline, device("cpu"))
    >>> next(iter(space))
    """

    pipeline: Pipeline
    device: Device = field()
    options: Options = field(
        default=Factory(lambda self: default_options(self.device), takes_self=True)
    )
    fixed: Schedule = NOTHING_FIXED
    leave: tuple[str, ...] = field(default=(), converter=left_funcs)
    where: tuple[Restriction, ...] = field(default=(), converter=as_restrictions)
    sizes: tuple[FurtherSize, ...] = field(default=(), converter=as_sizes)

    @device.validator
    def _given(self, attribute: object, value: object) -> None:
        check_given("ScheduleSpace", pipeline=self.pipeline, device=value)

    def __attrs_post_init__(self) -> None:
        unknown = [one for one in self.pipeline.outputs if self.pipeline.estimate(one) is None]
        if unknown:
            sizes = ", ".join(
                f"{one}: [{', '.join(f'extent of {v}' for v in self.pipeline.function(one).args)}]"
                for one in unknown
            )
            raise ValueError(
                f"A space needs estimates of the outputs, and pipeline {self.pipeline.name} has "
                f"none of {', '.join(unknown)}: give pipeline(..., estimates={{{sizes}}})."
            )
        mistakes = list(mistakes_in_sizes(self.pipeline, self.sizes))
        if mistakes:
            raise ValueError("\n".join(mistakes))
        faults = tuple(self.judged.faults())
        if faults:
            listed = "\n".join(map(str, faults))
            raise EmptySpaceError(
                f"No schedule of {self.pipeline.name} is legal on {self.device.name}.\n{listed}"
            )
        for mistake in mistakes_in_fixed(self.pipeline, self.fixed):
            raise ValueError(mistake)
        for mistake in mistakes_in_leave(self.pipeline, self.leave, self.fixed):
            raise ValueError(mistake)
        if self.options.exact:
            for mistake in inexact_in_fixed(self.pipeline, self.kept, self.device):
                raise ValueError(mistake)
        conditions = self.restricted.conditions
        names = self._names() if conditions else None
        for mistake in itertools.chain(*(names.mistakes(one) for one in conditions if names)):
            raise ValueError(mistake)

    def __repr__(self) -> str:
        parts = [f"{len(self.fixed.funcs)} fixed"] * bool(self.fixed.funcs)
        parts += [f"{amount(len(self.where), 'condition')}"] * bool(self.where)
        about = f" ({', '.join(parts)})" if parts else ""
        return f"<ScheduleSpace of {self.pipeline.name} for {self.device.name}{about}>"

    @property
    def decides_loops(self) -> bool:
        """Whether the options decide the loops of Funcs one by one."""
        names = (*self.options.root, *self.options.inner)
        return any(name in LOOP_BY_LOOP for name in names)

    @property
    def only_patterns(self) -> bool:
        """Whether the options decide nothing but placements, store levels, whole patterns of loops,
        and their factors.
        """
        return not self.decides_loops and OF_PATTERNS.isdisjoint(self.options.directives)

    @cached_property
    def of_patterns(self) -> ScheduleSpace:
        """The part of the space in which Funcs have whole patterns of loops: the space itself, or
        the one with :meth:`Options.medium`, and with clones if it has them, if it decides loops one
        by one.

        Raises:
            ValueError: a restriction names a loop that no pattern has.
        """
        if not self.decides_loops:
            return self
        own = self.options
        medium = evolve(Options.medium(self.device), exact=own.exact)
        if "clone_in" in own.directives:
            directives = (*medium.directives, "clone_in")
            medium = evolve(medium, directives=directives, clone_consumers=own.clone_consumers)
        return evolve(self, options=medium)

    @property
    def has_patterns(self) -> bool:
        """Whether :attr:`of_patterns` can be made: the restrictions name only loops of patterns."""
        try:
            return self.of_patterns is not None  # its truth would ask for a legal schedule
        except ValueError:
            return False

    def with_directive(self, directive: str) -> ScheduleSpace:
        """The space whose schedules may also use a directive; the space itself if they may."""
        own = self.options
        if directive in own.directives:
            return self
        return evolve(self, options=evolve(own, directives=(*own.directives, directive)))

    @cached_property
    def kept(self) -> Schedule:
        """The entries that no decision changes: those of ``fixed``, and of the Funcs in ``leave``
        those of the default schedule.
        """
        plain = Schedule.default(self.pipeline)
        left = tuple(plain.of(name) for name in self.leave)
        return self.fixed.with_funcs((*self.fixed.funcs, *left))

    @cached_property
    def kept_names(self) -> frozenset[str]:
        """The Funcs without decisions."""
        return frozenset(entry.name for entry in self.kept.funcs)

    @cached_property
    def judged(self) -> JudgedSizes:
        """What judges schedules at the estimates and at the further sizes."""
        return JudgedSizes(self.pipeline, self.sizes, self.device, self.options.exact)

    @cached_property
    def restricted(self) -> Restricted:
        """What ``where`` says about the schedules of the space."""
        return Restricted(self.where, self.pipeline, self.device)

    def _names(self) -> Nameable:
        """What conditions may name."""
        loops: dict[StageOf, tuple[str, ...]] = {}
        for name, menu in () if self.decides_loops else self.menus.items():
            for orders in (*menu.root.values(), *menu.inner.values()):
                for index, order in enumerate(orders):
                    stage = StageOf(name, index)
                    loops[stage] = (*loops.get(stage, ()), *sorted(order.all_names))
        unique = {stage: tuple(dict.fromkeys(found)) for stage, found in loops.items()}
        steps = (step for kind in KINDS for step in derivations(self._first, kind))
        derived = frozenset(step.name for step in steps)
        return Nameable(self.pipeline, self.device, unique, derived)

    @cached_property
    def menus(self) -> dict[str, FuncMenu]:
        """The menu of each Func, consumers first.

        Raises:
            ValueError: the options decide the loops of Funcs one by one.
        """
        if self.decides_loops:
            raise ValueError(
                f"The options decide the loops of {self.pipeline.name} one by one (patterns "
                f"{self.options.root[0]}, {self.options.inner[0]}), so its Funcs have no menus of "
                "whole domain orders; of_patterns is the part of the space that has them."
            )
        return func_menus(self.pipeline, self.device, self.options, self.kept, self.sizes)

    @cached_property
    def memo(self) -> FeatureMemo:
        """What the structures judged or scored last have in common, for the next ones."""
        return FeatureMemo()

    @cached_property
    def _census(self) -> Census:
        return Census(self.menus)

    @cached_property
    def fingerprint(self) -> str:
        """A text of 32 hexadecimal digits, the same on every machine. It is equal for spaces of
        equal pipelines, devices, options, fixed entries, restrictions and further sizes in the
        same order, where labels mean the same.

        Raises:
            ValueError: a restriction is a Python function, which has no such text.
        """
        if self.restricted.predicates:
            raise ValueError(
                f"A space with the Python restriction {self.restricted.predicates[0]} has no "
                "fingerprint: only conditions on features mean the same on every machine."
            )
        return hashlib.blake2b(to_json(self).encode(), digest_size=16).hexdigest()

    def start(self) -> PartialSchedule:
        """The partial schedule in which nothing is decided but the entries in ``fixed`` and
        ``leave``.
        """
        state = self._first
        return PartialSchedule.at(state.then(DeriveTopic()))

    @property
    def _first(self) -> ProcessState:
        return ProcessState(
            self.pipeline,
            self.device,
            self.options,
            self.kept.funcs,
            left=frozenset(self.leave),
            restricted=self.restricted,
            further=self.sizes,
            memo=self.memo,
        )

    def resume(self, taken: Iterable[str]) -> PartialSchedule:
        """The partial schedule after the options with these labels, as in
        ``PartialSchedule.taken``.

        Raises:
            ValueError: a decision has no such option.
        """
        return replayed(self.start(), taken)

    def way_to(self, schedule: Schedule) -> list[PartialSchedule]:
        """The partial schedules on the way to a schedule, legal or not: ``start()`` first, the
        complete one last.

        Raises:
            ValueError: no option leads to the schedule, up to the names of its loops; or it has
                not one entry for each Func.
        """
        way = list(self.start().towards(schedule))
        last = way[-1]
        if last.decision is not None:
            missing = f"decision {last.decision.name!r} offers nothing like it"
        else:
            # A decision with a single option is taken whatever the schedule says.
            forms = (canonical_form(self.pipeline, one) for one in (schedule, last.schedule))
            missing = _difference(*map(parts_of, forms))
        if missing:
            raise ValueError(f"The space of {self.pipeline.name} has no such schedule: {missing}.")
        return way

    def structures(
        self, keeps: Callable[[PartialSchedule], bool] = lambda partial: True
    ) -> Iterator[Structure]:
        """Every structure, legal or not, lazily and always in the same order; without those that
        the restrictions leave out for all their numbers.

        Args:
            keeps: whether the structures after a partial schedule are wanted; asked after each
                Func.
        """
        return self._structures(lambda one: _may_be_wanted(one) and _is_kept(one, keeps))

    def _structures(self, keeps: Callable[[PartialSchedule], bool]) -> Iterator[Structure]:
        """The structures after those partial schedules that are kept."""
        stack = [iter((self.start(),))]
        while stack:
            ask_clock()
            partial = next(stack[-1], None)
            if partial is None:
                stack.pop()
            elif not keeps(partial):
                continue
            elif partial.state.has_structure:
                yield structure_of(partial.state)
            else:
                stack.append(map(partial.take, partial.options))

    def schedule(self, entries: tuple[FuncSchedule, ...]) -> Schedule:
        """The schedule of the rewritten pipeline with these entries."""
        return Schedule(entries, self.pipeline.derivations)

    def legal(self, structure: Structure) -> NDArray[np.bool_]:
        """Which choices of a structure are legal and satisfy the restrictions, in the shape of its
        lattice.
        """
        schedule, columns = structure.schedule, structure.columns
        known = self.memo.nests
        mask = self.judged.mask(self.pipeline, schedule, columns, known)
        mask = np.array(np.broadcast_to(mask, structure.shape))
        return self.restricted.mask(schedule, columns, mask) if self.where else mask

    def verdict(self, schedule: Schedule) -> Verdict:
        """What :func:`verify` says of a schedule at the estimates and the further sizes, with
        ``exact`` if the options have it, and of a legal one which restrictions it does not satisfy.
        Other decisions of the space do not count.
        """
        verdict = self.judged.verdict(schedule)
        broken = tuple(self.restricted.broken(schedule)) if verdict and self.where else ()
        return Illegal(broken) if broken else verdict

    def __iter__(self) -> Iterator[Schedule]:
        """Every legal schedule, lazily and always in the same order."""
        yield from self._choices(self._promising())

    def _promising(self) -> Iterator[Structure]:
        """The structures without those whose Funcs break a rule on their own."""
        return self._structures(_may_be_legal)

    def _choices(self, structures: Iterable[Structure]) -> Iterator[Schedule]:
        """The legal choices of some structures."""
        for structure in structures:
            for part in structure.parts():
                for index in np.flatnonzero(self.legal(part)):
                    schedule = part.at(int(index))
                    if self._is_shown(schedule):
                        yield schedule

    def _is_shown(self, schedule: Schedule) -> bool:
        """Whether a schedule that is legal by the masks is legal by its proofs, too."""
        return not may_keep(schedule) or bool(self.verdict(schedule))

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self._promising, self.legal)

    @overload
    def __getitem__(self, rank: int) -> Schedule: ...

    @overload
    def __getitem__(self, rank: slice) -> list[Schedule]: ...

    def __getitem__(self, rank: int | slice) -> Schedule | list[Schedule]:
        """The legal schedule of a rank, its place in the iteration from 0; for a slice, a list. As
        in a list, negative ranks count from the end.

        It judges all structures before it once, so it suits ranks up to some millions. A negative
        rank counts the whole space. Ranks count as :meth:`count` does.

        Raises:
            IndexError: there are not as many legal schedules, or no proof shows that the one of
                this rank keeps its values, so that the iteration leaves it out.
            TypeError: a rank is negative and the space is too large to be counted.
        """
        if isinstance(rank, slice):
            return self._slice(rank)
        if not isinstance(rank, int | np.integer):
            raise TypeError(f"The rank of a schedule is a whole number, not {shown_kind(rank)}.")
        place = rank + len(self) if rank < 0 else rank
        found = None if place < 0 else self._positions.at(place)
        if found is None:
            raise IndexError(
                f"The space of {self.pipeline.name} has no legal schedule of rank {rank}; ranks go "
                "from 0 to len(space) - 1, and from -1 down to -len(space)."
            )
        if not self._is_shown(found):
            raise IndexError(
                f"The space of {self.pipeline.name} leaves out the schedule of rank {rank}.\n"
                f"{self.verdict(found)}"
            )
        return found

    def __len__(self) -> int:
        """The number of legal schedules, as :meth:`count` finds it in a second.

        Raises:
            TypeError: the space is too large for that, or has a Python restriction.
        """
        # Always a TypeError: list(space) asks for the length, and then goes on without.
        about = f"The length of this space of {self.pipeline.name} is not known: "
        try:
            length = self._length
        except (TimeoutError, ValueError) as error:
            raise TypeError(f"{about}{error}") from None
        if length > sys.maxsize:
            raise TypeError(f"{about}Python has no lengths above {sys.maxsize}; count() has it.")
        return length

    @cached_property
    def _length(self) -> int:
        return self.count(seconds=COUNTING)

    def __bool__(self) -> bool:
        """Whether a schedule is legal; unlike the length this is known soon."""
        return self._positions.at(0) is not None

    def _slice(self, ranks: slice) -> list[Schedule]:
        start, step = ranks.start or 0, ranks.step or 1
        stop = sys.maxsize if ranks.stop is None else ranks.stop
        if min(start, stop, step) < 0:
            start, stop, step = ranks.indices(len(self))
        found: list[Schedule] = []
        for rank in range(start, stop, step):
            schedule = self._positions.at(rank)
            if schedule is None:
                break
            if self._is_shown(schedule):
                found.append(schedule)
        return found

    def rank(self, schedule: Schedule, *, seconds: float = math.inf) -> int:
        """The place of a legal schedule in the iteration, from 0: ``space[rank]`` is the same
        schedule, up to the names of its loops.

        It judges all structures before it once.

        Raises:
            ValueError: the schedule is illegal, or the space has no such schedule.
            TimeoutError: that takes longer than ``seconds``.
        """
        *_, last = self.ranking(schedule, seconds=seconds)
        return last.before

    def ranking(self, schedule: Schedule, *, seconds: float = math.inf) -> Iterator[Ranked]:
        """The running totals of :meth:`rank`; the last ones are exact.

        Raises:
            ValueError, TimeoutError: as :meth:`rank` does.
        """
        deadline = Deadline.after(seconds_given("rank(seconds)", seconds))
        try:
            with deadline.kept():
                self.way_to(schedule)  # says what is missing
                found = self.find(schedule)
                if found is None:
                    verdict = self.verdict(schedule)
                    raise ValueError(f"Only legal schedules have a rank.\n{verdict}")
            yield from deadline.each(self._positions.ranking(*found))
        except OutOfTime:
            raise TimeoutError(
                f"Judging all structures before the schedule takes longer than {seconds:g} s; give "
                "rank more seconds."
            ) from None

    def shard(self, number: int, *, of: int) -> Iterator[Schedule]:
        """The legal schedules of one of several shards: together the shards have every schedule
        of the iteration once. Equal spaces have equal shards on every machine.

        Args:
            number: the shard, from 0.
            of: the number of shards.

        Raises:
            ValueError: there is no such shard.
        """
        if not 0 <= number < of:
            raise ValueError(f"shard({number}, of={of}): give a number from 0 to {of - 1}.")
        return self._choices(itertools.islice(self._promising(), number, None, of))

    def count(self, *, seconds: float = 60.0) -> int:
        """The number of legal schedules, as formulas say it.

        It judges each structure once, so it suits spaces of thousands of structures, not of
        millions: see :meth:`candidates`, :meth:`bounds` and :meth:`estimate`. It proves nothing, so
        it also counts a schedule that the iteration leaves out because no proof shows that values
        are kept (rule ``storage.kept-values``).

        Raises:
            TimeoutError: the count takes longer than ``seconds``.
            ValueError: a restriction is a Python function.
        """
        last = Counted()
        for totals in self.counting(seconds=seconds):
            last = totals
        return last.legal

    def counting(self, *, seconds: float = math.inf) -> Iterator[Counted]:
        """The running totals of :meth:`count`; the last ones are exact.

        Raises:
            TimeoutError: the count takes longer than ``seconds``.
            ValueError: a restriction is a Python function.
        """
        if self.restricted.predicates:
            raise ValueError(
                f"The Python restriction {self.restricted.predicates[0]} judges schedules one by "
                "one, so this space is not counted; estimate() says about how many schedules it "
                "has."
            )
        limit = seconds_given("count(seconds)", seconds)
        yield from counted(self.structures(), self._judged_parts, limit)

    def _judged_parts(self, structure: Structure) -> Iterator[tuple[int, int]]:
        """For each part of a structure: the number of its choices, and how many of them the space
        has. The structure is one part if few of its factors depend on each other. Restrictions may
        relate all factors, so a restricted space counts in several parts.
        """
        if not self.where:
            memo = self.memo.nests
            count = self.judged.count(structure.schedule, structure.menus, memo)
            if count is not None:
                yield structure.size, count
                return
        for part in structure.parts():
            yield part.size, int(self.legal(part).sum())

    def bounds(self, *, seconds: float = 60.0) -> CountBounds:
        """Certain bounds of :meth:`count`: it judges structures until the time ends, and other
        structures may be legal or not. The upper one is infinite if half of the time is too short
        for :attr:`candidates`.
        """
        deadline = Deadline.after(seconds_given("bounds(seconds)", seconds))
        candidates: float = math.inf
        try:
            with Deadline.after(seconds / 2).kept():
                candidates = self.candidates
        except OutOfTime:
            pass
        last = Counted()
        try:
            for totals in self.counting(seconds=deadline.left):
                last = totals
        except TimeoutError:
            illegal = last.considered - last.legal
            return CountBounds(last.legal, candidates - illegal)
        return CountBounds(last.legal, last.legal)

    @property
    def candidates(self) -> int:
        """The number of candidates, an upper limit of :meth:`count`. A candidate is a schedule of
        the options, legal or not, in which a Func with several readers is placed as the reader that
        is decided first allows.

        It is exact, and immediate also for an astronomic space.
        """
        return self._census.total if self.only_patterns else upper_limit(self._first)

    def candidate(self, index: int) -> Schedule:
        """The candidate of an index below :attr:`candidates`, legal or not.

        Raises:
            IndexError: the index is not below :attr:`candidates`.
        """
        entries, numbers = candidate(self._census, self.menus, index)
        ordered = tuple(entries[function.name] for function in self.pipeline.functions)
        return bind(self.schedule(ordered), numbers)

    def draws(self, seed: int = 0) -> Iterator[Draw]:
        """Random schedules without end, legal and illegal ones, independent of each other.

        In a space of patterns alone (:attr:`only_patterns`) all candidates have the same chance,
        and so have all legal schedules. In other spaces a Func is decided after the other, and
        again if it breaks a rule; simple decisions are likelier than others, and the weights make
        up for that.
        """
        chosen = random.Random(seed)
        start = None if self.only_patterns else self.start()
        while True:
            yield self._candidate_drawn(chosen) if start is None else self._way_drawn(start, chosen)

    def _candidate_drawn(self, chosen: random.Random) -> Draw:
        schedule = self.candidate(chosen.randrange(self.candidates))
        exact = self.options.exact
        found = record_violations(self.pipeline, schedule, self.device, exact=exact)
        # Most have violations of records: their loop nest is never made.
        verdict = Illegal(found) if found else self.verdict(schedule)
        return Draw(verdict, Fraction(self.candidates if verdict else 0))

    def _way_drawn(self, start: PartialSchedule, chosen: random.Random) -> Draw:
        found = random_way(start, chosen)
        if found is None:
            return Draw(Illegal(()), Fraction(0))
        verdict = self.verdict(found[0])
        return Draw(verdict, found[1] if verdict else Fraction(0))

    def estimate(
        self, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
    ) -> CountEstimate | WeightedEstimate:
        """An estimate of :meth:`count` from random schedules: at most ``samples``, fewer if the
        time ends before. A weighted one unless the space has :attr:`only_patterns`.

        Raises:
            ValueError: ``samples`` is less than 1.
            TimeoutError: the time does not suffice for one schedule.
        """
        *_, found = self.estimating(samples, seed, seconds=seconds)
        return found

    def estimating(
        self, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
    ) -> Iterator[CountEstimate | WeightedEstimate]:
        """The estimates after each draw of :meth:`estimate`, the last one is the best.

        Raises:
            ValueError, TimeoutError: as :meth:`estimate` does.
        """
        if samples < 1:
            raise ValueError(f"estimate(samples) takes an integer of at least 1, not {samples}.")
        deadline = Deadline.after(seconds_given("estimate(seconds)", seconds))
        drawn, legal, total = 0, 0, Fraction(0)
        try:
            for draw in deadline.each(itertools.islice(self.draws(seed), samples)):
                drawn, legal, total = drawn + 1, legal + bool(draw.verdict), total + draw.weight
                if self.only_patterns:
                    yield CountEstimate(self.candidates, drawn, legal)
                else:
                    yield WeightedEstimate(self.candidates, drawn, legal, total / drawn)
        except OutOfTime:
            if not drawn:
                raise TimeoutError(
                    f"To draw one schedule of {self.pipeline.name} takes longer than {seconds:g} "
                    "s; give estimate more seconds."
                ) from None

    def sample(
        self, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
    ) -> list[Schedule]:
        """Legal schedules, sampled independently, so a schedule may come twice; uniformly if the
        space has :attr:`only_patterns`: see :meth:`draws`, which has the weights of the others.

        Args:
            count: the number of schedules.
            seed: the same seed gives the same schedules.
            attempts: the largest number of draws for each schedule.
            seconds: the time limit for all of them.

        Raises:
            ValueError: ``count`` is negative.
            EmptySpaceError: hardly any draw is legal.
            TimeoutError: the time does not suffice, though many draws are legal.
        """
        *_, sampled = self.sampling(count, seed, attempts, seconds)
        return sampled.schedules

    def sampling(
        self, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
    ) -> Iterator[Sampled]:
        """The state of :meth:`sample` before the first draw and after each one: one record, which
        grows.

        Raises:
            ValueError, EmptySpaceError, TimeoutError: as :meth:`sample` does.
        """
        if count < 0:
            raise ValueError(f"sample(count) takes an integer of at least 0, not {count}.")
        limit = seconds_given("sample(seconds)", seconds)
        name = f"{self.pipeline.name} on {self.device.name}"
        yield from sampled(self.draws(seed), Sampled(count), name, attempts, limit)

    def __contains__(self, schedule: object) -> bool:
        """Whether a schedule is legal and, up to the names of its loops, in the space."""
        return isinstance(schedule, Schedule) and self.find(schedule) is not None

    def find(self, schedule: Schedule) -> tuple[Structure, int] | None:
        """The structure of a schedule, up to the names of loops, and its index in the lattice; None
        if the space does not contain it, or it is illegal. Restrictions judge it with the names
        that the space gives to loops.
        """
        try:
            state = self.way_to(schedule)[-1].state
        except ValueError:
            return None
        structure = structure_of(state)
        own = bind(structure.schedule, state.numbers)
        if not self.judged.verdict(schedule) or not self.verdict(own):
            return None
        index = 0
        for name, menu in structure.menus.items():
            index = index * len(menu) + menu.index(state.numbers[name])
        return structure, index


def _may_be_legal(partial: PartialSchedule) -> bool:
    """Whether completions are worth a look: asked after each Func, not after each decision."""
    return partial.state.draft is not None or partial.can_be_legal


def _is_kept(partial: PartialSchedule, keeps: Callable[[PartialSchedule], bool]) -> bool:
    """Whether somebody keeps a partial schedule; asked after each Func."""
    return partial.state.draft is not None or keeps(partial)


def _may_be_wanted(partial: PartialSchedule) -> bool:
    """Whether the restrictions allow completions; asked after each Func."""
    return partial.state.draft is not None or partial.can_satisfy


def _difference(wanted: FormParts, reached: FormParts) -> str:
    """Up to three parts in which a schedule differs from the one that a space has."""
    names = [name for name in {**wanted, **reached} if wanted.get(name) != reached.get(name)]
    return ", ".join(
        f"{name!r} is {reached.get(name, 'absent')} and not {wanted.get(name, 'absent')}"
        for name in names[:3]
    )


def structure_of(state: ProcessState) -> Structure:
    """The structure of a state in which at most factors are open."""
    schedule = Schedule(state.entries, state.pipeline.derivations)
    return Structure(schedule, {name: state.menus[name] for name in parameters(schedule)})
