"""Clones that a search tries for Funcs that several loop nests read."""

from __future__ import annotations

from attrs import evolve

from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.clone import find_clones
from spaces.enumerate.search.rewrites.derive import Derive
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, Rewrite
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8, UInt16
from spaces.model.schedules.derivations import Clone
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES

X, Y = Var("x"), Var("y")


def _equalized() -> Pipeline:
    """Values are counted line by line, and then read again with the counts."""
    image = ImageParam(UInt16, 2, "input")
    value, lines, out = Func("value"), Func("lines"), Func("out")
    across = RDom([(0, 4096)], name="r")
    value[X, Y] = cast(UInt8, image[X, Y] * 3 // 256)
    lines[X, Y] = cast(Int32, 0)
    lines[cast(Int32, value[across, Y]), Y] += 1
    out[X, Y] = cast(UInt8, lines[0, Y]) + value[X, Y] + value[X + 1, Y] + value[X + 2, Y]
    return pipeline(out, estimates={out: [4096, 4096], image: [4098, 4096]})


def _clones(pipe: Pipeline, text: str) -> list[Rewrite]:
    """The clones that a search tries, each for a single reader."""
    cpu = FOUR_CORES
    options = Options.medium(cpu)
    options = evolve(options, directives=(*options.directives, "clone_in"), clone_consumers=1)
    pricer = Pricer.of(ScheduleSpace(pipe, cpu, options), cost_model("reuse", cpu), Limits())
    schedule = parse_schedule(text, pipe)
    return list(find_clones(FoundSchedule(pricer, pricer.space, schedule, {}, {})))


def test_each_nest_but_the_last_gets_a_clone() -> None:
    pipe = _equalized()
    text = "value.compute_root()\nlines.compute_root()"
    assert _clones(pipe, text) == [Derive("clone_in", (Clone("value", ("lines",)),))]


def test_one_nest_needs_no_clone() -> None:
    pipe = _equalized()
    text = "value.compute_root()\nlines.compute_at(out, y)"
    assert not _clones(pipe, text)
    text = "value.compute_at(out, y)\nlines.compute_at(out, y)"
    assert not _clones(pipe, text)


def test_an_inlined_func_runs_in_all_nests_that_read_it() -> None:
    """It has nothing to clone."""
    pipe = _equalized()
    entries = parse_schedule("lines.compute_root()", pipe).funcs
    nests = nests_of_funcs(pipe, {entry.name: entry for entry in entries})
    assert nests["value"] == {"lines", "out"}
    assert not _clones(pipe, "lines.compute_root()")


def test_a_search_clones_where_this_is_cheaper() -> None:
    pipe, cpu = _equalized(), FOUR_CORES
    medium = Options.medium(cpu)
    with_clones = evolve(medium, directives=(*medium.directives, "clone_in"))
    found = [
        best(search(ScheduleSpace(pipe, cpu, options), limits=Limits())).best[0]
        for options in (medium, with_clones)
    ]
    assert not found[0].schedule.derivations
    assert found[1].schedule.derivations == (Clone("value", ("lines",)),)
    assert found[1].cost < found[0].cost
