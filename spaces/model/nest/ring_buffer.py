"""The places that the values of iterations take in a ring buffer."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar


def ring_slot(slots: int, loops: Iterable[LoopVar], simplify: Simplifier) -> Expr:
    """The place of an iteration of ``loops``, outermost first: its number, counted through all of
    them, modulo ``slots``. Between loops it is reduced, so that it stays small.
    """
    count = constant(slots, Int32)
    slot: Expr = constant(0, Int32)
    for loop in loops:
        slot = (slot * loop.extent + (loop.var - loop.min)) % count
    return simplify(slot)
