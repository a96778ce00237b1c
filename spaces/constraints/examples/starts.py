"""Directives that examples begin with."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Int32

D = schedule(algorithms.blur())
"""The default schedule of the blur that most examples are about."""
BX = D.func("bx")
TILED = D.tile("x", "y", "xi", "yi", 32, 8)
GPU = D.gpu_tile("x", "y", "xi", "yi", 32, 8)
WIDTH = Variable(Int32, "by.extent.0")
SIZED = schedule(algorithms.blur(1536, 2560))
TOTAL = schedule(algorithms.total())
SPACED = schedule(algorithms.spaced()).split("y", "y", "yi", 4).func("bx")
"""Rows at distances that a call gives, four at a time."""
SUM = TOTAL.func("s").update(0)
POWERS = schedule(algorithms.horner()).func("s").update(0)
