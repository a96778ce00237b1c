"""For each kind of advice a schedule that gets it, and a neighbor that does not.

The Func ``broken`` of an :class:`~spaces.constraints.examples.example.Example` is legal here, and
gets the advice ``rule`` and no other.
"""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import on_cpu, on_gpu
from spaces.constraints.examples.starts import BX, GPU, SIZED, TOTAL, D
from spaces.model.directives.directives import schedule

_sum = TOTAL.func("s")
_whole = SIZED.split("x", "x", "xi", 1536)
_nearly = SIZED.split("x", "x", "xi", 768)
_narrow = schedule(algorithms.blur(16, 2560))
_slopes = schedule(algorithms.slopes()).func("dy").compute_root().func("dx").compute_root()
_fused = _slopes.compute_with("dy", "y")
UNSET = schedule(algorithms.unset())

EXAMPLES = (
    on_gpu("advice.no-kernel", D.parallel("y"), GPU),
    on_cpu("advice.inlined-order", BX.vectorize("x", 8), BX),
    on_cpu("advice.inlined-storage", BX.store_in("heap"), BX.store_in("heap").compute_root()),
    on_cpu(
        "advice.inlined-storage",
        BX.fold_storage("y", 4),
        BX.fold_storage("y", 4).store_root().compute_at("by", "y"),
        "a fold",
    ),
    on_cpu("advice.inlined-storage", BX.ring_buffer(2), BX, "a ring buffer"),
    on_cpu("advice.output-memory", D.store_in("stack"), D),
    on_cpu("advice.output-memory", D.async_(), D, "computed beside its readers"),
    on_cpu("advice.async", BX.compute_root().async_(), BX.compute_root()),
    on_cpu("advice.split-by-one", D.split("x", "x", "xi", 1), D.split("x", "x", "xi", 2)),
    on_gpu(
        "advice.split-by-one",
        D.split("x", "x", "xi", 1).gpu_blocks("x", "xi"),
        D.split("x", "x", "xi", 1).gpu_blocks("x").gpu_threads("xi"),
        "two block loops",
    ),
    on_cpu("advice.single-iteration", _whole.parallel("x"), _nearly.parallel("x")),
    on_cpu(
        "advice.single-iteration",
        BX.compute_at("by", "x").vectorize("x"),
        BX.compute_at("by", "x").vectorize("y"),
        "of a producer",
    ),
    on_cpu(
        "advice.tail-never-reached",
        D.split("x", "x", "xi", 32).split("xi", "xi", "xj", 8, "guard_with_if"),
        D.split("x", "x", "xi", 32).split("xi", "xi", "xj", 7, "guard_with_if"),
    ),
    on_cpu(
        "advice.tail-never-reached",
        D.split("x", "xo", "xi", 32).split("xi", "xj", "xk", 8, "guard_with_if"),
        D.split("x", "xo", "xi", 32).split("xo", "xj", "xk", 8, "guard_with_if"),
        "of the inner loop, not the outer",
    ),
    on_cpu(
        "advice.fold-too-large",
        _narrow.func("bx").store_root().compute_at("by", "y").fold_storage("y", 2562),
        _narrow.func("bx").store_root().compute_at("by", "y").fold_storage("y", 2561),
    ),
    on_cpu(
        "advice.no-window",
        D.fuse("x", "y", "t").func("bx").store_root().compute_at("by", "t"),
        D.func("bx").store_root().compute_at("by", "y"),
    ),
    on_cpu(
        "advice.no-window",
        _sum.store_root().compute_at("out", "y").split("y", "y", "yi", 2),
        _sum.store_root().compute_at("out", "y").split("x", "x", "xi", 2),
        "of a Func with updates",
    ),
    on_cpu(
        "advice.level-of-one-iteration",
        _whole.func("bx").compute_at("by", "x"),
        _nearly.func("bx").compute_at("by", "x"),
    ),
    on_cpu(
        "advice.fused-partition",
        _fused.partition("y", "never"),
        _fused.partition("x", "never").func("dy").partition("y", "never"),
    ),
    on_cpu("advice.undefined", UNSET, TOTAL),
    on_cpu(
        "advice.unnamed-updates",
        TOTAL.vectorize("x", 8),
        TOTAL.vectorize("x", 8).func("s").compute_at("out", "x"),
    ),
    on_cpu("advice.unnamed-updates", TOTAL.parallel("y"), TOTAL, "beside no other directives"),
)
