"""How much memory a loop nest takes at sizes that are known."""

from __future__ import annotations

import math
from collections.abc import Mapping

from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.regions import Ranges
from spaces.model.nest.loopnest import Allocate, Loop, LoopNest, NestNode
from spaces.model.nest.traversal import LoopVar, loop_ranges


def stored_elements(nest: LoopNest, values: Mapping[str, int]) -> int:
    """The most elements of all arrays together, wherever in the loops they are."""
    total = 0
    waiting: list[tuple[NestNode, tuple[LoopVar, ...]]] = [(node, ()) for node in nest.body]
    while waiting:
        node, loops = waiting.pop()
        if isinstance(node, Allocate):
            whole = Ranges(nest.simplify, loop_ranges(loops, nest.simplify))
            ends = [whole.most(extent) for extent in node.extents]
            total += math.prod(
                max(0, int(evaluate(e, values)))
                for e in ends
                if e is not None and e.names <= values.keys()
            )
        inside = (*loops, node.var) if isinstance(node, Loop) else loops
        waiting.extend((inner, inside) for inner in getattr(node, "body", ()))
    return total
