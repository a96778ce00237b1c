"""A small study in memory whose times are known, without a measurer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from attrs import frozen

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from spaces.tuning.identity import this_machine
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.sources import REFERENCE, START
from spaces.tuning.store import StudyKey, TuningStore
from spaces.tuning.top_ranked import SEARCH
from spaces.tuning.trial import Proposal
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

REFERENCE_SECONDS = 0.01


@frozen
class Given:
    """A trial of the study: rows of a strip, lanes, and what its runs are.

    Attributes:
        ratios: of its runs to the reference; a failure if empty, open if None.
    """

    rows: int
    lanes: int
    source: str
    predicted: float | None
    ratios: Sequence[float] | None

    @property
    def schedule(self) -> Schedule:
        return _strips(self.rows, self.lanes)

    @property
    def proposal(self) -> Proposal:
        return Proposal(self.schedule, self.source, self.predicted)

    @property
    def result(self) -> Measurement | None:
        if self.ratios is None:
            return None
        if not self.ratios:
            why = "Its process ended with SIGSEGV."
            return Measurement(self.schedule, RunOutcome.CRASHED, why)
        seconds = tuple(ratio * REFERENCE_SECONDS for ratio in self.ratios)
        beside = (REFERENCE_SECONDS,) * len(seconds)
        return Measurement(self.schedule, RunOutcome.CORRECT, "", seconds, beside)


@cache
def _strips(rows: int, lanes: int) -> Schedule:
    text = f"blur_y.split(y, y, yi, {rows}).parallel(y).vectorize(x, {lanes})"
    return parse_schedule(text, blur())


STEADY = 6
"""From so many runs on an interval lies between two of them."""

TRIALS = (
    Given(8, 4, REFERENCE, None, (1.0,) * STEADY),
    Given(16, 4, START, None, (0.8,) * STEADY),
    Given(32, 4, SEARCH, 40.0, (0.95,) * STEADY),
    Given(64, 4, SEARCH, 30.0, ()),
    Given(8, 8, SEARCH, 25.0, (0.5, 0.92)),  # a lucky run: its interval is wide
    Given(16, 8, "change", 28.0, (0.7,) * STEADY),
    Given(32, 8, "change", 26.0, (0.65,) * STEADY),
    Given(64, 8, "change", 24.0, (0.6,) * STEADY),
    Given(8, 16, "change", 20.0, (5.0,) * STEADY),  # far from its price
    Given(16, 16, "change", 22.0, (0.62, 0.6, 0.61, 0.6, 0.62, 0.61)),
    Given(32, 16, "change", 23.0, ()),
    Given(64, 16, "change", 21.0, None),
)


@contextmanager
def known_study(given: Sequence[Given] = TRIALS, file: str = ":memory:") -> Iterator[TuningStore]:
    """A store with one study of these trials, told in their order."""
    key = StudyKey(blur(), this_machine(FOUR_CORES), "cpu", "", "reuse", "evolving", 0)
    with TuningStore.open(file) as store:
        study = store.open_study(key, given[0].schedule if given else parse_schedule("", blur()))
        store.claim_study(study)
        store.propose(study, blur(), [one.proposal for one in given])
        store.keep_search(study, SearchCounts(40, 55, 20), is_over=True)
        for number, one in enumerate(given):
            if one.result is not None:
                store.tell(study, number, one.result)
        yield store
