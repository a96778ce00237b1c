"""Prices for tests of the reuse model."""

from __future__ import annotations

import attrs

from spaces.constraints.devices.device import CpuDevice
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.schedules.schedule import Schedule
from tests.cpus import ONE_CORE


def free(**prices: float) -> Prices:
    """These prices; all others are 0."""
    return Prices(**{a.name: prices.get(a.name, 0.0) for a in attrs.fields(Prices)})


def cost_of(
    pipe: Pipeline, chosen: Directives | Schedule, cpu: CpuDevice = ONE_CORE, **prices: float
) -> float:
    """The cost of a schedule by the reuse model with these prices; all others are 0."""
    found = chosen.schedule if isinstance(chosen, Directives) else chosen
    model = Reuse(cpu, free(**prices))
    return float(model.cost(Batch.of(pipe, found)))
