"""Verdicts one step to either side of a limit, without false violations."""

from __future__ import annotations

import pytest

from spaces import device, verify
from spaces.constraints.examples import algorithms
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import Int32

TOTAL = algorithms.total()
SIZED = algorithms.blur(64, 48)


def broken(pipeline: Pipeline, directives: Directives, on: str) -> list[str]:
    verdict = verify(pipeline, directives.schedule, device(on))
    return [v.rule for v in verdict.violations]


@pytest.mark.parametrize(
    ("on", "largest"),  # bytes of shared memory a block may ask for, by the vendor's table
    [("sm_70", 96 << 10), ("sm_75", 64 << 10), ("sm_80", 163 << 10), ("sm_86", 99 << 10)],
)
def test_shared_memory_to_the_last_element(on: str, largest: int) -> None:
    threads = 32

    def tile(elements: int) -> list[str]:
        image, f, out, x = ImageParam(Int32, 1, "input"), Func("f"), Func("out"), Var("x")
        f[x] = image[x] * 2
        out[x] = f[x] + f[x + elements - threads]
        algorithm = pipeline(out)
        d = schedule(algorithm).gpu_tile("x", "xi", threads)
        return broken(algorithm, d.func("f").compute_at("out", "x"), on)

    assert tile(largest // 4) == []
    assert tile(largest // 4 + 1) == ["gpu.shared-bytes"]


@pytest.mark.parametrize("kind", ["parallel", "vectorize", "gpu_blocks", "gpu_threads", "unroll"])
@pytest.mark.parametrize("loop", ["r.x", "r.y", "x"])
def test_updates_of_one_element_run_one_after_the_other(kind: str, loop: str) -> None:
    update = getattr(schedule(TOTAL).func("s").compute_root().update(0), kind)(loop)
    races = "race.update" in broken(TOTAL, update, "sm_80")
    assert races is (kind != "unroll" and loop != "x")


def test_what_holds_at_the_estimates_is_required_of_other_sizes() -> None:
    d = schedule(SIZED).split("x", "x", "xi", 64, "shift_inwards")
    verdict = verify(SIZED, d.schedule, device("cpu"))
    assert verdict
    assert "bounds.smaller-than-tile" in {r.rule for r in verdict.size_conditions}
    wider = schedule(SIZED).split("x", "x", "xi", 65, "shift_inwards")
    assert "bounds.smaller-than-tile" in broken(SIZED, wider, "cpu")


def test_memory_is_of_a_kind_where_it_is_stored_not_where_it_is_computed() -> None:
    d = schedule(SIZED).gpu_tile("x", "y", "xi", "yi", 16, 8)
    stored = d.func("bx").store_root().compute_at("by", "x").store_in("heap")
    assert set(broken(SIZED, stored, "sm_80")) == {"race.shared-storage"}


def test_nothing_is_said_of_a_level_at_a_loop_of_a_func_that_is_wrong_itself() -> None:
    chain = algorithms.chain()
    d = schedule(chain).split("y", "yo", "yi", 8).parallel("nowhere")
    at_a_loop = d.func("a").compute_at("c", "yo")
    assert broken(chain, at_a_loop, "cpu") == ["order.unknown-loop"]
