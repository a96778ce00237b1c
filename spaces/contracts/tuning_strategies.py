"""What every tuning strategy promises."""

from __future__ import annotations

from spaces.constraints.devices.device import device
from spaces.contracts.examples import blur
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.registry import cost_model
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.nest.canonical import canonical_form
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.trial import Proposal, Trial

GENERATIONS = 3
"""How many generations are asked for."""


class TuningStrategyContract:
    """The tests of a tuning strategy."""

    def strategy(self) -> TuningStrategy:
        """The strategy under test, with small numbers."""
        raise NotImplementedError("a contract test says which strategy it tests")

    def space(self) -> ScheduleSpace:
        """A space; the strategy proposes schedules in seconds."""
        few = Options(root=("strips", "vectors"), row_tiles=(32, 64), tiles=(8, 32), lanes=(1,))
        return ScheduleSpace(blur(), device("cpu"), few)

    def generations(self, space: ScheduleSpace) -> list[list[Proposal]]:
        """Some generations, each after results of the last one: made up, one of three fails."""
        model = cost_model("weighted", space.device)
        reference = next(iter(space))
        trials = [_told(0, Proposal(reference, "reference"))]
        found = []
        for _ in range(GENERATIONS):
            proposals = self.strategy().generation(space, model, tuple(trials), 5)
            found.append(proposals)
            for proposal in proposals:
                trials.append(_told(len(trials), proposal))
        return found

    def test_it_proposes_something(self) -> None:
        assert self.generations(self.space())[0], "The first generation is empty."

    def test_what_it_proposes_is_legal(self) -> None:
        space = self.space()
        for proposals in self.generations(space):
            for proposal in proposals:
                verdict = space.verdict(proposal.schedule)
                assert verdict, f"It proposes an illegal schedule.\n{verdict}"

    def test_it_proposes_nothing_twice(self) -> None:
        space = self.space()
        forms = [
            canonical_form(space.pipeline, proposal.schedule)
            for proposals in self.generations(space)
            for proposal in proposals
        ]
        assert len(set(forms)) == len(forms), "It proposes a schedule twice."

    def test_the_same_results_give_the_same_proposals(self) -> None:
        space = self.space()
        again = self.generations(self.space())
        assert self.generations(space) == again, "Something but its arguments decides."


def _told(number: int, proposal: Proposal) -> Trial:
    """A trial with a result that its number decides."""
    if number % 3 == 2:
        result = Measurement(proposal.schedule, RunOutcome.CRASHED, "It crashed.")
    else:
        times = (1.0 + number % 4,) * 6
        result = Measurement(proposal.schedule, RunOutcome.CORRECT, "", times, (2.0,) * 6)
    return Trial(number, proposal, result)
