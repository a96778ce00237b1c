"""Spaces as users hold them: a definition, and the questions about it as methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import overload

import numpy as np
from attrs import frozen

from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.count import Counted, bounds, count, counting, length
from spaces.enumerate.space.counting.draws import Draw, Sampled, draws, sample, sampling
from spaces.enumerate.space.counting.estimate import (
    CountBounds,
    CountEstimate,
    WeightedEstimate,
    estimating,
)
from spaces.enumerate.space.counting.ranks import (
    Ranked,
    positions,
    ranking,
    schedule_at,
    schedules_at,
)
from spaces.enumerate.space.finding import find, way_to
from spaces.enumerate.space.fingerprint import fingerprint
from spaces.enumerate.space.listing import legal_schedules, shard, structures
from spaces.enumerate.space.process.partial import PartialSchedule, replayed
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.articles import shown_kind
from spaces.model.schedules.schedule import Schedule


@frozen(repr=False)
class ScheduleSpace(Space):
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

    @property
    def fingerprint(self) -> str:
        """A text of 32 hexadecimal digits, the same on every machine. It is equal for spaces of
        equal pipelines, devices, options, fixed entries, restrictions and further sizes in the
        same order, where labels mean the same.

        Raises:
            ValueError: a restriction is a Python function, which has no such text.
        """
        return self.once(fingerprint)

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
        return way_to(self, schedule)

    def find(self, schedule: Schedule) -> tuple[Structure, int] | None:
        """The structure of a schedule, up to the names of loops, and its index in the lattice; None
        if the space does not contain it, or it is illegal. Restrictions judge it with the names
        that the space gives to loops.
        """
        return find(self, schedule)

    def __contains__(self, schedule: object) -> bool:
        """Whether a schedule is legal and, up to the names of its loops, in the space."""
        return isinstance(schedule, Schedule) and find(self, schedule) is not None

    def structures(
        self, keeps: Callable[[PartialSchedule], bool] = lambda partial: True
    ) -> Iterator[Structure]:
        """Every structure, legal or not, lazily and always in the same order; without those that
        the restrictions leave out for all their numbers.

        Args:
            keeps: whether the structures after a partial schedule are wanted; asked after each
                Func.
        """
        return structures(self, keeps)

    def __iter__(self) -> Iterator[Schedule]:
        """Every legal schedule, lazily and always in the same order."""
        return legal_schedules(self)

    def shard(self, number: int, *, of: int) -> Iterator[Schedule]:
        """The legal schedules of one of several shards: together the shards have every schedule
        of the iteration once. Equal spaces have equal shards on every machine.

        Args:
            number: the shard, from 0.
            of: the number of shards.

        Raises:
            ValueError: there is no such shard.
        """
        return shard(self, number, of)

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
            return schedules_at(self, rank)
        if not isinstance(rank, int | np.integer):
            raise TypeError(f"The rank of a schedule is a whole number, not {shown_kind(rank)}.")
        return schedule_at(self, int(rank))

    def __len__(self) -> int:
        """The number of legal schedules, as :meth:`count` finds it in a second.

        Raises:
            TypeError: the space is too large for that, or has a Python restriction.
        """
        return self.once(length)

    def __bool__(self) -> bool:
        """Whether a schedule is legal; unlike the length this is known soon."""
        return self.once(positions).at(0) is not None

    def rank(self, schedule: Schedule, *, seconds: float = math.inf) -> int:
        """The place of a legal schedule in the iteration, from 0: ``space[rank]`` is the same
        schedule, up to the names of its loops.

        It judges all structures before it once.

        Raises:
            ValueError: the schedule is illegal, or the space has no such schedule.
            TimeoutError: that takes longer than ``seconds``.
        """
        *_, last = ranking(self, schedule, seconds=seconds)
        return last.before

    def ranking(self, schedule: Schedule, *, seconds: float = math.inf) -> Iterator[Ranked]:
        """The running totals of :meth:`rank`; the last ones are exact.

        Raises:
            ValueError, TimeoutError: as :meth:`rank` does.
        """
        return ranking(self, schedule, seconds=seconds)

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
        return count(self, seconds=seconds)

    def counting(self, *, seconds: float = math.inf) -> Iterator[Counted]:
        """The running totals of :meth:`count`; the last ones are exact.

        Raises:
            TimeoutError: the count takes longer than ``seconds``.
            ValueError: a restriction is a Python function.
        """
        return counting(self, seconds=seconds)

    def bounds(self, *, seconds: float = 60.0) -> CountBounds:
        """Certain bounds of :meth:`count`: it judges structures until the time ends, and other
        structures may be legal or not. The upper one is infinite if the space has more than
        patterns (:attr:`only_patterns`), or half of the time is too short for :attr:`candidates`.
        """
        return bounds(self, seconds=seconds)

    @property
    def candidates(self) -> int:
        """The number of candidates of a space of patterns alone, not less than :meth:`count`. A
        candidate is a schedule of the options, legal or not, in which a Func with several readers
        is placed as the reader that is decided first allows.

        It is exact, and immediate also for an astronomic space.

        Raises:
            ValueError: the space has more than patterns (:attr:`only_patterns`).
        """
        return self.once(Candidates).total

    def candidate(self, index: int) -> Schedule:
        """The candidate of an index below :attr:`candidates`, legal or not.

        Raises:
            IndexError: the index is not below :attr:`candidates`.
            ValueError: the space has more than patterns (:attr:`only_patterns`).
        """
        return self.once(Candidates).at(index)

    def draws(self, seed: int = 0) -> Iterator[Draw]:
        """Random schedules without end, legal and illegal ones, independent of each other.

        In a space of patterns alone (:attr:`only_patterns`) all candidates have the same chance,
        and so have all legal schedules. In other spaces a Func is decided after the other, and
        again if it breaks a rule; simple decisions are likelier than others, and the weights make
        up for that.
        """
        return draws(self, seed)

    def estimate(
        self, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
    ) -> CountEstimate | WeightedEstimate:
        """An estimate of :meth:`count` from random schedules: at most ``samples``, fewer if the
        time ends before. A weighted one unless the space has :attr:`only_patterns`.

        Raises:
            ValueError: ``samples`` is less than 1.
            TimeoutError: the time does not suffice for one schedule.
        """
        *_, found = estimating(self, samples, seed, seconds=seconds)
        return found

    def estimating(
        self, samples: int = 200, seed: int = 0, *, seconds: float = math.inf
    ) -> Iterator[CountEstimate | WeightedEstimate]:
        """The estimates after each draw of :meth:`estimate`, the last one is the best.

        Raises:
            ValueError, TimeoutError: as :meth:`estimate` does.
        """
        return estimating(self, samples, seed, seconds=seconds)

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
        return sample(self, count, seed, attempts, seconds)

    def sampling(
        self, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
    ) -> Iterator[Sampled]:
        """The state of :meth:`sample` before the first draw and after each one: one record, which
        grows.

        Raises:
            ValueError, EmptySpaceError, TimeoutError: as :meth:`sample` does.
        """
        return sampling(self, count, seed, attempts, seconds)
