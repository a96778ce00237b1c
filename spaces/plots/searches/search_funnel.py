"""What became of the structures that a search looked at."""

from __future__ import annotations

from spaces.enumerate.search.events import Done
from spaces.plots.funnel import FunnelStage, some

_NOT_REACHED = {
    "priced": "without a cost",
    "legal": "too dear to judge, or illegal",
    "returned": "dearer",
}
"""Why a candidate does not come to a stage."""


def search_funnel(done: Done) -> tuple[FunnelStage, ...]:
    """The stages from the structures that a search looked at to the schedules that it returns, as
    far as it counted them. No stage has more than the one before: strategies that judge before they
    price have more legal structures than priced ones.
    """
    judged = sorted([("priced", done.structures), ("legal", done.legal)], key=lambda one: -one[1])
    counts = [("looked at", done.considered), *judged, ("returned", len(done.best))]
    known = [one for one in counts if one[1]]
    stages = []
    for (name, count), (next_name, reached) in zip(known, [*known[1:], ("", 0)], strict=True):
        lost = some({_NOT_REACHED[next_name]: count - reached}) if next_name else {}
        stages.append(FunnelStage(name, count, lost))
    return tuple(stages)
