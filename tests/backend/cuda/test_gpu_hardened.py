"""Hardened GPU programs on the emulator: they compute the same values, and end before they touch
memory that is not their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from attrs import evolve

from spaces import Func, ImageParam, Int32, Pipeline, Var, device, parse_schedule, pipeline, verify
from spaces.backend import compile_gpu as compiling
from spaces.backend.access import POISON, AccessError, AccessKind, AccessMode, Side
from spaces.backend.compile_gpu import compile_gpu, compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.ir.host import (
    DeviceFunction,
    GlobalArray,
    GpuProgram,
    HostBlock,
    HostNode,
    HostPart,
    Launch,
)
from spaces.backend.ir.node import map_children
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import EMPTY, Allocate, Statement, Store
from spaces.backend.lowering.gpu.passes import lower_gpu
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import constant

X, Y = Var("x"), Var("y")
PIXELS = np.random.default_rng(4).integers(0, 99, (40, 80), np.int32)
SIZES = {"out": (32, 16)}
TILES = "out.gpu_tile(x, y, xi, yi, 8, 8, TailStrategy::GuardWithIf);"


def stencil() -> Pipeline:
    image = ImageParam(Int32, 2, "image")
    g, out = Func("g"), Func("out")
    g[X, Y] = image[X, Y] * 2
    out[X, Y] = g[X, Y] + g[X + 1, Y + 1]
    return pipeline(out)


SCHEDULES = {
    "global": TILES + "g.compute_root().gpu_tile(x, y, xi, yi, 8, 8, TailStrategy::GuardWithIf);",
    "shared": TILES + "g.compute_at(out, x).gpu_threads(x, y);",
    "dynamic shared": """
        out.split(y, yo, yi, 128, TailStrategy::GuardWithIf);
        out.split(x, xo, xi, 128, TailStrategy::GuardWithIf).reorder(xi, yi, xo, yo);
        out.gpu_blocks(xo, yo).gpu_threads(xi);
        g.compute_at(out, xo).gpu_threads(x);""",
    "registers": TILES + "g.compute_at(out, xi);",
    "host": TILES + "g.compute_root().parallel(y).vectorize(x, 8, TailStrategy::GuardWithIf);",
}


def change_host(node: HostNode, change: Callable[[HostNode], HostNode]) -> HostNode:
    """The host program with its parts changed."""
    if isinstance(node, HostBlock):
        return HostBlock(tuple(change_host(part, change) for part in node.body))
    if isinstance(node, GlobalArray):
        node = evolve(node, body=change_host(node.body, change))
    return change(node)


def one_short(sizes: tuple) -> tuple:
    known = known_elements(sizes)
    if known is not None:
        return (constant(known - 1, Int32),)
    product = constant(1, Int32)
    for size in sizes:
        product = product * size
    return (product - constant(1, Int32),)


def shorter_kernel(kernel: DeviceFunction) -> DeviceFunction:
    def body(statement: Statement) -> Statement:
        inner = map_children(statement, body)
        return evolve(inner, sizes=one_short(inner.sizes)) if isinstance(inner, Allocate) else inner

    shared = tuple(evolve(a, elements=a.elements - 1) for a in kernel.shared)
    return evolve(kernel, shared=shared, body=body(kernel.body))


def one_element_short(program: GpuProgram) -> GpuProgram:
    """The program, with all memory that it obtains one element shorter."""

    def change(node: HostNode) -> HostNode:
        if isinstance(node, GlobalArray):
            return evolve(node, sizes=one_short(node.sizes))
        return Launch(shorter_kernel(node.kernel)) if isinstance(node, Launch) else node

    kernels = tuple(map(shorter_kernel, program.kernels))
    return evolve(program, kernels=kernels, body=change_host(program.body, change))


def compile_wrong(text: str, wrong: Callable[[GpuProgram], GpuProgram]) -> GpuPipeline:
    """Compiles a pipeline and changes its program to a wrong one after all passes."""
    built = stencil()

    def lower(*args: object) -> GpuProgram:
        return wrong(lower_gpu(*args))

    with mock.patch.object(compiling, "lower_gpu", lower):
        return compile_gpu_unchecked(
            built, parse_schedule(text, built), access_mode=AccessMode.HARDENED
        )


@pytest.mark.parametrize("name", SCHEDULES)
def test_results_are_the_same(name: str) -> None:
    built = stencil()
    checked = verify(built, parse_schedule(SCHEDULES[name], built), device("sm_80"))
    assert checked.legal, checked.violations
    compiled = compile_gpu(checked, access_mode=AccessMode.HARDENED)
    for extents in ((32, 16), (33, 9)):
        sizes = {"out": extents}
        found = compiled.run({"image": PIXELS}, sizes=sizes)["out"]
        np.testing.assert_array_equal(found, evaluate(built, {"image": PIXELS}, sizes=sizes)["out"])


LAST = {
    "global": (32, 16),
    "shared": (8, 8),
    "dynamic shared": (128, 128),
    "registers": (1, 1),
    "host": (32, 16),
}
"""The coordinates of the last element, counted from the origin of the memory."""


@pytest.mark.parametrize("name", SCHEDULES)
def test_memory_that_lacks_one_element_is_noticed(name: str) -> None:
    compiled = compile_wrong(SCHEDULES[name], one_element_short)
    sizes = {"out": (128, 128)} if name == "dynamic shared" else SIZES
    pixels = np.zeros((130, 130), np.int32) if name == "dynamic shared" else PIXELS
    with pytest.raises(AccessError, match=r"g\(") as raised:
        compiled.run({"image": pixels}, sizes=sizes)
    outside = raised.value.outside
    assert raised.value.func == "g"
    assert outside.offset + outside.nbytes > outside.last
    if name != "host":  # there a vector is first, and the error names its first element
        assert raised.value.coordinate == LAST[name]


def test_an_image_that_is_too_small_is_not_read_beyond() -> None:
    compiled = compile_wrong(SCHEDULES["global"], lambda p: evolve(p, size_checks=()))
    rows = np.ascontiguousarray(PIXELS[:10])
    for executor in (Emulator(), Emulator("reverse"), SanitizedEmulator("address,undefined")):
        with pytest.raises(AccessError, match=r"touches image\(") as raised:
            compiled.run({"image": rows}, sizes=SIZES, executor=executor)
        assert raised.value.outside.access is AccessKind.TOUCH
        assert raised.value.outside.sides == (Side(0, 80, 1), Side(0, 10, 80))
        assert raised.value.coordinate[1] >= 10


@pytest.mark.parametrize("name", SCHEDULES)
def test_unwritten_memory_is_poison(name: str) -> None:
    def forget(statement: Statement) -> Statement:
        if isinstance(statement, Store) and statement.buffer == "g":
            return EMPTY
        return map_children(statement, forget)

    def forgetful(program: GpuProgram) -> GpuProgram:
        def change(node: HostNode) -> HostNode:
            if isinstance(node, HostPart):
                return evolve(node, body=forget(node.body))
            if isinstance(node, Launch):
                return Launch(evolve(node.kernel, body=forget(node.kernel.body)))
            return node

        kernels = tuple(evolve(k, body=forget(k.body)) for k in program.kernels)
        return evolve(program, kernels=kernels, body=change_host(program.body, change))

    found = compile_wrong(SCHEDULES[name], forgetful).run({"image": PIXELS}, sizes=SIZES)["out"]
    nothing = int(np.frombuffer(bytes([POISON] * 4), np.int32)[0])
    assert (found == 2 * nothing).all()


def test_executors_that_test_nothing_are_refused() -> None:
    class Other(Emulator):
        """Some device."""

    class Device(CudaExecutor):
        def session(self, *_: object) -> Any:
            raise AssertionError("nothing runs")

    built = stencil()
    chosen = parse_schedule(SCHEDULES["global"], built)
    hardened = compile_gpu_unchecked(built, chosen, access_mode=AccessMode.HARDENED)
    assert hardened.run({"image": PIXELS}, sizes=SIZES, executor=Other())["out"].any()
    with pytest.raises(ValueError, match="Device does not test accesses of memory; run hardened"):
        hardened.run({"image": PIXELS}, sizes=SIZES, executor=Device())


def test_plain_text_tests_nothing() -> None:
    built = stencil()
    for text in SCHEDULES.values():
        plain, hardened = (
            compile_gpu_unchecked(built, parse_schedule(text, built), access_mode=mode)
            for mode in AccessMode
        )
        assert "CHECKED" not in plain.source
        assert "CHECKED" in hardened.source
