"""Tuning in rounds, as in [A21] section 6 (autotuning): search, measure, retrain, repeat."""

from __future__ import annotations

import random
from collections.abc import Sequence

from attrs import field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.tuning.identity import schedule_digest
from spaces.tuning.retraining import retrain
from spaces.tuning.top_ranked import rank_by_search
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import sources_of, tried_digests

ROUND = "round"
"""The source of the proposals of a round; the number of the round follows it."""


@frozen(kw_only=True)
class Iterated:
    """Each round searches with the current model, measures the best schedules that are not measured
    yet, and retrains the model from all results of the study (:class:`TrainableModel`). A model
    that cannot learn stays as it is; then each round draws other samples only.

    [A21] tunes for 20 rounds of 80 samples each, from random weights. Ours begins with the model of
    the study, and a study may end at any time. The strategy searches the whole patterns of a space
    (``ScheduleSpace.of_patterns``).

    Attributes:
        size: how many schedules a round measures at most.
        rounds: the number of rounds.
        found: how many schedules a search finds, measured or not; they differ in structure.
        structures: how many structures a search prices at most.
        attempts: with how many seeds a round searches at most, while all found schedules are
            measured already.
        strategy: the search. Its text (``repr``) is a part of the key of a study.
    """

    size: int = 6
    rounds: int = 20
    found: int = 12
    structures: int = 2000
    attempts: int = 4
    strategy: Strategy = field(default=HierarchicalSampling(passes=2, greedy=8))

    def generation(
        self, space: ScheduleSpace, model: CostModel, trials: Sequence[Trial], seed: int
    ) -> list[Proposal]:
        number = 1 + sum(source.startswith(f"{ROUND} ") for source in sources_of(trials))
        if number > self.rounds:
            return []
        learned = retrain(model, space, trials)
        tried = tried_digests(space.pipeline, trials)
        chosen = random.Random(f"{seed} {number}")
        for _ in range(self.attempts):
            limits = Limits(
                top=self.found, structures=self.structures, seed=chosen.randrange(1 << 30)
            )
            fresh = [
                Proposal(one.schedule, f"{ROUND} {number}", one.cost)
                for one in rank_by_search(space, learned, self.strategy, limits)
                if schedule_digest(space.pipeline, one.schedule) not in tried
            ]
            if fresh:
                return fresh[: self.size]
        return []
