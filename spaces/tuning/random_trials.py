"""Tuning by random schedules, which every other strategy must beat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.space.counting.draws import draws
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.tuning.identity import schedule_digest
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import tried_digests

DRAW = "draw"
"""The source of random schedules."""


@frozen(kw_only=True)
class RandomTrials:
    """Random legal schedules of the space, each once.

    Attributes:
        size: how many schedules a generation has.
        attempts: how many draws a generation takes at most.
    """

    size: int = 6
    attempts: int = 5000

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        tried = tried_digests(space.pipeline, trials)
        found: list[Proposal] = []
        of_generation = 1_000_003 * seed + len(trials)
        for draw in islice(draws(space, of_generation), self.attempts):
            if draw.schedule is None:
                continue
            form = schedule_digest(space.pipeline, draw.schedule)
            if form not in tried:
                tried.add(form)
                found.append(Proposal(draw.schedule, DRAW))
            if len(found) == self.size:
                break
        return found
