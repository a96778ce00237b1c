"""The shares of Funcs in the cost of a schedule: which of them are worth a change."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spaces.cost.model import PartedModel
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.edits import ALL_ALIKE
from spaces.enumerate.space.structure import Structure
from spaces.model.formulas.symbolic import as_array
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule

LEAST = 0.01
"""The share that every Func has at least: what costs nothing may make others cheap."""


def share_cost(pricer: Pricer, schedule: Schedule) -> Mapping[str, float]:
    """What each Func costs, divided by the cost of the schedule. An inlined Func has the shares of
    its readers; one whose cost the model does not tell apart has that of the Func around it. Empty
    if the model tells no parts.
    """
    space, model = pricer.space, pricer.model
    if not isinstance(model, PartedModel):
        return ALL_ALIKE
    features = pricer.read_features(Structure(schedule, {}))
    if features is None:
        return ALL_ALIKE
    costs: dict[str, float] = {}
    for (func, _), parts in model.parts(features).items():
        costs[func] = costs.get(func, 0.0) + sum(float(as_array(part)) for part in parts.values())
    total = sum(costs.values())
    if not (math.isfinite(total) and total > 0):
        return ALL_ALIKE
    pipeline = derived(space.pipeline, schedule)
    for function in reversed(pipeline.functions):
        name = function.name
        compute = schedule.of(name).compute
        if name not in costs and compute.is_inline:
            readers = (one for one in pipeline.consumers(name) if one != name)
            costs[name] = sum(costs.get(one, 0.0) for one in readers)
        elif name not in costs:
            costs[name] = costs.get(compute.func, 0.0)
    return {name: max(LEAST, cost / total) for name, cost in costs.items()}
