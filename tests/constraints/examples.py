"""For each rule a schedule that breaks it, and its neighbor that does not."""

from __future__ import annotations

from attrs import evolve, frozen

from spaces.constraints.devices import Device, device
from spaces.model.derivations import Clone, RFactor
from spaces.model.directives import Directives, schedule
from spaces.model.expr import Variable
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import FuncSchedule, Schedule
from spaces.model.types import Int32, UInt8
from tests.constraints import algorithms

CPU, SM75, SM80 = device("cpu"), device("sm_75"), device("sm_80")


@frozen
class Subject:
    """What is judged."""

    pipeline: Pipeline
    schedule: Schedule
    device: Device


@frozen
class Example:
    """``broken`` breaks rule ``rule`` and no other; ``legal`` is a small step away.

    Where a rule has several examples, ``case`` tells them apart.
    """

    rule: str
    broken: Subject
    legal: Subject
    case: str = ""

    @property
    def name(self) -> str:
        """The rule, and the case where there are several."""
        return f"{self.rule}, {self.case}" if self.case else self.rule


def cpu(pipeline: Pipeline, directives: Directives) -> Subject:
    return Subject(pipeline, directives.schedule, CPU)


def gpu(pipeline: Pipeline, directives: Directives, on: Device = SM80) -> Subject:
    return Subject(pipeline, directives.schedule, on)


def _cases(count: int) -> Subject:
    """Specializations for so many widths."""
    directives = D
    for width in range(1, count + 1):
        directives = directives.specialize(WIDTH == width).func("by")
    return cpu(BLUR, directives)


WIDTH = Variable(Int32, "by.extent.0")
BLUR = algorithms.blur()
SIZED = algorithms.blur(1536, 2560)
TOTAL = algorithms.total()
SMALL = algorithms.total(UInt8)
HORNER = algorithms.horner()
VOLUME = algorithms.volume()
HUGE = algorithms.blur(65534, 65538)
HARMONIC = algorithms.harmonic()
CHAIN = algorithms.chain()
IGNORED = algorithms.ignored()
DOUBLING = algorithms.doubling(22)
TAKEN = algorithms.taken()
NEAREST = algorithms.nearest()
SCATTERED = algorithms.scattered()
GUARDED = algorithms.guarded()

D = schedule(BLUR)
TILED = D.tile("x", "y", "xi", "yi", 32, 8)
GPU = D.gpu_tile("x", "y", "xi", "yi", 32, 8)
SUM = schedule(TOTAL).func("s").update(0)
POWERS = schedule(HORNER).func("s").update(0)
_guarded = schedule(GUARDED)


_folded = D.func("bx").store_root().compute_at("by", "y").fold_storage("y", 4)
_harmonic = schedule(HARMONIC).func("f").compute_at("out", "x")
_columns = (
    D.split("x", "x", "xi", 32)
    .split("y", "y", "yi", 4)
    .reorder("yi", "xi", "x", "y")
    .gpu_blocks("x", "y")
    .gpu_threads("xi")
)


def _entries(base: Schedule, *entries: FuncSchedule) -> Subject:
    return Subject(BLUR, Schedule((*base.funcs, *entries)), CPU)


def _strip(height: int, device: Device, registers: bool = True, width: int = 32) -> Subject:
    """Each thread computes ``height`` values and, for itself, the ``height + 2`` of bx below."""
    result = (
        D.split("x", "x", "xi", width)
        .split("y", "y", "yi", height)
        .reorder("yi", "xi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
        .func("bx")
        .compute_at("by", "xi")
    )
    return gpu(BLUR, result.store_in("register") if registers else result, device)


def _shared(height: int, on: Device = SM75) -> Subject:
    """A block computes 1024 x ``height`` values and shares 1024 x (``height`` + 2) of bx."""
    result = (
        D.split("x", "x", "xi", 1024)
        .split("y", "y", "yi", height)
        .reorder("xi", "yi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
    )
    return gpu(BLUR, result.func("bx").compute_at("by", "x").gpu_threads("x"), on)


def _corner(width: int) -> Subject:
    """The block is one wider and one higher than the tile of ``width`` x 32."""
    pipeline = algorithms.corner()
    result = schedule(pipeline).gpu_tile("x", "y", "xi", "yi", width, 32)
    return gpu(pipeline, result.func("p").compute_at("q", "x").gpu_threads("x", "y"))


def _tall(height: int) -> Subject:
    pipeline = algorithms.blur(32, height)
    return gpu(pipeline, schedule(pipeline).gpu_tile("x", "y", "xi", "yi", 32, 1))


_whole = D.schedule
SLOPES = algorithms.slopes()
_dx = schedule(SLOPES).func("dy").compute_root().func("dx").compute_root()
SPECIAL = D.specialize(WIDTH > 3)
_bx = D.func("bx")

EXAMPLES = (
    Example(
        "derive.unknown-func",
        cpu(BLUR, D.func("bx").in_("bz").compute_root()),
        cpu(BLUR, D.func("bx").in_("by").compute_root()),
    ),
    Example(
        "derive.unknown-func",
        cpu(BLUR, D.derive(Clone("input", ("bx",)))),
        cpu(BLUR, D.func("input").in_("bx").compute_root()),
        case="a clone of an image",
    ),
    Example(
        "derive.not-read",
        cpu(BLUR, D.func("input").in_("by").compute_root()),
        cpu(BLUR, D.func("input").in_("bx").compute_root()),
    ),
    Example(
        "derive.not-read",
        cpu(BLUR, D.func("by").in_()),
        cpu(BLUR, D.func("bx").in_()),
        case="an output that nobody else reads",
    ),
    Example(
        "derive.name-taken",
        cpu(TAKEN, schedule(TAKEN).func("p").in_()),
        cpu(TAKEN, schedule(TAKEN).func("p").in_("q")),
    ),
    Example(
        "derive.update",
        cpu(TOTAL, SUM.derive(RFactor("s", 1, (), (("r.x", "u"),)))),
        cpu(TOTAL, SUM.derive(RFactor("s", 0, (), (("r.x", "u"),)))),
    ),
    Example(
        "derive.operator",
        cpu(HORNER, POWERS.rfactor("r.y", "u")),
        cpu(TOTAL, SUM.rfactor("r.y", "u")),
    ),
    Example(
        "derive.order",
        cpu(NEAREST, schedule(NEAREST).func("s").update(0).rfactor("r.x", "u")),
        cpu(NEAREST, schedule(NEAREST).func("s").update(0).rfactor("r.y", "u")),
    ),
    Example(
        "derive.factored-loop",
        cpu(TOTAL, SUM.rfactor("y", "u")),
        cpu(TOTAL, SUM.rfactor("r.y", "u")),
    ),
    Example(
        "derive.factored-loop",
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 2).rfactor("r.x", "u")),
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 2).rfactor("ro", "u")),
        case="a loop that is split",
    ),
    Example(
        "derive.split",
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 3, "round_up").rfactor("ri", "u")),
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 3).rfactor("ri", "u")),
    ),
    Example(
        "derive.new-var",
        cpu(TOTAL, SUM.rfactor("r.y", "x")),
        cpu(TOTAL, SUM.rfactor("r.y", "z")),
    ),
    Example(
        "schedule.unknown-func",
        _entries(_whole, evolve(_whole.of("bx"), name="bz")),
        cpu(BLUR, D),
    ),
    Example("schedule.missing-func", _entries(Schedule(_whole.funcs[:1])), cpu(BLUR, D)),
    Example(
        "schedule.stages",
        _entries(Schedule(_whole.funcs[:1]), evolve(_whole.of("by"), stages=())),
        cpu(BLUR, D),
    ),
    Example(
        "call.inline-size",
        cpu(DOUBLING, schedule(DOUBLING)),
        cpu(DOUBLING, schedule(DOUBLING).func("f11").compute_root()),
    ),
    Example(
        "schedule.open-parameter",
        cpu(BLUR, D.split("y", "y", "yi", "ty")),
        cpu(BLUR, D.split("y", "y", "yi", 4)),
    ),
    Example(
        "order.unknown-loop",
        cpu(BLUR, D.split("y", "yo", "yi", 8).parallel("y")),
        cpu(BLUR, D.split("y", "yo", "yi", 8).parallel("yo")),
    ),
    Example(
        "order.duplicate-loop",
        cpu(BLUR, D.split("x", "xo", "y", 8)),
        cpu(BLUR, D.split("x", "xo", "x", 8)),
    ),
    Example("order.missing-loop", cpu(BLUR, D.loops("x")), cpu(BLUR, D.loops("y", "x"))),
    Example(
        "order.factor",
        cpu(BLUR, D.split("x", "x", "xi", 0)),
        cpu(BLUR, D.split("x", "x", "xi", 1)),
    ),
    Example(
        "order.partition-loop",
        cpu(BLUR, D.vectorize("x", 8).never_partition("z")),
        cpu(BLUR, D.vectorize("x", 8).never_partition("x_v", "y")),
    ),
    Example(
        "order.tail",
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 4, "round_up").func("s").compute_root()),
        cpu(TOTAL, SUM.split("r.x", "ro", "ri", 4, "guard_with_if").func("s").compute_root()),
    ),
    Example(
        "order.repeated-update",
        cpu(HORNER, POWERS.split("x", "x", "xi", 4).split("xi", "xi", "xj", 3, "round_up")),
        cpu(HORNER, POWERS.split("x", "x", "xi", 4).split("xi", "xi", "xj", 3)),
    ),
    Example(
        "order.blend",
        cpu(TOTAL, SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend").parallel("x")),
        cpu(TOTAL, SUM.split("x", "x", "xi", 4, "shift_inwards_and_blend").parallel("y")),
    ),
    Example(
        "order.blend",
        cpu(TOTAL, SUM.split("x", "x", "xi", 4, "round_up_and_blend").parallel("xi")),
        cpu(TOTAL, SUM.split("x", "x", "xi", 4, "round_up_and_blend").vectorize("xi")),
        case="lanes",
    ),
    Example(
        "order.reduction",
        cpu(HORNER, POWERS.reorder("r.y", "r.x")),
        cpu(HORNER, POWERS.reorder("x", "r.x", "r.y", "y")),
    ),
    Example(
        "race.update",
        cpu(TOTAL, SUM.parallel("r.y")),
        cpu(TOTAL, SUM.parallel("y")),
    ),
    Example(
        "race.update",
        cpu(TOTAL, SUM.parallel("r.y")),
        cpu(TOTAL, SUM.atomic().parallel("r.y")),
        case="a sum",
    ),
    Example(
        "race.atomic",
        cpu(HORNER, POWERS.atomic()),
        cpu(TOTAL, SUM.atomic()),
    ),
    Example(
        "race.atomic",
        gpu(SMALL, schedule(SMALL).func("s").update(0).atomic()),
        gpu(TOTAL, SUM.atomic()),
        case="short words on a GPU",
    ),
    Example(
        "race.atomic",
        cpu(NEAREST, schedule(NEAREST).func("s").update(0).atomic()),
        cpu(NEAREST, schedule(NEAREST)),
        case="the best of several",
    ),
    Example("call.output-at-root", cpu(BLUR, D.compute_inline()), cpu(BLUR, D.compute_root())),
    Example(
        "call.inline-update",
        cpu(TOTAL, SUM.compute_inline()),
        cpu(TOTAL, SUM.compute_at("out", "x")),
    ),
    Example(
        "call.inline-storage",
        cpu(BLUR, _bx.store_root()),
        cpu(BLUR, _bx.store_root().compute_root()),
    ),
    Example(
        "call.compute-level",
        cpu(BLUR, D.split("y", "y", "yi", 4).func("bx").compute_at("by", "yo")),
        cpu(BLUR, D.split("y", "y", "yi", 4).func("bx").compute_at("by", "yi")),
    ),
    Example(
        "call.store-level",
        cpu(BLUR, TILED.func("bx").store_at("by", "yi").compute_at("by", "x")),
        cpu(BLUR, TILED.func("bx").store_at("by", "y").compute_at("by", "x")),
    ),
    Example(
        "call.unread",
        cpu(IGNORED, schedule(IGNORED).func("g").compute_root()),
        cpu(IGNORED, schedule(IGNORED)),
    ),
    Example(
        "race.shared-storage",
        cpu(BLUR, D.parallel("y").func("bx").store_root().compute_at("by", "y")),
        cpu(BLUR, D.parallel("y").func("bx").compute_at("by", "y")),
    ),
    Example(
        "kind.inside-vectorized",
        cpu(BLUR, D.split("x", "x", "xi", 8).reorder("y", "xi", "x").vectorize("xi").parallel("y")),
        cpu(BLUR, D.split("x", "x", "xi", 8).vectorize("xi").parallel("y")),
    ),
    Example("kind.vector-extent", cpu(BLUR, D.vectorize("x")), cpu(BLUR, D.vectorize("x", 8))),
    Example("kind.unroll-extent", cpu(BLUR, D.unroll("x")), cpu(BLUR, D.unroll("x", 8))),
    Example(
        "kind.vector-lanes",
        cpu(BLUR, D.vectorize("x", 1025)),
        cpu(BLUR, D.vectorize("x", 1024)),
    ),
    Example(
        "kind.unroll-copies",
        cpu(BLUR, D.unroll("x", 5).unroll("y", 205)),
        cpu(BLUR, D.unroll("x", 4).unroll("y", 256)),
    ),
    Example(
        "storage.fold-dimension",
        cpu(BLUR, _bx.compute_root().fold_storage("z", 4)),
        cpu(BLUR, _bx.compute_at("by", "y").fold_storage("y", 4)),
    ),
    Example("storage.fold-output", cpu(BLUR, D.fold_storage("y", 4)), cpu(BLUR, D)),
    Example(
        "storage.fold-factor",
        cpu(BLUR, _bx.compute_at("by", "y").fold_storage("y", 0)),
        cpu(BLUR, _bx.compute_at("by", "y").fold_storage("y", 2**31 - 1)),
    ),
    Example(
        "storage.layout-dimension",
        cpu(BLUR, _bx.compute_root().reorder_storage("y", "z")),
        cpu(BLUR, _bx.compute_root().reorder_storage("y", "x")),
    ),
    Example(
        "storage.layout-dimension",
        cpu(BLUR, _bx.compute_root().reorder_storage("y", "y")),
        cpu(BLUR, _bx.compute_root().reorder_storage("y", "x")),
        "a dimension twice",
    ),
    Example(
        "with.func",
        cpu(SLOPES, _dx.compute_with("dy", "x").func("dy").compute_with("dx", "x")),
        cpu(SLOPES, _dx.compute_with("dy", "x")),
    ),
    Example(
        "with.loops",
        cpu(SLOPES, _dx.parallel("y").compute_with("dy", "x")),
        cpu(SLOPES, _dx.parallel("y").func("dy").parallel("y").compute_with("dx", "x")),
    ),
    Example(
        "with.level",
        cpu(SLOPES, _dx.func("dy").compute_at("out", "y").compute_with("dx", "x")),
        cpu(SLOPES, _dx.compute_with("dy", "x")),
    ),
    Example(
        "with.dependent",
        cpu(SLOPES, _dx.func("steep").compute_root().compute_with("dx", "x")),
        cpu(SLOPES, _dx.func("steep").compute_root().compute_with("dy", "x")),
    ),
    Example(
        "with.gpu",
        gpu(SLOPES, _dx.compute_with("dy", "x")),
        gpu(SLOPES, _dx),
    ),
    Example(
        "prefetch.loop",
        cpu(BLUR, D.prefetch("input", "y", "x")),
        cpu(BLUR, D.prefetch("input", "x", "y")),
    ),
    Example(
        "prefetch.loop",
        cpu(BLUR, D.vectorize("x", 8).prefetch("input", "x_v", "y")),
        cpu(BLUR, D.vectorize("x", 8).prefetch("input", "x", "y")),
        "in a vector",
    ),
    Example("prefetch.gpu", gpu(BLUR, GPU.prefetch("input", "y", "y")), gpu(BLUR, GPU)),
    Example(
        "prefetch.unread",
        cpu(BLUR, D.prefetch("input", "y", "y").func("bx").compute_root()),
        cpu(BLUR, D.prefetch("bx", "y", "y").func("bx").compute_root()),
    ),
    Example(
        "prefetch.unread",
        cpu(BLUR, D.prefetch("bx", "y", "y").func("bx").compute_at("by", "y")),
        cpu(BLUR, D.prefetch("bx", "y", "y").func("bx").store_root().compute_at("by", "y")),
        "of storage that is not there yet",
    ),
    Example(
        "specialize.condition",
        cpu(BLUR, D.specialize(Variable(Int32, "by.extent.2") > 3).parallel("y")),
        cpu(BLUR, D.specialize(WIDTH > 3).parallel("y")),
    ),
    Example(
        "specialize.inlined",
        cpu(BLUR, _bx.specialize(WIDTH > 3).parallel("y")),
        cpu(BLUR, _bx.compute_root().specialize(WIDTH > 3).parallel("y")),
    ),
    Example(
        "specialize.after-failure",
        cpu(BLUR, SPECIAL.func("by").specialize_fail("no").func("by").specialize(WIDTH < 9)),
        cpu(BLUR, SPECIAL.func("by").specialize(WIDTH < 9).func("by").specialize_fail("no")),
    ),
    Example("specialize.cases", _cases(16), _cases(15)),
    Example("gpu.required-values", gpu(GUARDED, _guarded), cpu(GUARDED, _guarded)),
    Example("specialize.gpu", gpu(BLUR, GPU.specialize(WIDTH > 3)), gpu(BLUR, GPU)),
    Example(
        "specialize.failure",
        cpu(SIZED, schedule(SIZED).specialize(WIDTH < 1536).func("by").specialize_fail("small")),
        cpu(SIZED, schedule(SIZED).specialize(WIDTH < 1537).func("by").specialize_fail("small")),
    ),
    Example(
        "storage.layout-output",
        cpu(BLUR, D.align_storage("x", 16)),
        cpu(BLUR, _bx.compute_root().align_storage("x", 16)),
    ),
    Example(
        "storage.layout-range",
        cpu(BLUR, _bx.compute_root().align_storage("x", 0)),
        cpu(BLUR, _bx.compute_root().align_storage("x", 1)),
    ),
    Example(
        "storage.bound-too-small",
        cpu(BLUR, _bx.compute_at("by", "y").bound_storage("y", 2)),
        cpu(BLUR, _bx.compute_at("by", "y").bound_storage("y", 3)),
    ),
    Example(
        "storage.bound-too-small",
        cpu(BLUR, _folded.bound_storage("y", 3)),
        cpu(BLUR, _folded.bound_storage("y", 4)),
        "folded",
    ),
    Example(
        "call.hoist-level",
        cpu(BLUR, _bx.compute_at("by", "y").hoist_storage("by", "x")),
        cpu(BLUR, _bx.compute_at("by", "x").hoist_storage("by", "y")),
    ),
    Example(
        "call.hoist-level",
        cpu(BLUR, D.parallel("y").func("bx").compute_at("by", "x").hoist_storage_root()),
        cpu(BLUR, D.parallel("y").func("bx").compute_at("by", "x").hoist_storage("by", "y")),
        "outside a parallel loop",
    ),
    Example(
        "call.inline-storage",
        cpu(BLUR, _bx.hoist_storage_root()),
        cpu(BLUR, _bx.compute_at("by", "y").hoist_storage_root()),
        "hoisted",
    ),
    Example(
        "storage.hoist-size",
        cpu(HARMONIC, _harmonic.hoist_storage_root()),
        cpu(HARMONIC, _harmonic.hoist_storage("out", "y")),
    ),
    Example(
        "gpu.hoisted-storage",
        gpu(BLUR, _columns.func("bx").compute_at("by", "yi").hoist_storage("by", "xi")),
        gpu(BLUR, _columns.func("bx").compute_at("by", "yi")),
    ),
    Example(
        "storage.fold-direction",
        cpu(BLUR, _bx.store_root().compute_at("by", "y").fold_storage("y", 3, False)),
        cpu(BLUR, _bx.store_root().compute_at("by", "y").fold_storage("y", 3, True)),
    ),
    Example(
        "bounds.fused-extent",
        cpu(HUGE, schedule(HUGE).fuse("x", "y", "t")),
        cpu(HUGE, schedule(HUGE).split("x", "x", "xi", 32767).fuse("xi", "y", "t")),
    ),
    Example(
        "bounds.explicit-dimension",
        cpu(BLUR, _bx.compute_root().align_bounds("z", 4)),
        cpu(BLUR, _bx.compute_root().align_bounds("x", 4)),
    ),
    Example(
        "bounds.explicit-range",
        cpu(BLUR, _bx.compute_root().align_extent("x", 0)),
        cpu(BLUR, _bx.compute_root().align_extent("x", 1)),
    ),
    Example(
        "bounds.explicit-too-small",
        cpu(BLUR, _bx.compute_at("by", "y").bound_extent("y", 2)),
        cpu(BLUR, _bx.compute_at("by", "y").bound_extent("y", 3)),
    ),
    Example(
        "bounds.explicit-too-small",
        cpu(SIZED, schedule(SIZED).func("bx").compute_root().bound("y", 0, 2561)),
        cpu(SIZED, schedule(SIZED).func("bx").compute_root().bound("y", 0, 2562)),
        "at the estimated sizes",
    ),
    Example(
        "storage.fold-too-small",
        cpu(BLUR, _bx.store_root().compute_at("by", "y").fold_storage("y", 2)),
        cpu(BLUR, _bx.store_root().compute_at("by", "y").fold_storage("y", 3)),
    ),
    Example(
        "storage.memory-kind",
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").gpu_threads("x").store_in("register")),
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").gpu_threads("x").store_in("gpu_shared")),
    ),
    Example(
        "storage.host-memory-in-kernel",
        gpu(BLUR, GPU.func("bx").compute_root().store_in("stack")),
        gpu(BLUR, GPU.func("bx").compute_root().store_in("heap")),
    ),
    Example(
        "storage.private-size",
        cpu(BLUR, _bx.compute_at("by", "y").store_in("stack")),
        cpu(BLUR, _bx.compute_at("by", "x").store_in("stack")),
    ),
    Example(
        "storage.stack-bytes",
        cpu(
            BLUR,
            D.tile("x", "y", "xi", "yi", 512, 255)
            .func("bx")
            .compute_at("by", "x")
            .store_in("stack"),
        ),
        cpu(
            BLUR,
            D.tile("x", "y", "xi", "yi", 512, 254)
            .func("bx")
            .compute_at("by", "x")
            .store_in("stack"),
        ),
    ),
    Example(
        "bounds.unbounded",
        cpu(SCATTERED, schedule(SCATTERED).func("g").compute_root()),
        cpu(SCATTERED, schedule(SCATTERED)),
    ),
    Example(
        "bounds.smaller-than-tile",
        cpu(SIZED, D.split("x", "x", "xi", 1537)),
        cpu(SIZED, D.split("x", "x", "xi", 1536)),
    ),
    Example(
        "bounds.output-overrun",
        cpu(BLUR, D.split("x", "x", "xi", 8).vectorize("xi", 9)),
        cpu(BLUR, D.split("x", "x", "xi", 9).vectorize("xi", 8)),
    ),
    Example(
        "bounds.image-overrun",
        cpu(
            SIZED,
            D.split("x", "x", "xi", 8).func("bx").compute_at("by", "x").vectorize("x", 9),
        ),
        cpu(
            SIZED,
            D.split("x", "x", "xi", 9).func("bx").compute_at("by", "x").vectorize("x", 8),
        ),
    ),
    Example("gpu.device", Subject(BLUR, GPU.schedule, CPU), gpu(BLUR, GPU)),
    Example(
        "gpu.threads-outside-blocks",
        gpu(BLUR, D.split("x", "x", "xi", 32).gpu_threads("xi")),
        gpu(BLUR, D.split("x", "x", "xi", 32).gpu_blocks("x").gpu_threads("xi")),
    ),
    Example(
        "gpu.nested-blocks",
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").gpu_blocks("y")),
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").gpu_threads("y")),
    ),
    Example(
        "gpu.nested-threads",
        gpu(BLUR, GPU.func("bx").compute_at("by", "xi").gpu_threads("y")),
        gpu(BLUR, GPU.func("bx").compute_at("by", "xi").serial("y")),
    ),
    Example(
        "gpu.blocks-inside-threads",
        gpu(BLUR, TILED.reorder("xi", "x", "yi", "y").gpu_blocks("x", "y").gpu_threads("yi")),
        gpu(BLUR, TILED.reorder("xi", "yi", "x", "y").gpu_blocks("x", "y").gpu_threads("yi")),
    ),
    Example(
        "gpu.loop-between",
        gpu(BLUR, TILED.reorder("xi", "x", "yi", "y").gpu_blocks("x", "y").gpu_threads("xi")),
        gpu(BLUR, TILED.reorder("xi", "yi", "x", "y").gpu_blocks("x", "y").gpu_threads("xi")),
    ),
    Example(
        "gpu.dimensions",
        gpu(
            BLUR, D.split("x", "x", "xi", 8).split("y", "y", "yi", 8).gpu_blocks(*"xy", "xi", "yi")
        ),
        gpu(BLUR, D.split("x", "x", "xi", 8).split("y", "y", "yi", 8).gpu_blocks("x", "y", "yi")),
    ),
    Example(
        "gpu.level-between",
        gpu(BLUR, GPU.func("bx").compute_at("by", "y").gpu_threads("x")),
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").gpu_threads("x")),
    ),
    Example(
        "gpu.parallel-in-kernel",
        gpu(BLUR, GPU.func("bx").compute_at("by", "x").parallel("y")),
        gpu(BLUR, GPU.func("bx").compute_root().parallel("y")),
    ),
    Example(
        "gpu.kernel-in-parallel",
        gpu(BLUR, TILED.parallel("y").gpu_blocks("x").gpu_threads("xi", "yi")),
        gpu(BLUR, TILED.serial("y").gpu_blocks("x").gpu_threads("xi", "yi")),
    ),
    Example(
        "gpu.thread-extent",
        gpu(BLUR, D.gpu_blocks("y").gpu_threads("x")),
        gpu(BLUR, D.split("x", "x", "xi", 32).gpu_blocks("y", "x").gpu_threads("xi")),
    ),
    Example(
        "gpu.threads-per-block",
        gpu(
            BLUR,
            D.gpu_tile("x", "y", "xi", "yi", 32, 31)
            .func("bx")
            .compute_at("by", "x")
            .gpu_threads("x", "y"),
        ),
        gpu(
            BLUR,
            D.gpu_tile("x", "y", "xi", "yi", 32, 30)
            .func("bx")
            .compute_at("by", "x")
            .gpu_threads("x", "y"),
        ),
    ),
    Example(
        "gpu.block-dimension",
        gpu(VOLUME, schedule(VOLUME).gpu_tile("x", "y", "z", "xi", "yi", "zi", 2, 2, 65)),
        gpu(VOLUME, schedule(VOLUME).gpu_tile("x", "y", "z", "xi", "yi", "zi", 2, 2, 64)),
    ),
    Example("gpu.grid-dimension", _tall(65536), _tall(65535)),
    Example(
        "gpu.allocation-size",
        gpu(BLUR, D.gpu_blocks("y").func("bx").compute_at("by", "y")),
        gpu(BLUR, D.gpu_blocks("y").func("bx").compute_at("by", "x")),
    ),
    Example("gpu.shared-bytes", _shared(31), _shared(30)),
    Example("gpu.registers", _strip(509, SM80), _strip(508, SM80)),
    Example("gpu.occupancy", _strip(127, SM80, width=1024), _strip(126, SM80, width=1024)),
    Example(
        "gpu.local-bytes",
        _strip(262143, SM80, registers=False),
        _strip(262142, SM80, registers=False),
    ),
    # Where another rule might be expected, or the same one for another reason.
    Example(
        "order.reduction",
        cpu(HORNER, POWERS.fuse("r.y", "r.x", "t")),
        cpu(HORNER, POWERS.fuse("r.x", "r.y", "t")),
        "through fuse",
    ),
    Example(
        "race.shared-storage",
        gpu(BLUR, GPU.func("bx").store_at("by", "x").compute_at("by", "xi")),
        gpu(BLUR, GPU.func("bx").store_at("by", "xi").compute_at("by", "xi")),
        "one thread's values in the memory of all",
    ),
    Example(
        "storage.memory-kind",
        gpu(BLUR, GPU.func("bx").compute_root().store_in("gpu_shared")),
        gpu(BLUR, GPU.func("bx").compute_root().store_in("heap")),
        "shared memory outside kernels",
    ),
    Example(
        "storage.memory-kind",
        gpu(BLUR, GPU.func("bx").compute_at("by", "xi").store_in("heap")),
        gpu(BLUR, GPU.func("bx").compute_at("by", "xi").store_in("stack")),
        "the heap inside kernels",
    ),
    Example(
        "bounds.output-overrun",
        cpu(CHAIN, schedule(CHAIN).split("x", "x", "xi", 33, "round_up")),
        cpu(CHAIN, schedule(CHAIN).split("x", "x", "xi", 32, "round_up")),
        "whole tiles over the end",
    ),
    Example(
        "gpu.threads-per-block",
        _corner(31),
        _corner(30),
        "wider and higher than the tile",
    ),
    Example("gpu.shared-bytes", _shared(80, SM80), _shared(79, SM80), "with the reserve"),
)
