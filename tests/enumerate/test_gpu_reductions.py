"""Reductions to few elements, and scatters, on GPUs: their terms run in blocks of threads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from attrs import evolve

from spaces.backend.access import AccessMode
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.factor import find_factors
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Pattern
from spaces.enumerate.space.patterns.gpu import atomic_blocks, blocks
from spaces.enumerate.space.patterns.menus import func_menus
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import max, min, select
from spaces.model.expressions.types import Float32, Int32, Type, UInt8
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")
GPUS = ("sm_80", "sm_90")
SM_80 = device("sm_80")
NEEDS_EMULATOR = pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs g++")


def histogram(width: int = 2048, height: int = 2048) -> Pipeline:
    """How often each value of 8 bits occurs."""
    image, h = ImageParam(UInt8, 2, "im"), Func("h")
    w = RDom([(0, width), (0, height)], "w")
    h[X] = 0
    h[cast(Int32, image[w.x, w.y])] += 1
    return pipeline(h, estimates={h: [256], image: [width, height]})


def scalar(
    combine: Callable[[Expr, Expr], Expr], type: Type = Int32, width: int = 2048, height: int = 2048
) -> Pipeline:
    """One number of a whole image."""
    image, s = ImageParam(type, 2, "im"), Func("s")
    w = RDom([(0, width), (0, height)], "w")
    s[()] = cast(type, 0)
    s[()] = combine(s[()], image[w.x, w.y])
    return pipeline(s, estimates={s: [], image: [width, height]})


def total(width: int = 2048, height: int = 2048) -> Pipeline:
    return scalar(lambda a, b: a + b, Int32, width, height)


def least(width: int = 2048, height: int = 2048) -> Pipeline:
    return scalar(min, Int32, width, height)


def greatest(width: int = 2048, height: int = 2048) -> Pipeline:
    return scalar(max, Int32, width, height)


def place_of_greatest(width: int = 2048, height: int = 2048) -> Pipeline:
    """The first place of the greatest value, and the value."""
    image, a = ImageParam(Int32, 2, "im"), Func("a")
    w = RDom([(0, width), (0, height)], "w")
    a[()] = (0, 0, -(2**31))
    found = a[()]
    is_better = image[w.x, w.y] > found[2]
    a[()] = (
        select(is_better, w.x, found[0]),
        select(is_better, w.y, found[1]),
        select(is_better, image[w.x, w.y], found[2]),
    )
    return pipeline(a, estimates={a: [], image: [width, height]})


def row_sums(width: int = 1 << 20, rows: int = 4) -> Pipeline:
    """The sums of a few long rows."""
    image, sums = ImageParam(Int32, 2, "im"), Func("sums")
    r = RDom([(0, width)], "r")
    sums[Y] = 0
    sums[Y] += image[r, Y]
    return pipeline(sums, estimates={sums: [rows], image: [width, rows]})


def line_sum(width: int = 1 << 22) -> Pipeline:
    """The sum of a line."""
    image, s = ImageParam(Int32, 1, "im"), Func("s")
    r = RDom([(0, width)], "r")
    s[()] = 0
    s[()] += image[r]
    return pipeline(s, estimates={s: [], image: [width]})


ALL: dict[str, Callable[..., Pipeline]] = {
    "histogram": histogram,
    "total": total,
    "least": least,
    "greatest": greatest,
    "place": place_of_greatest,
    "rows": row_sums,
    "line": line_sum,
}
SMALL = {"rows": (200, 3), "line": (999,), "place": (197, 64)}


@cache
def found(name: str, gpu: str = "sm_80") -> Schedule:
    """What the quick search finds for the large sizes."""
    space = ScheduleSpace(ALL[name](), device(gpu))
    return best(search(space, strategy="stagewise", limits=Limits(top=1))).best[0].schedule


def price(algorithm: Pipeline, schedule: Schedule, gpu: str = "sm_80") -> float:
    return float(OccupancyModel(device(gpu)).cost(Batch.of(algorithm, schedule)))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", ALL)
def test_the_terms_run_on_the_gpu(name: str, gpu: str) -> None:
    algorithm, schedule = ALL[name](), found(name, gpu)
    verdict = verify(algorithm, schedule, device(gpu))
    assert isinstance(verdict, CheckedSchedule)
    assert verdict.is_exact
    updates = [order for entry in schedule.funcs for order in entry.stages[1:]]
    assert any(loop.kind is LoopKind.GPU_THREAD for order in updates for loop in order.loops)
    assert 50 * price(algorithm, schedule, gpu) < price(
        algorithm, Schedule.default(algorithm), gpu
    ) or name in ("rows", "line")


def test_the_histogram_is_as_cheap_as_the_one_by_hand() -> None:
    by_hand = (
        "h.gpu_tile(x, xi, 64);"
        "h.update(0).atomic().split(w.x, wxo, wxi, 128).gpu_blocks(w.y).gpu_threads(wxi);"
    )
    algorithm = histogram()
    assert price(algorithm, found("histogram")) <= price(
        algorithm, parse_schedule(by_hand, algorithm)
    )


@NEEDS_EMULATOR
@pytest.mark.parametrize("mode", [AccessMode.PLAIN, AccessMode.HARDENED])
@pytest.mark.parametrize("name", ALL)
def test_results_are_those_of_the_algorithm(name: str, mode: AccessMode) -> None:
    """The directives of the large size, at one that tiles of most loops do not divide."""
    size = SMALL.get(name, (197, 53))
    algorithm = ALL[name](*size)
    large = found(name)
    schedule = Schedule(large.funcs, large.derivations)
    verdict = verify(algorithm, schedule, SM_80)
    assert isinstance(verdict, CheckedSchedule), verdict
    rng = np.random.default_rng(0)
    kind = np.uint8 if name == "histogram" else np.int32
    inputs = {"im": rng.integers(0, 250, size[::-1], dtype=kind)}
    output = algorithm.outputs[0]
    sizes = {output: {"histogram": [256], "rows": [3]}.get(name, [])}
    ran = compile_gpu(verdict, access_mode=mode).run(inputs, sizes=sizes)
    expected = evaluate(algorithm, inputs, sizes=sizes)
    assert ran.keys() == expected.keys()
    for key, values in expected.items():
        assert np.array_equal(np.asarray(ran[key]), np.asarray(values))


@pytest.mark.parametrize("options", ["small", "medium"])
def test_floats_stay_in_order_unless_the_space_is_inexact(options: str) -> None:
    algorithm = scalar(lambda a, b: a + b, Float32)
    exact = getattr(Options, options)(SM_80)

    def concurrent(options: Options) -> list[str]:
        menu = func_menus(algorithm, SM_80, options, Schedule(()))["s"]
        return [
            name
            for name, orders in menu.root.items()
            if any(loop.kind is LoopKind.GPU_THREAD for loop in orders[1].loops)
        ]

    assert concurrent(exact) == []
    assert concurrent(evolve(exact, exact=False)) == ["atomic_blocks"]
    space = ScheduleSpace(algorithm, SM_80)
    assert not factors(space)
    inexact = ScheduleSpace(algorithm, SM_80, evolve(space.options, exact=False))
    assert factors(inexact) == [
        "s.update(0).rfactor(w.x, w_x)",
        "s.update(0).rfactor(w.y, w_y)",
    ]


def factors(space: ScheduleSpace) -> list[str]:
    """The ways to factor that a search tries."""
    pricer = Pricer.of(space, cost_model("occupancy", SM_80), Limits())
    plain = FoundSchedule(pricer, space, Schedule.default(space.pipeline), {}, {}, 0.0)
    return [str(step) for one in find_factors(plain) for step in one.steps]


def shown(pattern: Pattern | None) -> str:
    assert pattern is not None
    return ", ".join(f"{loop.kind} {loop.name}" for loop in pattern.order.loops)


def test_loops_of_the_pattern() -> None:
    shapes = stage_shapes(histogram(), SM_80, Options.small(SM_80))["h"]
    assert atomic_blocks(shapes[0]) == blocks(shapes[0])
    assert shown(atomic_blocks(shapes[1])) == "gpu_block w.y, gpu_thread w_xt, serial w.x"
    (_, one) = stage_shapes(line_sum(), SM_80, Options.small(SM_80))["s"]
    assert shown(atomic_blocks(one)) == "gpu_block r.x, gpu_thread r_xt"
    (_, few) = stage_shapes(row_sums(), SM_80, Options.small(SM_80))["sums"]
    assert shown(atomic_blocks(few)) == "gpu_block y, gpu_thread r_xt, serial r.x"


def test_stages_made_of_patterns_are_atomic_where_they_have_to_be() -> None:
    space = ScheduleSpace(histogram(), SM_80, Options.small(SM_80))
    schedules = list(space)
    kinds = {
        entry.atomic: {loop.kind for loop in entry.stages[1].loops}
        for one in schedules
        for entry in one.funcs
    }
    assert LoopKind.GPU_THREAD in kinds[1,]
    assert kinds[()] == {LoopKind.SERIAL}
    assert all(one in space for one in schedules[::7])
    assert space.count() == len(schedules) == len(set(schedules))
