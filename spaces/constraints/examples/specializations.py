"""Specializations that are refused, and neighbors that are not."""

from __future__ import annotations

from spaces.constraints.examples.example import on_cpu
from spaces.constraints.examples.starts import BX, SIZED, WIDTH, D
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Int32

SPECIAL = D.specialize(WIDTH > 3)


def _cases(count: int) -> Directives:
    """Specializations for ``count`` widths."""
    directives = D
    for width in range(1, count + 1):
        directives = directives.specialize(WIDTH == width).func("by")
    return directives


EXAMPLES = (
    on_cpu(
        "specialize.condition",
        D.specialize(Variable(Int32, "by.extent.2") > 3).parallel("y"),
        D.specialize(WIDTH > 3).parallel("y"),
    ),
    on_cpu(
        "specialize.inlined",
        BX.specialize(WIDTH > 3).parallel("y"),
        BX.compute_root().specialize(WIDTH > 3).parallel("y"),
    ),
    on_cpu(
        "specialize.after-failure",
        SPECIAL.func("by").specialize_fail("no").func("by").specialize(WIDTH < 9),
        SPECIAL.func("by").specialize(WIDTH < 9).func("by").specialize_fail("no"),
    ),
    on_cpu("specialize.cases", _cases(16), _cases(15)),
    on_cpu(
        "specialize.failure",
        SIZED.specialize(WIDTH < 1536).func("by").specialize_fail("small"),
        SIZED.specialize(WIDTH < 1537).func("by").specialize_fail("small"),
    ),
)
