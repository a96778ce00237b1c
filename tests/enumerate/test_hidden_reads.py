"""Funcs that nobody reads once others are inlined: rules, spaces and searches agree who reads
whom.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from spaces.constraints.devices.device import CpuDevice, GpuDevice, device
from spaces.constraints.legality.verify import verify
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.readers import computed_readers
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import Int32
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.search_runs.run import CPU_ONLY, STRATEGIES

X, Y = Var("x"), Var("y")
GPU = device("sm_80")


def _unread_component(updated: bool = False) -> Pipeline:
    """Only the second component of ``t`` reads ``g``, and ``f`` reads the first one."""
    image = ImageParam(Int32, 2, "image")
    g, t, f = Func("g"), Func("t"), Func("f")
    g[X, Y] = image[X, Y] * 2
    if updated:
        g[X, Y] += 1
    t[X, Y] = (X + Y, g[X + 2, Y] + g[X, Y])
    f[X, Y] = t[X + 2, Y][0]
    return pipeline(f, estimates={f: [640, 480]})


def _unread_chain() -> Pipeline:
    """As above, with Funcs between ``t`` and ``g`` and around ``t``."""
    image = ImageParam(Int32, 2, "image")
    g, h, t, u, f = Func("g"), Func("h"), Func("t"), Func("u"), Func("f")
    g[X, Y] = image[X, Y] * 2
    h[X, Y] = g[X, Y] + g[X, Y + 1]
    t[X, Y] = (image[X, Y], h[X + 2, Y] + g[X, Y])
    u[X, Y] = t[X, Y][0] + t[X, Y + 1][0]
    f[X, Y] = u[X, Y] + u[X + 1, Y]
    return pipeline(f, estimates={f: [640, 480]})


def _ignored_coordinate() -> Pipeline:
    """``t`` ignores the coordinate that reads ``g``."""
    image = ImageParam(Int32, 2, "image")
    g, t, f = Func("g"), Func("t"), Func("f")
    g[X, Y] = image[X, Y] % 7
    t[X, Y] = X * 3
    f[X, Y] = t[X, g[X, Y] % 7]
    return pipeline(f, estimates={f: [640, 480]})


PIPELINES: dict[str, Callable[[], Pipeline]] = {
    "unread component": _unread_component,
    "unread updates": lambda: _unread_component(updated=True),
    "unread chain": _unread_chain,
    "ignored coordinate": _ignored_coordinate,
}


@pytest.mark.parametrize("name", PIPELINES)
def test_what_nobody_reads_is_left_out(name: str) -> None:
    found = verify(PIPELINES[name](), Schedule.default(PIPELINES[name]()), FOUR_CORES)
    assert found.legal, str(found)


@pytest.mark.parametrize("at", ["root", "loop"])
def test_the_rule_of_unread_funcs_alone_speaks_of_them(at: str) -> None:
    whole = _unread_component()
    calls = schedule(whole).func("g")
    moved = calls.compute_root() if at == "root" else calls.compute_at("f", "y")
    verdict = verify(whole, moved.schedule, FOUR_CORES)
    assert [one.rule for one in verdict.violations] == ["call.unread"]
    assert "(t)" in verdict.violations[0].message


def test_readers_are_those_after_inlining() -> None:
    whole = _unread_chain()
    assert computed_readers(whole, "g", {"h"}) == {"t"}
    assert computed_readers(whole, "g", {"h", "t"}) == frozenset()
    assert computed_readers(whole, "image", {"h", "t"}) >= {"u"}


@pytest.mark.parametrize("on", [FOUR_CORES, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", some(PIPELINES))
def test_spaces_place_no_func_that_nobody_reads(name: str, on: CpuDevice | GpuDevice) -> None:
    space = ScheduleSpace(PIPELINES[name](), on, Options.small(on))
    legal = list(islice(space, 300))
    assert legal
    for one in legal[::29]:
        assert verify(space.pipeline, one, on).legal
        assert one in space
    for one in ScheduleSpace(PIPELINES[name](), on).sample(5, seed=3):
        assert verify(space.pipeline, one, on).legal


@pytest.mark.parametrize("strategy", some(STRATEGIES))
@pytest.mark.parametrize("name", ["unread updates", "unread chain"])
def test_every_strategy_finds_a_schedule(name: str, strategy: str) -> None:
    for on in (FOUR_CORES,) if strategy in CPU_ONLY else (FOUR_CORES, GPU):
        is_updated = name == "unread updates"
        options = Options.small(on) if is_updated is (on is GPU) else Options.everything(on)
        space = ScheduleSpace(PIPELINES[name](), on, options)
        limits = Limits(structures=8, seconds=0.4)
        found = best(search(space, strategy=strategy, limits=limits)).best
        assert verify(space.pipeline, found[0].schedule, on).legal
