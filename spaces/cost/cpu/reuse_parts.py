"""The parts of the cost of ``reuse``, stage by stage: their sum is its price."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.cost.cpu.reuse import Reuse
from spaces.cost.cpu.transfers import list_transfers
from spaces.cost.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber

PARTS = ("compute", "from_l2", "from_l3", "from_memory", "allocation", "overhead")
"""Evaluations, loops and waits for stores; lines from the second-level cache, the third and from
memory; allocations; parallel loops. All in cycles.
"""


def parts(
    model: Reuse, features: Features
) -> Mapping[tuple[str, int], Mapping[str, SymbolicNumber]]:
    """The parts of each stage, by Func and number of the stage.

    Lines that several stages move together count for the first of these stages, an allocation for
    the first stage of its Func, and a parallel loop for the stage that gives it its name.
    """
    found: dict[tuple[str, int], dict[str, SymbolicNumber]] = {
        (stage.func, stage.index): dict.fromkeys(PARTS, 0.0) for stage in features.stages
    }
    for func in features.funcs:
        for stage in func.stages:
            found[stage.func, stage.index]["compute"] = model.compute_cycles(features, stage)
        found[func.name, 0]["allocation"] = model.allocation_cycles(func)
    transfers = list_transfers(features)
    owners = {
        place: (one.stage.func, one.stage.index)
        for one in reversed(transfers)
        for place in one.places
    }
    for part, moved in zip(PARTS[1:4], model.transfer_cycles(features, transfers), strict=True):
        for place, cycles in moved.items():
            of = found[owners[place]]
            of[part] = of[part] + cycles
    for (func_name, stage_index, _), cycles in model.parallel_overheads(features).items():
        of = found[func_name, stage_index]
        of["overhead"] = of["overhead"] + cycles
    return found
