"""Others enumerate the tile choices of one structure beside us: Kernel Tuner and the solver z3.

All get the same menus and the same rules; their numbers of legal choices are equal.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.spaces.limits import Found, limited
from bench.throughput import FAMILIES
from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality.judge import judged_in
from spaces.constraints.legality.lattice import family_checks, legal_mask
from spaces.constraints.solver.encode import encode, models
from spaces.constraints.solver.universe import Decision, Universe
from spaces.model.expressions.expr import Const
from spaces.model.expressions.operators import INFIX
from spaces.model.formulas.algebra import Reading, read_all
from spaces.model.schedules.cases import cases
from spaces.model.writing.text import parse_schedule

DEVICE = "sm_80"
MENUS = {"tx": tuple(range(1, 257)), "ty": tuple(range(1, 129))}
"""Tile sizes of the structure of the unsharp mask, by parameter."""

SECONDS = 10.0
"""The time limit of each enumeration."""

NO_LIMIT = 1 << 40
"""Kernel Tuner's own limit of threads, which the rules state here."""

MISSING = "Kernel Tuner is not installed; the extra `peers` installs it."

_OPERATORS: dict[str, Callable[..., str]] = {
    **{n: partial("({1} {0} {2})".format, i.symbol) for n, i in INFIX.items()},
    **{name: partial("{0}({1}, {2})".format, name) for name in ("min", "max")},
    "abs": "abs({})".format,
    "div": "({} // {})".format,
    "mod": "({} % {})".format,
    "and": "({} and {})".format,
    "or": "({} or {})".format,
    "not": "(not {})".format,
    "select": lambda condition, a, b: f"({a} if {condition} else {b})",
}
PYTHON: Reading[str] = Reading(str, lambda kind, text: text, _OPERATORS)
"""Reads a formula of tile sizes as text of Python; divisors are positive here."""


def measure() -> Found:
    """Legal choices that each enumerates in a second, with the time to set it up."""
    asks = {"ours": _ours, "kernel_tuner": _kernel_tuner, "z3": _z3}
    return {name: limited(ask, 3 * SECONDS) for name, ask in asks.items()}


def restrictions() -> list[str]:
    """The rules for the structure that depend on tile sizes, as Python expressions."""
    pipeline, target = APPS["unsharp"].pipeline(), device(DEVICE)
    (case,) = cases(parse_schedule(FAMILIES[DEVICE], pipeline))
    judged = judged_in(pipeline, case)
    checks = [item.check.holds for item in family_checks(judged, case, target)]
    asked = tuple(c for c in dict.fromkeys(checks) if not isinstance(c, Const))
    values = {name: f"({size})" for name, size in judged.sizes().items()}
    texts = read_all(asked, {**values, **{name: name for name in MENUS}}, PYTHON)
    return [t for c, t in zip(asked, texts, strict=True) if not MENUS.keys().isdisjoint(c.names)]


def _ours() -> Found:
    pipeline, target = APPS["unsharp"].pipeline(), device(DEVICE)
    family = parse_schedule(FAMILIES[DEVICE], pipeline)
    columns = dict(zip(MENUS, np.ix_(*MENUS.values()), strict=True))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        indices = np.flatnonzero(legal_mask(pipeline, family, target, columns))
        seconds.append(time.process_time() - start)
    return _listed(len(indices), statistics.median(seconds))


def _kernel_tuner() -> Found:
    try:
        searchspace = importlib.import_module("kernel_tuner.searchspace")
    except ModuleNotFoundError:
        return {"skipped": MISSING}
    texts, menus = restrictions(), {name: list(menu) for name, menu in MENUS.items()}
    start = time.process_time()
    made = searchspace.Searchspace(menus, texts, NO_LIMIT)
    return _listed(len(made.list), time.process_time() - start)


def _z3() -> Found:
    pipeline, target = APPS["unsharp"].pipeline(), device(DEVICE)
    family = parse_schedule(FAMILIES[DEVICE], pipeline)
    decisions = tuple(Decision(name, "output", menu) for name, menu in MENUS.items())
    start = time.process_time()
    encoded = encode(Universe(pipeline, decisions, lambda choice: family), target)
    number = sum(1 for _ in models(encoded, limit=NO_LIMIT, seconds=SECONDS).choices)
    seconds = time.process_time() - start
    return {**_listed(number, seconds), "in_time": seconds < SECONDS}


def _listed(legal: int, seconds: float) -> Found:
    considered = int(np.prod([len(menu) for menu in MENUS.values()]))
    return {
        "considered": considered,
        "legal": legal,
        "seconds": seconds,
        "legal_per_second": legal / seconds,
        "considered_per_second": considered / seconds,
    }
