"""The hand-made terms of the cost of a stage: [A21] appendix B, for a CPU.

The cost of a stage is the sum of its terms, each times a coefficient that the network predicts.
Each term has a price in cycles; the network starts with these prices as its coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping

from spaces.cost.learned.schedule_features import PLACES, Numbers
from spaces.model.formulas.symbolic import SymbolicNumber, maximum

PRICES: Mapping[str, float] = {
    "scalars": 0.1,
    "vectors": 3.0,
    **{f"{place}_lines_per_realization": 2.0 for place in PLACES},
    **{f"{place}_bytes_per_realization": 0.02 for place in PLACES},
    **{f"{place}_lines_per_thread": 0.2 for place in PLACES},
    **{f"{place}_bytes_per_thread": 0.02 for place in PLACES},
    "bytes_per_point": 0.02,
    "lines_per_point": 0.1,
    "bytes_per_task": 0.02,
    "lines_per_task": 2.0,
    "memory_loads": 2.0,
    "loads": 0.5,
    "memory_stores": 2.0,
    "stores": 1.0,
    "false_sharing": 1.0,
    "allocations": 15.0,
    "launches": 10_000.0,
    "tasks": 300.0,
    "working_set": 0.01,
}
"""The terms, each with its price in cycles."""


def terms(of: Numbers) -> Mapping[str, SymbolicNumber]:
    """The terms of a stage from its schedule features.

    Work counts ``idle_core_wastage`` times: on the slowest core. (In the paper this factor is 1
    where there are fewer tasks than cores; the network cannot tell then that a serial loop leaves
    cores idle.) The parallel overhead counts once.
    """
    wastage = of["idle_core_wastage"] / of["cores"]
    compute = wastage / maximum(0.05, 1 - of["idle_lane_wastage"])
    realizations, bodies = wastage * of["num_realizations"], wastage * of["num_bodies"]
    tasks = wastage * of["num_all_tasks"]
    found: dict[str, SymbolicNumber] = {
        "scalars": compute * of["num_scalars"],
        "vectors": compute * of["num_vectors"],
    }
    for within, times in (("realization", realizations), ("thread", bodies)):
        for kind in ("lines", "bytes"):
            for place in PLACES:
                read = of[f"unique_{place}_{kind}_read_per_{within}"]
                found[f"{place}_{kind}_per_{within}"] = times * read
    is_parallel = of["inner_parallelism"] > 1
    found |= {
        "bytes_per_point": wastage * of["num_scalars"] * of["unique_bytes_read_per_point"],
        "lines_per_point": wastage * of["num_scalars"] * of["unique_lines_read_per_point"],
        "bytes_per_task": tasks * of["unique_bytes_read_per_task"],
        "lines_per_task": tasks * of["unique_lines_read_per_task"],
        "memory_loads": tasks * of["memory_loads_per_task"] / of["memory_load_efficiency"],
        "loads": tasks * of["loads_per_task"] / of["load_efficiency"],
        "memory_stores": tasks * of["memory_stores_per_task"] / of["memory_store_efficiency"],
        "stores": tasks * of["stores_per_task"],
        "false_sharing": is_parallel
        * of["num_scalars"]
        / maximum(1, of["memory_innermost_bytes_at_task"]),
        "allocations": realizations,
        "launches": of["task_launches"],
        "tasks": of["num_productions"] * (of["inner_parallelism"] - 1),
        "working_set": of["working_set"],
    }
    return {name: found[name] for name in PRICES}
