"""Tile choices of one structure judged and costed in a second: by arrays and by machine code."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from bench.throughput import FAMILIES, MODELS
from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality import lattice as legality
from spaces.constraints.legality.judge import judged_in
from spaces.constraints.legality.lattice import family_checks
from spaces.cost import lattice as cost
from spaces.cost.batch import Batch
from spaces.cost.lattice import FormulaModel, cost_formula
from spaces.cost.registry import cost_model
from spaces.model.formulas.native import all_hold, native_loops, read_native
from spaces.model.schedules.cases import cases
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule

JUDGED = (4096, 4096)
"""Tile sizes along x and y of the lattice whose legality machine code judges."""

JUDGED_BY_ARRAYS = (512, 1024)
COSTED = (512, 1024)
_ROUNDS = 5
_ALWAYS = 1 << 62


def measure() -> dict[str, Any]:
    """Millions of choices in a second on one core, without the construction of the loop nest, and
    the seconds to compile.
    """
    return {
        "legality": {where: _legality(where) for where in FAMILIES},
        "cost": {name: _cost(name, where) for name, where in MODELS.items()},
    }


def _mesh(sizes: tuple[int, int]) -> dict[str, NDArray[np.int64]]:
    tx, ty = np.ix_(*(np.arange(1, size + 1) for size in sizes))
    return {"tx": tx, "ty": ty}


def _family(where: str) -> Schedule:
    return parse_schedule(FAMILIES[where], APPS["unsharp"].pipeline())


def _legality(where: str) -> dict[str, float]:
    (case,) = cases(_family(where))
    judged = judged_in(APPS["unsharp"].pipeline(), case)
    checks = (item.check.holds for item in family_checks(judged, case, device(where)))
    conditions = tuple(dict.fromkeys(checks))
    few: dict[str, Any] = {**judged.sizes(), **_mesh(JUDGED_BY_ARRAYS)}
    many: dict[str, Any] = {**judged.sizes(), **_mesh(JUDGED)}

    def by_arrays() -> object:
        with mock.patch.object(legality, "MANY", _ALWAYS):
            return legality.holding(conditions, few, JUDGED_BY_ARRAYS)

    return _compared(by_arrays, JUDGED_BY_ARRAYS, lambda: all_hold(conditions, many), JUDGED)


def _cost(name: str, where: str) -> dict[str, float]:
    batch = Batch.of(APPS["unsharp"].pipeline(), _family(where), _mesh(COSTED))
    model = cost_model(name, device(where))
    assert isinstance(model, FormulaModel)
    values: dict[str, Any] = {**batch.sizes, **batch.columns}

    def by_arrays() -> object:
        with mock.patch.object(cost, "MANY", _ALWAYS):
            return cost.lattice_costs(model, batch.at(batch.columns))

    formula = cost_formula(model, batch)
    return _compared(by_arrays, COSTED, lambda: read_native(formula, values), COSTED)


def _compared(
    by_arrays: Callable[[], object],
    small: tuple[int, int],
    by_machine_code: Callable[[], object],
    large: tuple[int, int],
) -> dict[str, float]:
    native_loops.cache_clear()
    first = _seconds(by_machine_code)
    arrays, code = [], []
    for _ in range(_ROUNDS):
        arrays.append(np.prod(small) / _seconds(by_arrays) / 1e6)
        code.append(np.prod(large) / _seconds(by_machine_code) / 1e6)
    rates = statistics.median(arrays), statistics.median(code)
    return {
        "arrays_millions_per_second": round(float(rates[0]), 2),
        "machine_code_millions_per_second": round(float(rates[1]), 1),
        "ratio": round(float(rates[1] / rates[0]), 1),
        "seconds_to_compile": round(first - float(np.prod(large)) / rates[1] / 1e6, 3),
    }


def _seconds(run: Callable[[], object]) -> float:
    gc.collect()
    start = time.thread_time()
    run()
    return time.thread_time() - start
