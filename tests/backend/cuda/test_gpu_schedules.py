"""GPU schedules, executed in several thread orders and under sanitizers, against the reference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spaces import Directives, Pipeline, Tail, schedule
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from tests.backend.cuda import gpu_pipelines
from tests.backend.cuda.gpu_runs import ORDERS, check, check_values, image

Build = Callable[[Pipeline], Directives]


def tiled(
    p: Pipeline, x: int, y: int, tail: Tail = Tail.AUTO, output: str | None = None
) -> Directives:
    """The output, or another Func, on blocks of x by y threads."""
    return schedule(p).func(output or p.outputs[-1]).gpu_tile("x", "y", "xi", "yi", x, y, tail)


def root(d: Directives, func: str, x: int, y: int) -> Directives:
    """``func`` in a separate kernel."""
    return d.func(func).compute_root().gpu_tile("x", "y", "xi", "yi", x, y)


def at_block(d: Directives, func: str, consumer: str) -> Directives:
    """``func`` by the threads of its consumer's block."""
    return d.func(func).compute_at(consumer, "x").gpu_threads("x", "y")


def rows(p: Pipeline, x: int, y: int, *, store: str = "x") -> Directives:
    """A blur with a serial loop over rows inside blocks; blur_x slides along it."""
    d = schedule(p).func("blur_y").tile("x", "y", "xi", "yi", x, y)
    d = d.gpu_blocks("x", "y").gpu_threads("xi")
    return d.func("blur_x").compute_at("blur_y", "yi").store_at("blur_y", store).gpu_threads("x")


def row_launches(p: Pipeline) -> Directives:
    """A kernel for each row; a loop of the host launches them."""
    return schedule(p).split("x", "x", "xi", 8).gpu_blocks("x").gpu_threads("xi")


BLUR: dict[str, Build] = {
    "inline": lambda p: tiled(p, 8, 4),
    "two kernels": lambda p: root(tiled(p, 8, 4), "blur_x", 4, 2),
    "on the host first": lambda p: tiled(p, 8, 4).func("blur_x").compute_root(),
    "on the host last": lambda p: root(schedule(p), "blur_x", 8, 4),
    "shared": lambda p: at_block(tiled(p, 8, 4), "blur_x", "blur_y"),
    "shared, guarded": lambda p: at_block(tiled(p, 8, 4, Tail.GUARD_WITH_IF), "blur_x", "blur_y"),
    "shared, threads along x only": lambda p: (
        tiled(p, 8, 4).func("blur_x").compute_at("blur_y", "x").gpu_threads("x")
    ),
    "shared, threads along y only": lambda p: (
        tiled(p, 8, 4).func("blur_x").compute_at("blur_y", "x").gpu_threads("y")
    ),
    "shared, by one thread": lambda p: tiled(p, 8, 4).func("blur_x").compute_at("blur_y", "x"),
    "shared, four values a thread": lambda p: (
        tiled(p, 8, 4)
        .func("blur_x")
        .compute_at("blur_y", "x")
        .split("x", "x", "s", 4)
        .reorder("s", "x", "y")
        .gpu_threads("x", "y")
        .unroll("s")
    ),
    "per thread": lambda p: tiled(p, 8, 4).func("blur_x").compute_at("blur_y", "xi"),
    "rows": lambda p: rows(p, 8, 6),
    "rows, stored anew": lambda p: rows(p, 8, 6, store="yi"),
    "rows, folded by four": lambda p: rows(p, 8, 6).fold_storage("y", 4),
    "rows, padded": lambda p: rows(p, 8, 6).align_storage("y", 4).align_storage("x", 3),
    "shared, columns first": lambda p: (
        at_block(tiled(p, 8, 4), "blur_x", "blur_y")
        .reorder_storage("y", "x")
        .align_storage("y", 8)
    ),
    "shared, more rows than are read": lambda p: (
        at_block(tiled(p, 8, 4), "blur_x", "blur_y").align_bounds("y", 4).bound_extent("x", 8)
    ),
    "two kernels, columns first": lambda p: (
        root(tiled(p, 8, 4), "blur_x", 4, 2).reorder_storage("y", "x").align_storage("x", 16)
    ),
    "per thread, bounded": lambda p: (
        tiled(p, 8, 4).func("blur_x").compute_at("blur_y", "xi").bound_storage("y", 5)
    ),
    "rows unrolled": lambda p: rows(p, 8, 6).func("blur_y").unroll("yi"),
    "columns in a thread": lambda p: (
        schedule(p)
        .func("blur_y")
        .tile("x", "y", "xi", "yi", 8, 6)
        .reorder("yi", "xi", "x", "y")
        .gpu_blocks("x", "y")
        .gpu_threads("xi")
        .func("blur_x")
        .compute_at("blur_y", "yi")
        .store_at("blur_y", "xi")
    ),
    "vectorized": lambda p: (
        schedule(p)
        .func("blur_y")
        .tile("x", "y", "xi", "yi", 8, 4)
        .gpu_blocks("x", "y")
        .gpu_threads("yi")
        .vectorize("xi")
        .func("blur_x")
        .compute_at("blur_y", "yi")
        .vectorize("x")
    ),
    "blocks along y, the host along x": lambda p: (
        schedule(p)
        .func("blur_y")
        .tile("x", "y", "xi", "yi", 8, 4)
        .reorder("xi", "yi", "y", "x")
        .gpu_blocks("y")
        .gpu_threads("xi", "yi")
        .func("blur_x")
        .compute_at("blur_y", "x")
        .gpu_tile("x", "y", "xi", "yi", 4, 4)
    ),
    "a launch a row, sliding on the host": lambda p: (
        row_launches(p).func("blur_x").compute_at("blur_y", "y").store_root()
    ),
    "a launch a row, sliding on the GPU": lambda p: (
        row_launches(p).func("blur_x").compute_at("blur_y", "y").store_root()
        .split("x", "x", "xi", 4).gpu_blocks("x").gpu_threads("xi")
    ),
    "a launch a row, anew on the host": lambda p: (
        row_launches(p).func("blur_x").compute_at("blur_y", "y").vectorize("x", 4)
    ),
    "fused": lambda p: (
        schedule(p).func("blur_y").fuse("x", "y", "f").split("f", "f", "fi", 16)
        .gpu_blocks("f").gpu_threads("fi")
    ),
}  # fmt: skip

SIZES = {
    "even": ((1, 24), (1, 12)),
    "odd": ((3, 21), (2, 15)),
    "one tile": ((5, 8), (7, 6)),
}


@pytest.mark.parametrize("name", BLUR)
def test_blur(name: str) -> None:
    pipeline = gpu_pipelines.blur()
    inputs = {"input": image(pipeline, "input", 28, 20)}
    first, *others = SIZES.values()
    compiled = check(pipeline, BLUR[name](pipeline), inputs, {"blur_y": first})
    for size in others:
        check_values(compiled, inputs, {"blur_y": size})


def test_blur_of_whole_tiles_and_of_less_than_one() -> None:
    pipeline = gpu_pipelines.blur()
    inputs = {"input": image(pipeline, "input", 28, 20)}
    whole = at_block(tiled(pipeline, 8, 4, Tail.ROUND_UP), "blur_x", "blur_y")
    check(pipeline, whole, inputs, {"blur_y": ((2, 16), (3, 12))})
    guarded = BLUR["shared, guarded"](pipeline)
    for size in (((1, 1), (1, 1)), ((4, 3), (1, 9)), ((2, 9), (5, 2))):
        check(pipeline, guarded, inputs, {"blur_y": size})


STAGES: dict[str, Build] = {
    "both shared": lambda p: at_block(
        at_block(tiled(p, 8, 4), "slope", "edges"), "wide", "edges"
    ),
    "a kernel each": lambda p: root(root(tiled(p, 8, 4), "slope", 4, 4), "wide", 8, 8),
    "shared, over a kernel": lambda p: root(
        at_block(tiled(p, 8, 4), "slope", "edges"), "wide", 8, 8
    ),
    "shared, over the host": lambda p: (
        at_block(tiled(p, 8, 4), "slope", "edges").func("wide").compute_root().parallel("y")
    ),
    "shared, and once more a thread": lambda p: (
        at_block(tiled(p, 8, 4), "wide", "edges").func("slope").compute_at("edges", "xi")
    ),
    "guarded": lambda p: at_block(
        at_block(tiled(p, 8, 4, Tail.GUARD_WITH_IF), "slope", "edges"), "wide", "edges"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STAGES)
def test_three_stages(name: str) -> None:
    pipeline = gpu_pipelines.three_stages()
    inputs = {"input": image(pipeline, "input", 19, 13)}
    check(pipeline, STAGES[name](pipeline), inputs, {"edges": (19, 13)})


UNSHARP: dict[str, Build] = {
    "all shared": lambda p: at_block(
        at_block(at_block(tiled(p, 8, 4).reorder("c", "xi", "yi", "x", "y"), "across", "output"),
                 "down", "output"), "gray", "output"),
    "gray in a kernel": lambda p: root(
        at_block(tiled(p, 8, 4).reorder("xi", "yi", "c", "x", "y"), "down", "output"), "gray", 8, 8
    ),
    "channels as blocks": lambda p: root(tiled(p, 8, 4).gpu_blocks("c"), "across", 8, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSHARP)
def test_unsharp_mask(name: str) -> None:
    pipeline = gpu_pipelines.unsharp()
    inputs = {"input": image(pipeline, "input", 17, 11, 3)}
    check(pipeline, UNSHARP[name](pipeline), inputs, {"output": (17, 11, 3)})


@pytest.mark.parametrize(
    ("builds", "name"),
    [(BLUR, "shared, guarded"), (BLUR, "rows"), (BLUR, "vectorized")],
)
@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_find_nothing_in_blur(
    builds: dict[str, Build], name: str, sanitizers: str
) -> None:
    pipeline = gpu_pipelines.blur()
    inputs = {"input": image(pipeline, "input", 28, 20)}
    executors = (SanitizedEmulator(sanitizers), SanitizedEmulator(sanitizers, "reverse"))  # type: ignore[arg-type]
    check(pipeline, builds[name](pipeline), inputs, {"blur_y": SIZES["odd"]}, executors=executors)


@pytest.mark.parametrize("sanitizers", ["address,undefined", "thread"])
def test_sanitizers_find_nothing_in_three_stages(sanitizers: str) -> None:
    pipeline = gpu_pipelines.three_stages()
    inputs = {"input": image(pipeline, "input", 19, 13)}
    executors = (SanitizedEmulator(sanitizers, "shuffled"),)  # type: ignore[arg-type]
    build = STAGES["both shared"]
    check(pipeline, build(pipeline), inputs, {"edges": (19, 13)}, executors=executors)


def product(d: Directives) -> Directives:
    """Sums in shared memory, with the loop over k around the threads."""
    d = d.func("sums").compute_at("scaled", "x").gpu_threads("x", "y")
    return d.update().reorder("x", "y", "k.x").gpu_threads("x", "y")


PRODUCTS: dict[str, Build] = {
    "in registers": lambda p: tiled(p, 8, 4).func("sums").compute_at("scaled", "xi"),
    "in shared memory": lambda p: product(tiled(p, 8, 4)),
    "in shared memory, k inside": lambda p: (
        at_block(tiled(p, 8, 4), "sums", "scaled").update().gpu_threads("x", "y")
    ),
    "a kernel a stage": lambda p: (
        root(tiled(p, 8, 4), "sums", 8, 8).update().gpu_tile("x", "y", "xi", "yi", 4, 4,
                                                            Tail.GUARD_WITH_IF)
    ),
    "updates on the host": lambda p: root(tiled(p, 8, 4), "sums", 8, 8),
    "k unrolled by two": lambda p: (
        tiled(p, 8, 4).func("sums").compute_at("scaled", "xi").update().unroll("k.x", 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    pipeline = gpu_pipelines.products()
    inputs = {"a": image(pipeline, "a", 9, 13), "b": image(pipeline, "b", 21, 9)}
    check(pipeline, PRODUCTS[name](pipeline), inputs, {"scaled": (21, 13)}, {"scale": -7})


@pytest.mark.parametrize("on_gpu", ["sums", "counts"])
def test_updates_that_only_the_host_can_do(on_gpu: str) -> None:
    pipeline = gpu_pipelines.histogram()
    inputs = {"input": image(pipeline, "input", 30, 20)}
    directives = schedule(pipeline).func(on_gpu).compute_root().gpu_tile("x", "xi", 8)
    check(pipeline, directives, inputs, {"sums": (16,)})


LOOKUPS: dict[str, Build] = {
    "shared": lambda p: (
        tiled(p, 8, 4).func("table").compute_at("looked", "x").gpu_threads("x")
    ),
    "inline": lambda p: tiled(p, 8, 4).func("table").compute_inline(),
    "host": lambda p: tiled(p, 8, 4).func("table").compute_root(),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKUPS)
def test_reads_where_the_data_say(name: str) -> None:
    pipeline = gpu_pipelines.lookups()
    inputs = {"input": image(pipeline, "input", 21, 13)}
    check(pipeline, LOOKUPS[name](pipeline), inputs, {"looked": (21, 13)}, executors=ORDERS[:1])
