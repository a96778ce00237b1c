"""What follows about the loops of a stage from its splits alone."""

from __future__ import annotations

from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Const
from spaces.model.schedules.domain_order import DomainOrder, Factor, Split, made_from


def constant_extents(stage: Stage, order: DomainOrder) -> dict[str, Factor]:
    """Loops whose extent is a constant, or a parameter (by its name), whatever the sizes of images.

    These are the inner loops of splits, RVars of constant extent, what is made from them, and loops
    of one iteration.
    """
    extents: dict[str, Factor] = {
        r.name: int(r.extent.value) for r in stage.rvars if isinstance(r.extent, Const)
    }
    extents.update(dict.fromkeys(order.once, 1))
    for record in order.splits:
        if isinstance(record, Split):
            old, factor = extents.pop(record.old, None), record.factor
            if isinstance(old, int) and isinstance(factor, int) and factor > 0:
                extents[record.outer] = -(-old // factor)
            extents[record.inner] = factor
        else:
            inner, outer = extents.pop(record.inner, None), extents.pop(record.outer, None)
            if isinstance(inner, int) and isinstance(outer, int):
                extents[record.fused] = inner * outer
    return {name: extent for name, extent in extents.items() if name in order.names}


def reduction_loops(stage: Stage, order: DomainOrder) -> frozenset[str]:
    """Loops that are RVars or made from them."""
    return made_from((r.name for r in stage.rvars), order.splits)
