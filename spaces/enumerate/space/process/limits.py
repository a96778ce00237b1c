"""How many schedules a process leads to at most: each Func has the options that it has in the
deepest nest, whatever is decided about the others.
"""

from __future__ import annotations

from spaces.enumerate.space.process.derived_limits import Added, DerivedLimits
from spaces.enumerate.space.process.state import ProcessState


def upper_limit(start: ProcessState) -> int:
    """An upper limit of the number of schedules after a state in which nothing is decided."""
    derived = DerivedLimits(start)
    given = {entry.name for entry in start.given}
    depths = _depths(derived)
    total = 1
    before: list[int] = []
    for function in reversed(start.pipeline.functions):
        name, orders = function.name, derived.orders[function.name]
        if name not in given:
            total *= derived.limits.options(orders, depths[name], before)
        before += orders.loops
    deepest = max(depths.values()) + derived.longest * (1 + start.choices.derivations)
    return total * Added(derived, deepest, before).ways()


def _depths(derived: DerivedLimits) -> dict[str, int]:
    """For each Func, the largest number of loops around its uses."""
    pipeline, choices = derived.start.pipeline, derived.start.choices
    depths: dict[str, int] = {}
    inside: dict[str, int] = {}
    for function in reversed(pipeline.functions):
        name = function.name
        readers = pipeline.consumers(name)
        depths[name] = max((inside[reader] for reader in readers), default=0)
        if readers and "in_" in choices.directives:  # loops of wrappers
            depths[name] += choices.derivations * max(derived.orders[name].loops)
        inside[name] = depths[name] + derived.around_producers(name)
    return depths
