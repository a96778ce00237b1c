"""The search strategy of [S19]: a schedule by analysis, without search among structures."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen
from attrs.validators import ge

from spaces.constraints.devices.device import CpuDevice
from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded, Found
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.beam import allows
from spaces.enumerate.search.papers.reuse_analysis.segments import Segmentation
from spaces.enumerate.search.papers.reuse_analysis.tiling import LOAD_WEIGHT
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.runners_up import offer_runners_up
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime


@frozen(kw_only=True)
class ReuseAnalysis:
    """Reuse analysis as in [S19], on CPUs: it derives one schedule of the whole patterns of a space
    (``ScheduleSpace.of_patterns``) from the overlaps between the regions that consumers read. The
    cost model ranks this schedule, its alternatives with other loop permutations, and the simple
    schedules that every search begins with; it has no part in the analysis. Where the options of
    the space lack a placement that the analysis needs, only those simple schedules are left.

    It is for ``Options.medium`` of a CPU. It skips what [S19] section 3 shows to be dominated:
    levels with less reuse and the same buffer, or with the same reuse and a larger buffer. It also
    skips tiles that break the constraints of section 4.2.

    Attributes:
        load_weight: the cost of a load relative to a computed value, w of [S19].
        smallest: where the buffers of a pipeline exceed the last cache, the least number of Funcs
            before the first cut; 1 tries all cuts.
    """

    load_weight: float = LOAD_WEIGHT
    smallest: int = field(default=1, validator=ge(1))

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        if not isinstance(space.device, CpuDevice):
            raise ValueError(
                f"The strategy reuse-analysis schedules for CPUs, not for {space.device.name}; "
                "search with stagewise or annealing."
            )
        pricer = Pricer.of(space, model, limits)
        board, patterns = pricer.board, pricer.within(space.of_patterns)
        yield from offer_incumbents(pricer)
        analysis = Segmentation(patterns, self.load_weight, self.smallest)
        complete = True
        try:
            yield Expanded(1, 2, "segments")
            with board.deadline.kept():
                segments = analysis.best()
            yield Expanded(2, 2, "schedules")
            for schedule in analysis.schedules(segments):
                with board.deadline.kept():
                    board.considered += 1
                    if not (allows(patterns.space, schedule) and pricer.is_legal(schedule)):
                        continue
                    cost = float(pricer.price_structure(Structure(schedule, {})))
                board.legal += 1
                yield from board.offer(Found(cost, schedule))
                yield board.scored
                break  # the first is the one that the analysis chooses
        except OutOfTime:
            complete = False
        yield board.scored
        yield from offer_runners_up(pricer)
        yield board.done(space, complete)


STRATEGIES = {"reuse-analysis": ReuseAnalysis()}
