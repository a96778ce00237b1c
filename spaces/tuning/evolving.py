"""Tuning by changes: first the schedules that the model ranks best, then changes of the fastest.

As in the iterated mode of [A21] section 6, a model chooses among many candidates, few of them are
measured, and the results decide where to look next. The results correct the model, too: among
changes of one schedule, what was measured tells more than costs do (:class:`MeasuredEffects`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.draw import draw_rewrite
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import ask_clock
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.measured_effects import MeasuredEffects
from spaces.tuning.strategy import FirstSearch
from spaces.tuning.top_ranked import TopRanked
from spaces.tuning.trial import Proposal, Trial, fastest
from spaces.tuning.trial_log import TriedDigests, tried_digests

CHANGE = "change"
"""The source of changed schedules."""

LEARNED = 256
"""The most trials whose results correct the costs of changes: the fastest ones."""


@frozen
class _Change:
    """A changed schedule.

    Attributes:
        proposal: the schedule with its cost.
        form: its canonical form.
        slower: how much slower it is expected to be than the fastest trial.
        is_slow: whether the model alone prices it far above that trial.
    """

    proposal: Proposal
    form: CanonicalForm
    slower: float
    is_slow: bool


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
        likely: how many of these choices, the cheapest ones that are legal, are looked at: the most
            promising one that is not measured is taken.
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
    likely: int = 8
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
        effects = MeasuredEffects.fit(space.pipeline, ranked[:LEARNED])
        chosen = random.Random(f"{seed} {len(trials)}")
        pool: list[_Change] = []
        parents = self.parents
        while not pool:
            best = [one.schedule for one in ranked[:parents]]
            changed = self._change_schedules(space, model, best, chosen, tried, effects)
            pool = list(itertools.islice(changed, self.pool))
            if parents >= len(ranked):
                break
            parents *= 2  # slower ones, too: all changes of the fastest are measured
        pool.sort(key=_expected_slowness)
        likely = pool[: self.size - self.surprises]
        others = pool[len(likely) :]
        others = [one for one in others if not one.is_slow] or others
        taken = likely + chosen.sample(others, min(self.surprises, len(others)))
        return [one.proposal for one in taken]

    def _change_schedules(
        self,
        space: ScheduleSpace,
        model: CostModel,
        parents: Sequence[Schedule],
        chosen: random.Random,
        tried: TriedDigests,
        effects: MeasuredEffects,
    ) -> Iterator[_Change]:
        """Changed schedules, each with the most promising of its cheapest numbers that are not
        ``tried``, to which it adds them. Ends when hardly any change is legal and new.
        """
        pricer = Pricer.of(space, model, Limits())
        decided = list(_decide(space, parents))
        for _ in range(20 * self.pool if decided else 0):
            ask_clock()
            parent = decided[int(len(decided) * chosen.random() ** 2)]  # the fastest most often
            edit = self._draw_edit(pricer, parent, chosen)
            if edit is None:
                continue
            structure = edit.open_numbers(chosen, self.numbers)
            found = [
                one
                for one in self._price_numbers(pricer, structure, effects)
                if one.form.digest not in tried
            ]
            if found:
                best = min(found, key=_expected_slowness)
                tried.add(best.form.digest)
                yield best

    def _price_numbers(
        self, pricer: Pricer, structure: Structure, effects: MeasuredEffects
    ) -> Iterator[_Change]:
        """The legal schedules of a structure that are :attr:`likely`, cheapest first."""
        costs = pricer.price_structure(structure)
        for index in itertools.islice(pricer.order_legal(structure, costs), self.likely):
            cost = float(costs.flat[index])
            schedule = structure.at(index)
            form = canonical_form(pricer.space.pipeline, schedule)
            proposal = Proposal(schedule, CHANGE, cost)
            yield _Change(proposal, form, effects.expect(form, cost), effects.is_slow(cost))

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
        try:
            yield DecidedSchedule.of(space, schedule)
        except ValueError:
            continue


def _expected_slowness(change: _Change) -> float:
    return change.slower
