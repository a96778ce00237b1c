"""For each kind of advice a schedule that gets it, and its neighbor that does not.

The Func ``broken`` of an :class:`~tests.constraints.examples.Example` is legal here, and gets the
advice ``rule`` and no other.
"""

from __future__ import annotations

from spaces.model.directives import schedule
from tests.constraints import algorithms
from tests.constraints.examples import BLUR, GPU, SIZED, TOTAL, Example, cpu, gpu

D = schedule(BLUR)
S = schedule(SIZED)
_sum = schedule(TOTAL).func("s")
_bx = D.func("bx")
_whole = S.split("x", "x", "xi", 1536)
_nearly = S.split("x", "x", "xi", 768)
_NARROW = algorithms.blur(16, 2560)
_narrow = schedule(_NARROW)
_UNSET = algorithms.unset()

ADVICE_EXAMPLES = (
    Example("advice.no-kernel", gpu(BLUR, D.parallel("y")), gpu(BLUR, GPU)),
    Example("advice.inlined-order", cpu(BLUR, _bx.vectorize("x", 8)), cpu(BLUR, _bx)),
    Example(
        "advice.inlined-storage",
        cpu(BLUR, _bx.store_in("heap")),
        cpu(BLUR, _bx.store_in("heap").compute_root()),
    ),
    Example(
        "advice.inlined-storage",
        cpu(BLUR, _bx.fold_storage("y", 4)),
        cpu(BLUR, _bx.fold_storage("y", 4).store_root().compute_at("by", "y")),
        "a fold",
    ),
    Example("advice.output-memory", cpu(BLUR, D.store_in("stack")), cpu(BLUR, D)),
    Example(
        "advice.split-by-one",
        cpu(BLUR, D.split("x", "x", "xi", 1)),
        cpu(BLUR, D.split("x", "x", "xi", 2)),
    ),
    Example(
        "advice.split-by-one",
        gpu(BLUR, D.split("x", "x", "xi", 1).gpu_blocks("x", "xi")),
        gpu(BLUR, D.split("x", "x", "xi", 1).gpu_blocks("x").gpu_threads("xi")),
        "two block loops",
    ),
    Example(
        "advice.single-iteration",
        cpu(SIZED, _whole.parallel("x")),
        cpu(SIZED, _nearly.parallel("x")),
    ),
    Example(
        "advice.single-iteration",
        cpu(BLUR, _bx.compute_at("by", "x").vectorize("x")),
        cpu(BLUR, _bx.compute_at("by", "x").vectorize("y")),
        "of a producer",
    ),
    Example(
        "advice.tail-never-reached",
        cpu(BLUR, D.split("x", "x", "xi", 32).split("xi", "xi", "xj", 8, "guard_with_if")),
        cpu(BLUR, D.split("x", "x", "xi", 32).split("xi", "xi", "xj", 7, "guard_with_if")),
    ),
    Example(
        "advice.tail-never-reached",
        cpu(BLUR, D.split("x", "xo", "xi", 32).split("xi", "xj", "xk", 8, "guard_with_if")),
        cpu(BLUR, D.split("x", "xo", "xi", 32).split("xo", "xj", "xk", 8, "guard_with_if")),
        "of the inner loop, not the outer",
    ),
    Example(
        "advice.fold-too-large",
        cpu(_NARROW, _narrow.func("bx").store_root().compute_at("by", "y").fold_storage("y", 2562)),
        cpu(_NARROW, _narrow.func("bx").store_root().compute_at("by", "y").fold_storage("y", 2561)),
    ),
    Example(
        "advice.no-window",
        cpu(BLUR, D.fuse("x", "y", "t").func("bx").store_root().compute_at("by", "t")),
        cpu(BLUR, D.func("bx").store_root().compute_at("by", "y")),
    ),
    Example(
        "advice.no-window",
        cpu(TOTAL, _sum.store_root().compute_at("out", "y").split("y", "y", "yi", 2)),
        cpu(TOTAL, _sum.store_root().compute_at("out", "y").split("x", "x", "xi", 2)),
        "of a Func with updates",
    ),
    Example(
        "advice.level-of-one-iteration",
        cpu(SIZED, _whole.func("bx").compute_at("by", "x")),
        cpu(SIZED, _nearly.func("bx").compute_at("by", "x")),
    ),
    Example("advice.undefined", cpu(_UNSET, schedule(_UNSET)), cpu(TOTAL, schedule(TOTAL))),
)
