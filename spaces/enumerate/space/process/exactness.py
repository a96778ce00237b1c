"""What a space of exact schedules leaves out: a stage that combines floats keeps their order."""

from __future__ import annotations

from spaces.constraints.dependences.hazards import ordering
from spaces.constraints.dependences.iterations import Ordering, dependences
from spaces.constraints.dependences.orders import trace
from spaces.constraints.rules.rounding import why_order_matters
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.schedule import StageOf


def must_keep_its_order(state: ProcessState, stage: StageOf) -> bool:
    """Whether a stage has to combine its values in the order of the algorithm: the schedules of the
    space are exact, and the bits of its results depend on that order.
    """
    is_update = stage.stage > 0
    return (
        state.choices.exact
        and is_update
        and bool(why_order_matters(state.function(stage.func), stage.stage))
    )


def kept_order(state: ProcessState, stage: StageOf) -> Ordering:
    """The order in which the iterations of a stage run in all schedules of the space."""
    function = state.function(stage.func)
    if must_keep_its_order(state, stage):
        return dependences(function, stage.stage)
    return ordering(function, stage.stage)


def has_an_order(state: ProcessState, stage: StageOf, order: DomainOrder) -> bool:
    """Whether loops that are split and fused so far can still keep the order of a stage that must:
    no two of them have to enclose each other.
    """
    if not must_keep_its_order(state, stage):
        return True
    traced = trace(state.stage(stage), order, kept_order(state, stage))
    if any(fault.kind == "fuse-order" for fault in traced.faults):
        return False
    left = set(traced.sequence)
    while left:
        inside = {inner for outer, inner in traced.before if outer in left}
        if left <= inside:
            return False
        left &= inside
    return True
