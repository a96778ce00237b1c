"""Wrappers of images that sums read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from attrs import evolve

from bench.contenders import pipeline_of
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites import while_cheaper
from spaces.enumerate.search.rewrites.derive import Derive
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, Rewrite
from spaces.enumerate.search.rewrites.wrap import find_wrappers
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise import stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.schedules.derivations import Wrap
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES

WITH_WRAPPERS = Options.medium(FOUR_CORES)
WITH_WRAPPERS = evolve(WITH_WRAPPERS, directives=(*WITH_WRAPPERS.directives, "in_"))


def product(size: int) -> Pipeline:
    """The product of two matrices, plus a third matrix. The sum runs along the lines of the second
    matrix alone.
    """
    i, j, k = Var("i"), Var("j"), RDom([(0, size)], "k")
    left, right, beside = (ImageParam(Float32, 2, name) for name in ("left", "right", "beside"))
    total, output = Func("total"), Func("output")
    total[j, i] = 0.0
    total[j, i] += left[k, i] * right[j, k]
    output[j, i] = total[j, i] + beside[j, i]
    square = [size, size]
    return pipeline(output, estimates={left: square, right: square, beside: square, output: square})


def wrappers(pipe: Pipeline) -> list[Rewrite]:
    """The wrappers that a search tries."""
    sized = ScheduleSpace(product(8), FOUR_CORES, WITH_WRAPPERS)
    pricer = Pricer.of(sized, Reuse.of(FOUR_CORES), Limits())
    space = SimpleNamespace(pipeline=pipe, device=FOUR_CORES, options=WITH_WRAPPERS)
    found = FoundSchedule(pricer, cast("ScheduleSpace", space), Schedule.default(pipe), {}, {}, 0.0)
    return list(find_wrappers(found))


def test_large_images_that_sums_read_line_by_line_are_wrapped() -> None:
    fits = int((FOUR_CORES.l2_bytes / 4) ** 0.5)
    assert not wrappers(product(fits))
    assert wrappers(product(fits + 1)) == [Derive("in_", (Wrap("right"),))]
    unknown = evolve(product(fits + 1), estimates=())
    assert not wrappers(unknown)


@pytest.mark.parametrize("options", [WITH_WRAPPERS, Options.medium(FOUR_CORES)])
def test_a_search_wraps_where_this_is_cheaper(options: Options) -> None:
    space = ScheduleSpace(pipeline_of("sgemm"), FOUR_CORES, options)
    found = best(search(space, "reuse", "stagewise", Limits(top=1))).best[0].schedule
    assert found.derivations == ((Wrap("B"),) if options is WITH_WRAPPERS else ())
    assert space.verdict(found)


def test_a_sum_is_wrapped_in_a_pipeline_of_many_funcs() -> None:
    """A product of matrices, and beside it twenty Funcs that change each value of a row."""
    a, b = (ImageParam(Float32, 2, name) for name in ("A", "B"))
    i, j, k = Var("i"), Var("j"), RDom([(0, 1536)], "k")
    total, output, last = Func("total"), Func("output"), Func("first")
    total[j, i] = 0.0
    total[j, i] += a[k, i] * b[j, k]
    output[j, i] = total[j, i] * 0.5
    last[j] = a[j, 0] * 2.0
    for number in range(20):
        func = Func(f"f{number}")
        func[j] = last[j] + float(number)
        last = func
    square = [1536, 1536]
    sizes = {a: square, b: square, output: square, last: [1536]}
    many = pipeline([output, last], estimates=sizes)
    found = best(search(ScheduleSpace(many, FOUR_CORES, WITH_WRAPPERS), "reuse", "stagewise"))
    assert found.best[0].schedule.derivations == (Wrap("B"),)


ALONE = evolve(WITH_WRAPPERS, placements=("root",), root=("strips",))
"""Options that leave no choice to a Func."""


@pytest.mark.parametrize("options", [WITH_WRAPPERS, Options.expert(FOUR_CORES), ALONE])
def test_a_search_with_a_wrapper_keeps_what_was_decided_with_numbers(
    monkeypatch: pytest.MonkeyPatch, options: Options
) -> None:
    """Nothing where a Func that it changes was decided, too, for there was no choice."""
    walk_funcs = stagewise.walk_funcs
    seen: list[tuple[HalfDecided, list[str]]] = []

    def recorded(task, start, *others, **named):
        seen.append((start, list(named["known"])))
        return walk_funcs(task, start, *others, **named)

    monkeypatch.setattr(stagewise, "walk_funcs", recorded)
    space = ScheduleSpace(product(1024), FOUR_CORES, options)
    found = best(search(space, "reuse", "stagewise")).best[0].schedule
    assert space.verdict(found)
    *walks, (start, known) = seen
    assert [known for _, known in walks] == [[], []]
    assert known == ([] if options is ALONE else ["total", "output"])
    for entry in start.entries(known):
        assert set(entry_parameters(entry)) <= set(start.numbers)
    assert start.is_priced


def test_nothing_is_known_where_a_changed_func_is_decided() -> None:
    """Nobody has judged it, though it has no numbers to choose."""
    plain = [entry for entry in Schedule.default(product(64)).funcs if entry.name != "output"]
    partial = SimpleNamespace(state=SimpleNamespace(entries=plain))
    start = HalfDecided(cast("PartialSchedule", partial), {}, 0.0)
    assert while_cheaper._find_kept(start, {"right", "right_in"}) == ["total"]
    assert while_cheaper._find_kept(start, {"total"}) == []
