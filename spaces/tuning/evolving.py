"""Tuning by changes: first the schedules that the model ranks best, then changes of the fastest.

As in the iterated mode of [A21] section 6, a model chooses among many candidates, few of them are
measured, and the results decide where to look next. The results correct the model, too: among
changes of one schedule, what was measured tells more than costs do
(:mod:`~spaces.tuning.promising_changes`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.draw import draw_rewrite
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import ask_clock
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.promising_changes import (
    LEARNED,
    ChangeChoice,
    PromisingChange,
    choice_after,
    without_slow,
)
from spaces.tuning.strategy import FirstSearch
from spaces.tuning.top_ranked import TopRanked
from spaces.tuning.trial import Proposal, Trial, fastest
from spaces.tuning.trial_log import TriedDigests, tried_digests


@frozen(kw_only=True)
class Evolving:
    """First the best schedules of a search by the model. Then, generation after generation, random
    changes of the fastest schedules so far, some of them rewrites. The model, corrected by the
    results, chooses the most promising changes.

    Attributes:
        found: how many schedules of the search are measured.
        structures: how many structures the search scores at most.
        parents: how many of the fastest schedules are changed; more if all changes of these are
            measured already.
        size: how many schedules a generation has.
        pool: how many changed schedules they are chosen from.
        surprises: how many of a generation are taken at random, whatever is expected of them; but
            none that the model prices at more than twice the cost of the fastest trial, as long as
            there are others.
        numbers: how many choices of factors are tried with a change, at most.
        likely: how many of these choices, the cheapest ones that are legal, are looked at.
        rewrites: the share of the changes that are rewrites (:func:`draw_rewrite`); the others
            change one decision.
    """

    found: int = 6
    structures: int = 2000
    parents: int = 4
    size: int = 6
    pool: int = 18
    surprises: int = 1
    numbers: int = 64
    likely: int = 4
    rewrites: float = 0.2

    @property
    def _first(self) -> TopRanked:
        return TopRanked(found=self.found, structures=self.structures)

    def opening(self, seed: int) -> FirstSearch:
        return self._first.opening(seed)

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        found = self._first.generation(space, model, trials, seed)
        return found or self.changes(space, model, trials, seed)

    def changes(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        tried = tried_digests(space.pipeline, trials)
        ranked = fastest(trials)
        pricer = Pricer.of(space, model, Limits())
        choice = choice_after(pricer, ranked[:LEARNED])
        chosen = random.Random(f"{seed} {len(trials)}")
        pool: list[PromisingChange] = []
        parents = self.parents
        while not pool:
            best = [one.schedule for one in ranked[:parents]]
            changed = self._change_schedules(pricer, best, chosen, tried, choice)
            pool = [one for found in itertools.islice(changed, self.pool) for one in found]
            if parents >= len(ranked):
                break
            parents *= 2  # slower ones, too: all changes of the fastest are measured
        if not pool:
            return []
        likely = choice.choose(pool, self.size - self.surprises)
        taken = {one.digest for one in likely}
        others = [one for one in pool if one.digest not in taken]
        others = without_slow(others, ranked[:LEARNED]) or others
        taken_by_chance = chosen.sample(others, min(self.surprises, len(others)))
        return [one.proposal for one in (*likely, *taken_by_chance)]

    def _change_schedules(
        self,
        pricer: Pricer,
        parents: Sequence[Schedule],
        chosen: random.Random,
        tried: TriedDigests,
        choice: ChangeChoice,
    ) -> Iterator[list[PromisingChange]]:
        """For each change the schedules to choose from, with its cheapest numbers that are not
        ``tried``, to which it adds them. Ends when hardly any change is legal and new.
        """
        decided = list(_decide(pricer.space, parents))
        for _ in range(20 * self.pool if decided else 0):
            ask_clock()
            parent = decided[int(len(decided) * chosen.random() ** 2)]  # the fastest most often
            edit = self._draw_edit(pricer, parent, chosen)
            if edit is None:
                continue
            structure = edit.open_numbers(chosen, self.numbers)
            found = choice.candidates(structure, self.likely, tried)
            for one in found:
                tried.add(one.digest)
            if found:
                yield found

    def _draw_edit(
        self, pricer: Pricer, parent: DecidedSchedule, chosen: random.Random
    ) -> DecisionEdit | None:
        """A random change of a schedule; None if it finds none."""
        if chosen.random() < self.rewrites:
            return draw_rewrite(pricer, parent, chosen)
        return parent.draw_edit(chosen)


def _decide(space: ScheduleSpace, schedules: Sequence[Schedule]) -> Iterator[DecidedSchedule]:
    """The schedules that the space has, with the decisions that lead to them."""
    for schedule in schedules:
        with suppress(ValueError):
            yield _decided(space, schedule)


@lru_cache(maxsize=16)
def _decided(space: ScheduleSpace, schedule: Schedule) -> DecidedSchedule:
    """The decisions that lead to a schedule, which is changed in several generations.

    Raises:
        ValueError: the space has no such schedule.
    """
    return DecidedSchedule.of(space, schedule)
