"""Whether the schedules of a space combine floats in the order of the algorithm."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from attrs import evolve

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.papers.beam import Beam
from spaces.enumerate.search.registry import Strategy, strategy_names
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.completing.complete import complete, open_funcs
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.approximations import fast_exp
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.functions import min
from spaces.model.expressions.types import Float32, Int32, Type, UInt8
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.tuning.fakes import QUICK, FakeMeasurer

X, Y = Var("x"), Var("y")
SM_80 = device("sm_80")
DEVICES = (FOUR_CORES, SM_80)


def softmax(width: int = 512) -> Pipeline:
    """Values over the sum of all: one update of floats over two RVars."""
    image, f, out = ImageParam(Float32, 2, "im"), Func("f"), Func("out")
    r = RDom([(0, width), (0, 16)], "r")
    f[()] = 0.0
    f[()] += fast_exp(image[r.x, r.y])
    out[X, Y] = image[X, Y] / f[()]
    return pipeline(out, estimates={out: [width, 16], image: [width, 16]})


def reduced(combine: Callable[[Expr, Expr], Expr], type: Type) -> Pipeline:
    """One number of each column, by two RVars."""
    image, f, out = ImageParam(type, 3, "im"), Func("f"), Func("out")
    r = RDom([(0, 32), (0, 8)], "r")
    f[X] = cast(type, 0)
    f[X] = combine(f[X], image[r.x, r.y, X])
    out[X] = f[X]
    return pipeline(out, estimates={out: [64], image: [32, 8, 64]})


def least(type: Type) -> Pipeline:
    """The least of each column and zero."""
    return reduced(min, type)


def total(type: Type) -> Pipeline:
    """The sum of each column."""
    return reduced(lambda a, b: a + b, type)


def histogram() -> Pipeline:
    """How often each value of 8 bits occurs."""
    image, h = ImageParam(UInt8, 2, "im"), Func("h")
    r = RDom([(0, 256), (0, 64)], "r")
    h[X] = 0
    h[image[r.x, r.y]] += 1
    return pipeline(h, estimates={h: [256], image: [256, 64]})


FLOATS = {"softmax": softmax(), "least": least(Float32), "total": total(Float32)}


def is_exact(algorithm: Pipeline, schedule: Schedule, target: Device) -> bool:
    """What ``verify`` says, which knows no space."""
    verdict = verify(algorithm, schedule, target)
    assert isinstance(verdict, CheckedSchedule)
    return verdict.is_exact


def preset(name: str, target: Device, exact: bool = True) -> Options:
    return evolve(getattr(Options, name)(target), exact=exact)


@cache
def space(name: str, options: str, target: Device, exact: bool = True) -> ScheduleSpace:
    return ScheduleSpace(FLOATS[name], target, preset(options, target, exact))


def ends(of: ScheduleSpace, draws: int) -> Iterator[Schedule]:
    """Complete schedules to which random decisions lead, legal or not."""
    for seed in range(draws):
        yield of.start().at_random(random.Random(seed)).schedule


@pytest.mark.parametrize("target", DEVICES, ids=lambda one: one.name)
@pytest.mark.parametrize("options", ["expert", "everything"])
@pytest.mark.parametrize("name", FLOATS)
def test_no_decision_offers_what_rounds_differently(
    name: str, options: str, target: Device
) -> None:
    """Not even an illegal schedule of an exact space has another order of floats."""
    of = space(name, options, target)
    for schedule in ends(of, 2):
        inexact = verify(FLOATS[name], schedule, target, exact=True).violations
        assert not [one for one in inexact if one.rule == "exact.order"]


@pytest.mark.parametrize("name", FLOATS)
def test_without_exact_decisions_offer_it(name: str) -> None:
    of = space(name, "expert", FOUR_CORES, exact=False)
    found = (verify(FLOATS[name], one, FOUR_CORES, exact=True).violations for one in ends(of, 12))
    assert any(one.rule == "exact.order" for violations in found for one in violations)


@pytest.mark.parametrize("target", DEVICES, ids=lambda one: one.name)
@pytest.mark.parametrize("name", FLOATS)
def test_samples_and_the_iteration_are_exact(name: str, target: Device) -> None:
    for options in ("small", "medium", "expert"):
        of = space(name, options, target)
        drawn = [*of.sample(4, seed=3), *itertools.islice(of, 8)]
        assert all(is_exact(FLOATS[name], one, target) for one in drawn)


def test_completions_are_exact() -> None:
    algorithm = FLOATS["softmax"]
    partial = open_funcs(Schedule.default(algorithm), "f")
    found = list(
        complete(algorithm, partial, FOUR_CORES, options=Options.expert(FOUR_CORES), limit=40)
    )
    assert len(found) == 40
    assert all(is_exact(algorithm, one, FOUR_CORES) for one in found)


STRATEGIES: dict[str, Strategy | str] = {name: name for name in strategy_names()}
STRATEGIES |= {
    "annealing": Annealing(opening=Stagewise(), steps=50),
    "beam": Beam(depth=4, width=8, factors=(4,)),
}


@pytest.mark.parametrize("strategy", some(STRATEGIES))
def test_every_strategy_finds_exact_schedules(strategy: str) -> None:
    if strategy == "optuna":
        pytest.importorskip("optuna")
    patterns = strategy in ("exhaustive", "best-first")
    for name, target in zip(FLOATS, itertools.cycle(DEVICES), strict=False):
        of = space(name, "small" if patterns else "expert", target)
        limits = Limits(top=5, structures=20, seconds=0.2, seed=1)
        try:
            found = best(
                search(
                    of,
                    "reuse" if target is FOUR_CORES else "occupancy",
                    STRATEGIES[strategy],
                    limits=limits,
                )
            ).best
        except ValueError:  # the strategy is for another kind of device or space
            continue
        assert found
        assert all(is_exact(FLOATS[name], one.schedule, target) for one in found)


def test_trials_of_a_study_are_exact() -> None:
    of = space("softmax", "expert", FOUR_CORES)
    with (
        TuningStore.open(":memory:") as store,
        Study.open(store, of, strategy=QUICK, searching=0.5) as study,
    ):
        study.run(FakeMeasurer(), trials=8)
        assert all(is_exact(of.pipeline, trial.schedule, FOUR_CORES) for trial in study.trials)


BY_EXPERTS = {
    "rfactor": (
        "total",
        "f.update(0).rfactor(r.y, r_y);\nf.compute_root();\nf_intm.compute_root();",
    ),
    "atomic": ("total", "f.compute_root();\nf.update(0).atomic().parallel(r.y);"),
    "minima": ("least", "f.compute_root();\nf.update(0).reorder(r.y, r.x, x);"),
}


@pytest.mark.parametrize("directive", BY_EXPERTS)
def test_schedules_of_experts_are_in_the_inexact_space_alone(directive: str) -> None:
    name, text = BY_EXPERTS[directive]
    schedule = parse_schedule(text, FLOATS[name])
    assert not is_exact(FLOATS[name], schedule, FOUR_CORES)
    assert schedule not in space(name, "everything", FOUR_CORES)
    assert schedule in space(name, "everything", FOUR_CORES, exact=False)


@pytest.mark.parametrize("directive", BY_EXPERTS)
def test_integers_are_free(directive: str) -> None:
    name, text = BY_EXPERTS[directive]
    algorithm = total(Int32) if name == "total" else least(Int32)
    schedule = parse_schedule(text, algorithm)
    assert schedule in ScheduleSpace(algorithm, FOUR_CORES, Options.everything(FOUR_CORES))


def test_what_is_given_has_to_be_exact() -> None:
    algorithm = FLOATS["total"]
    given = parse_schedule(BY_EXPERTS["atomic"][1], algorithm)
    kept = open_funcs(given, "out")
    with pytest.raises(ValueError, match=r"parallel\(r\.y\) combines .* exact=False"):
        ScheduleSpace(algorithm, FOUR_CORES, Options.small(FOUR_CORES), kept)
    inexact = evolve(Options.small(FOUR_CORES), exact=False)
    assert next(iter(ScheduleSpace(algorithm, FOUR_CORES, inexact, kept)))
    factored = derived(algorithm, parse_schedule(BY_EXPERTS["rfactor"][1], algorithm))
    with pytest.raises(ValueError, match=r"rfactor.* exact=False"):
        ScheduleSpace(factored, FOUR_CORES)
    assert next(iter(ScheduleSpace(factored, FOUR_CORES, inexact)))


def test_the_part_of_patterns_is_as_exact_as_the_space() -> None:
    assert not space("total", "expert", FOUR_CORES, exact=False).of_patterns.options.exact
    assert space("total", "expert", FOUR_CORES).of_patterns.options.exact
