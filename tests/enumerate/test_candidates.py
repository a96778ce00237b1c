"""Candidates against what the process lists: more only where a second reader forbids a level."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import pytest

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verify import verify
from spaces.enumerate.space.counting.path_form import PathForm, levels_of, totals
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt16
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import chain, two_outputs

GPU = device("sm_80")

STRIPS = Options(root=("strips",), row_tiles=(64,), tiles=(8,), lanes=(1,))
BLOCKS = Options(
    root=("blocks",), inner=("threads", "serial"), storage="compute", row_tiles=(32,), tiles=(8,)
)


def diamond() -> Pipeline:
    """The output reads a Func, and another one that reads it too."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    first, second, out = Func("first"), Func("second"), Func("out")
    first[x, y] = image[x, y] + image[x, y + 1]
    second[x, y] = first[x, y] + first[x + 1, y]
    out[x, y] = second[x, y] + second[x, y + 1] + first[x, y]
    return pipeline(out, estimates={out: [256, 256], image: [257, 258]})


CASES = {
    "diamond": (diamond(), FOUR_CORES, STRIPS),
    "diamond, blocks": (diamond(), GPU, BLOCKS),
    "two outputs": (two_outputs(), FOUR_CORES, STRIPS),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_candidates_that_the_process_does_not_list_are_illegal(
    case: tuple[Pipeline, Device, Options],
) -> None:
    space = ScheduleSpace(*case)
    listed = {s.at(i) for s in space.structures() for i in range(s.size)}
    candidates = [space.candidate(index) for index in range(space.candidates)]
    assert len(set(candidates)) == len(candidates)
    assert listed < set(candidates)
    for extra in set(candidates) - listed:
        verdict = verify(space.pipeline, extra, space.device)
        assert "call.compute-level" in {violation.rule for violation in verdict.violations}


def test_stages_of_one_reader_share_only_the_loops_around_it() -> None:
    """The output reads ``first`` where it is defined and where it is updated."""
    x, y = Var("x"), Var("y")
    first, out = Func("first"), Func("out")
    first[x, y] = x + y
    out[x, y] = first[x, y]
    out[x, y] += first[x, y + 1]
    pipe = pipeline(out, estimates={out: [256, 256]})
    space = ScheduleSpace(pipe, FOUR_CORES, attrs.evolve(STRIPS, root=("serial",)))
    listed = {s.at(i) for s in space.structures() for i in range(s.size)}
    assert {space.candidate(index) for index in range(space.candidates)} == listed


def test_given_levels_are_told_apart_from_others_of_their_kind() -> None:
    """``b`` is given at the second loop of one order of ``c``; the other has ``x`` there."""
    pipe = chain()
    tiled = schedule(pipe).split("y", "y", "yi", 8).func("b").compute_at("c", "yi").schedule
    fixed = Schedule((tiled.of("b"),))
    options = attrs.evolve(STRIPS, root=("strips", "serial"), storage="compute")
    space = ScheduleSpace(pipe, FOUR_CORES, options, fixed)
    listed = {s.at(i) for s in space.structures() for i in range(s.size)}
    assert {space.candidate(index) for index in range(space.candidates)} == listed


def test_candidates_end() -> None:
    space = ScheduleSpace(diamond(), FOUR_CORES, STRIPS)
    with pytest.raises(IndexError):
        space.candidate(space.candidates)


def form(kinds: Iterable[LoopKind], root: PathForm) -> PathForm:
    return root.inside(tuple((kind, None) for kind in kinds))


def test_levels_of_paths_are_those_of_each_path() -> None:
    root = PathForm()
    serial, block, lanes = LoopKind.SERIAL, LoopKind.GPU_BLOCK, LoopKind.VECTORIZED
    kinds = [(block, block, serial), (block,), (serial, lanes, serial), (serial, serial), ()]
    paths = [form(one, root) for one in kinds]
    each = {path: set(path.levels) for path in paths}
    assert [len(levels) for levels in each.values()] == [2, 1, 1, 2, 0]
    assert levels_of(paths) == set().union(*each.values())
    amount = {at: 3**index for index, at in enumerate(levels_of(paths))}
    assert totals(paths, amount) == {p: sum(amount[at] for at in each[p]) for p in paths}
    assert levels_of(paths[:1]) == each[paths[0]]
