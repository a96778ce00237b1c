"""Prefetches in pipelines for a GPU, in the parts that the CPU computes."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import CheckedSchedule, compile_gpu, device, evaluate, parse_schedule, verify
from spaces.backend.ir.host import HostPart
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Prefetch
from tests.backend.halide.test_specialize import BLUR, call

GPU = device("sm_80")
GRID = "out.gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf)"
ROWS = "out.split(x, x, xi, 8, TailStrategy::GuardWithIf).gpu_blocks(x).gpu_threads(xi)"


def test_parts_that_the_cpu_computes_may_prefetch() -> None:
    text = f"{GRID}\nacross.compute_root().prefetch(image, y, y, 2)"
    verdict = verify(BLUR, parse_schedule(text, BLUR), GPU)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    compiled = compile_gpu(verdict)
    (program,) = compiled.programs
    (part,) = [node for node in walk_nodes(program.body) if isinstance(node, HostPart)]
    (made,) = [s for s in walk_nodes(part.body) if isinstance(s, Prefetch)]
    assert made.buffer == "image"
    arguments = call(19, 7, 3)
    wanted = evaluate(BLUR, **arguments)["out"]
    np.testing.assert_array_equal(compiled.run(**arguments)["out"], wanted)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f"{GRID}.prefetch(image, xi, xi, 1)", "in the kernel of out"),
        (f"{ROWS}.prefetch(image, y, y, 1)", "in the kernel of out"),
        (
            f"{GRID}\nacross.compute_at(out, x).gpu_threads(x).prefetch(image, y, y, 1)",
            "in the kernel of across",
        ),
        (
            "across.store_root().compute_at(out, y).gpu_blocks(x)\nout.prefetch(image, y, y, 1)",
            "around the kernel of across",
        ),
    ],
)
def test_kernels_do_not_prefetch(text: str, where: str) -> None:
    verdict = verify(BLUR, parse_schedule(text, BLUR), GPU)
    assert not isinstance(verdict, CheckedSchedule)
    (violation,) = [v for v in verdict.violations if v.rule == "prefetch.gpu"]
    assert f"stands {where}, and kernels cannot prefetch" in violation.message
