"""The one call that says whether a schedule is legal for a device, and why not."""

from __future__ import annotations

from spaces.constraints.devices import Device
from spaces.constraints.judge import ask_matching, ask_nest, ask_records, bounds_of, judge
from spaces.constraints.partial import ask_other_nest, ask_other_records
from spaces.constraints.rules.records import Records
from spaces.constraints.verdict import CheckedSchedule, Illegal, Verdict
from spaces.model.derive import derived
from spaces.model.pipeline import Pipeline
from spaces.model.placement import Bounds
from spaces.model.schedule import Schedule


def verify(pipeline: Pipeline, schedule: Schedule, device: Device) -> Verdict:
    """Whether ``schedule`` is legal for ``pipeline`` on ``device``.

    All violations are found, not the first one: where an entry is wrong, the rules are still asked
    of the Funcs whose place does not depend on it.

    Sizes of outputs and images are judged at the pipeline's estimates; what depends on sizes that
    have none is left in the ``requirements`` of a :class:`CheckedSchedule`.
    """
    sizes = pipeline.sizes()
    found = judge(ask_matching(pipeline, schedule), {}).violations
    broken = {violation.func for violation in found}
    pipeline = derived(pipeline, schedule)
    if found:
        records = ask_other_records(pipeline, schedule, device, broken)
    else:
        records = ask_records(Records(pipeline, schedule, device))
    found += judge(records, sizes).violations
    if found:
        broken |= {violation.func for violation in found}
        rest = ask_other_nest(pipeline, schedule, device, broken)
        return Illegal(found + judge(rest, sizes).violations)
    bounds = bounds_of(pipeline, schedule)
    judgement = judge(ask_nest(bounds, device), sizes)
    if judgement.violations or not isinstance(bounds, Bounds):
        return Illegal(judgement.violations)
    return CheckedSchedule(pipeline, schedule, device, bounds, judgement.requirements)
