"""Pipelines of many Funcs: a decision looks at the Funcs around it alone."""

from __future__ import annotations

from collections import Counter

import pytest

import spaces
from bench.chains import measured, pointwise, stencils, table
from spaces.enumerate.search.stagewise.root_nests import funcs_in, nests_of_funcs, roots_of
from spaces.enumerate.search.stagewise.ways import NEST
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.loopnest import Loop, walk_nest
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from tests.cpus import WIDE_VECTORS

CPU = WIDE_VECTORS

DEEP = 1001
"""More Funcs than Python lets calls nest."""


def _searched(pipeline: Pipeline) -> spaces.Done:
    space = spaces.ScheduleSpace(pipeline, CPU, spaces.Options.medium(CPU))
    return spaces.best(spaces.search(space, None, spaces.Stagewise()))


def test_chains_are_inlined_into_nests_of_bounded_size() -> None:
    """Before rewrites: one that inlines a Func may join two nests."""
    pipeline = pointwise(2 * NEST)
    done = _searched(pipeline)
    schedule = done.best[0].schedule
    nests = nests_of_funcs(pipeline, {entry.name: entry for entry in schedule.funcs})
    sizes = Counter(root for roots in nests.values() for root in roots)
    assert max(sizes.values()) == NEST
    assert len(sizes) == 2
    assert done.structures < NEST  # one price a nest, and not one a Func
    assert spaces.verify(pipeline, schedule, CPU)


def test_nests_are_found_from_the_funcs_around() -> None:
    pipeline = stencils(18)
    schedule = _searched(pipeline).best[0].schedule
    entries = {entry.name: entry for entry in schedule.funcs}
    nests = nests_of_funcs(pipeline, entries)
    assert len(set(nests.values())) > 1
    for name, wanted in nests.items():
        assert roots_of(pipeline, entries, [name]) == wanted
        inside = {one for one, roots in nests.items() if roots & wanted}
        assert funcs_in(pipeline, entries, wanted) == inside


def test_what_recurs_in_a_chain_gets_no_price() -> None:
    """The first two nests do, and the outermost loops of each nest after them."""
    length, first = 52, 40
    space = spaces.ScheduleSpace(stencils(length), CPU)
    events = list(spaces.search(space, None, spaces.Stagewise()))
    priced = [event.structures for event in events if isinstance(event, spaces.Scored)]
    assert len(priced) > length
    assert priced[first] > first
    assert priced[length - 1] - priced[first] < (length - first) / 6


@pytest.fixture(scope="module")
def at_root() -> tuple[Pipeline, Schedule]:
    pipeline = pointwise(DEEP)
    entries = (FuncSchedule.default(function, stored=True) for function in pipeline.functions)
    return pipeline, Schedule(tuple(entries))


def test_deep_trees_are_drawn_and_compared(at_root: tuple[Pipeline, Schedule]) -> None:
    tree, again = spaces.schedule_tree(*at_root), spaces.schedule_tree(*at_root)
    lines = spaces.format_tree(tree).splitlines()
    assert len(lines) == 1 + 4 * DEEP - 1  # the root; a storage, two loops and a computation each
    assert tree == again
    assert hash(tree) == hash(again)
    assert repr(tree)


def _copies(length: int) -> Pipeline:
    """Each Func has the values of the Func before: once inlined, they are no long expression."""
    x, y = spaces.Var("x"), spaces.Var("y")
    last = image = spaces.ImageParam(spaces.Int32, 2, "input")
    for number in range(length):
        func = spaces.Func(f"step_{number}")
        func[x, y] = last[x, y]
        last = func
    return spaces.pipeline(last, estimates={image: [64, 64], last: [64, 64]})


def test_deep_trees_of_inlined_funcs_are_drawn() -> None:
    pipeline = _copies(DEEP)
    tree = spaces.schedule_tree(pipeline, Schedule.default(pipeline))
    assert spaces.format_tree(tree).count("inline ") == DEEP - 1


def test_deep_nests_are_drawn_and_compared(at_root: tuple[Pipeline, Schedule]) -> None:
    nest = spaces.loop_nest(*at_root)
    assert sum(isinstance(node, Loop) for node in walk_nest(nest.body)) == 2 * DEEP
    assert spaces.format_nest(nest).count("produce ") == DEEP
    assert nest.body == spaces.loop_nest(*at_root).body
    assert repr(nest.body[0]).count("Allocate") == DEEP - 1


def test_long_schedules_are_read_again(at_root: tuple[Pipeline, Schedule]) -> None:
    pipeline, schedule = at_root
    directives = spaces.format_schedule(schedule, pipeline)
    rows = directives.replace(".compute_root()", ".compute_root().split(y, y, yi, 32).parallel(y)")
    assert len(rows) > 50_000
    assert spaces.parse_schedule(rows, pipeline).of("step_0").stages[0].splits


def test_growth_is_measured_and_shown() -> None:
    found = measured("pointwise", "medium", 12)
    assert found["share of cost at root"] < 0.5
    shown = table({"pointwise": {"medium": {"12": found}}}).splitlines()
    assert len(shown) == 3
    assert shown[2].startswith("| pointwise | medium | 12 | ")
