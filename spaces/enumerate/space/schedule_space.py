"""Spaces as users hold them: a value, and the functions about it as methods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np
from attrs import frozen

from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.count import bounds, count, counting, length
from spaces.enumerate.space.counting.draws import draws, sample, sampling
from spaces.enumerate.space.counting.estimate import estimate, estimating
from spaces.enumerate.space.counting.ranks import (
    positions,
    rank,
    ranking,
    schedule_at,
    schedules_at,
)
from spaces.enumerate.space.finding import contains, find, way_to
from spaces.enumerate.space.fingerprint import fingerprint
from spaces.enumerate.space.listing import legal_schedules, shard, structures
from spaces.enumerate.space.process.partial import PartialSchedule, replay_options
from spaces.enumerate.space.space import Space
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
        ValueError: the pipeline has no estimate of an output. Or ``fixed`` has an entry that does
            not fit a Func of the pipeline, or makes an exact space inexact. Or ``leave`` names a
            Func that the pipeline does not have, or one with an entry in ``fixed``. Or a condition
            names a feature, Func or loop that does not exist. Or ``sizes`` do not fit the outputs.
        RestrictionSyntaxError: a text in ``where`` is no condition.
        TypeError: ``where`` is no list of conditions and functions, or ``sizes`` no list of
            mappings.

    >>> space = ScheduleSpace(pipeline, device("cpu"))
    >>> next(iter(space))
    """

    __contains__ = contains
    find = find
    way_to = way_to
    __iter__ = legal_schedules
    structures = structures
    shard = shard
    rank = rank
    ranking = ranking
    count = count
    counting = counting
    bounds = bounds
    draws = draws
    estimate = estimate
    estimating = estimating
    sample = sample
    sampling = sampling

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
        return replay_options(self.start(), taken)

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
