"""Updates that change each element in one step, so that their iterations may run at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.rules.atomic_updates import not_in_one_step
from spaces.constraints.rules.rounding import why_order_matters
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, made_from

_ONE_BY_ONE = (LoopKind.SERIAL, LoopKind.UNROLLED)


def may_change_in_one_step(function: Function, stage: int, *, exact: bool) -> bool:
    """Whether a stage may be ``atomic``.

    Args:
        function: its Func.
        stage: its number, 0 for the pure stage.
        exact: whether the bits of the results have to be those of the algorithm.
    """
    if not stage or (exact and why_order_matters(function, stage)):
        return False
    return not not_in_one_step(function, stage)


def atomic_stages(function: Function, orders: Sequence[DomainOrder]) -> tuple[int, ...]:
    """The stages that have to be ``atomic``: iterations that may change the same element run at
    once.
    """
    return tuple(_racing(function, orders))


def _racing(function: Function, orders: Sequence[DomainOrder]) -> Iterator[int]:
    for stage, order in enumerate(orders):
        if any(loop.kind not in _ONE_BY_ONE for loop in order.loops):
            racing = made_from(racing_dimensions(function, stage), order.splits)
            if any(one.kind not in _ONE_BY_ONE and one.name in racing for one in order.loops):
                yield stage
