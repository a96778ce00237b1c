"""Advice on a legal schedule: directives without an effect, or with an unexpected one."""

from __future__ import annotations

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.catalogue import ADVICE
from spaces.constraints.rules.findings import Advice, Asked, advice, failing
from spaces.constraints.rules.nest_view import NestView
from spaces.model.nest.bounds import Bounds


def advise(bounds: Bounds, device: Device) -> tuple[Advice, ...]:
    """All advice on the schedule with these bounds, at the estimated sizes.

    Advice that depends on a size without an estimate is left out.
    """
    view = NestView.of(bounds, device)
    asked = (
        Asked(rule, check)
        for function in bounds.pipeline.functions
        for rule in ADVICE
        for check in rule.check(view, function.name)
    )
    sizes = bounds.pipeline.usual_values()
    return tuple(advice(item, sizes) for item in failing(asked, sizes))
