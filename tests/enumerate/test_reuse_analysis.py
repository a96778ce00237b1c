"""The reuse analysis of [S19]: overlaps, levels, constraints, costs, segments, and what it finds.

Expected values are the paper's, or follow from its closed forms by hand.
"""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest

import spaces
from spaces.constraints.devices.device import device
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.reuse_analysis.fusion import (
    Place,
    TiledLoop,
    greatest_overlaps,
    inline_trivial_funcs,
    is_trivial,
    move_where_possible,
    stage_fusion,
)
from spaces.enumerate.search.papers.reuse_analysis.overlap import dependences, overlap
from spaces.enumerate.search.papers.reuse_analysis.segments import (
    Segmentation,
    necessary_cuts,
    segments_of,
    with_several_consumers,
)
from spaces.enumerate.search.papers.reuse_analysis.strategy import ReuseAnalysis
from spaces.enumerate.search.papers.reuse_analysis.tiling import (
    buffer_bytes,
    covers_overlap,
    fills_lines,
    keeps_threads_busy,
    segment_cost,
    unfolded_bytes,
)
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.features.extraction import extract_features
from spaces.features.work import stage_work
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt16
from spaces.model.schedules.schedule import LoopLevel
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import X, Y, blur, equalized, long_chain, row_sums, two_outputs

TILES = Options(root=("tiles",), directives=())


def _nest(*loops: str, column: str = "x") -> tuple[TiledLoop, ...]:
    """Loops of blur_y, outermost first; the second letter is i inside tiles and o between them."""
    return tuple(
        TiledLoop(
            LoopLevel("blur_y", name), name[0], name[1] == "o", name[0] == column, False, False
        )
        for name in loops
    )


def _levels(pipe, nest: tuple[TiledLoop, ...]) -> dict[str, tuple[str, str] | None]:
    """The names of the compute and store levels of Algorithm 1."""
    places = stage_fusion(pipe, pipe.outputs[0], {0: nest})
    return {
        name: place and tuple(nest[d - 1].level.loop for d in (place.compute, place.store))
        for name, place in places.items()
    }


def _overlaps(index, extent: int = 64) -> dict[str, int]:
    """The overlaps of a stage that adds up what it reads at some rows x."""
    f, g = Func("f"), Func("g")
    f[X] = X
    g[X, Y] = sum((f[at] for at in index[1:]), f[index[0]])
    (dependence,) = dependences(pipeline(g, estimates={g: [extent, extent]}), "f")
    assert dependence.consumer == "g"
    return dict(dependence.overlaps)


def test_the_overlap_of_the_blur():
    """[S19] section 3: v_y = 2 in this example; nothing overlaps along x."""
    (dependence,) = dependences(blur(), "blur_x")
    assert dict(dependence.overlaps) == {"y": 2}
    assert greatest_overlaps(blur(), "blur_y") == {"y": 2}


@pytest.mark.parametrize(
    ("reads", "shared"),
    [
        ([X], 0),
        ([X, X + 3], 3),
        ([2 * X, 2 * X + 1], 0),
        ([2 * X - 1, 2 * X, 2 * X + 1, 2 * X + 2], 2),
        ([3 * X, 3 * X + 1], 0),
        ([X / 2], 1),
    ],
    ids=["point", "stencil", "pairs", "down", "apart", "up"],
)
def test_overlaps_of_steps_and_stencils(reads, shared: int) -> None:
    found = _overlaps(reads)
    assert found.pop("y") == 1  # y moves nothing: every iteration shares all
    assert found == ({"x": shared} if shared else {})


def test_overlap_needs_every_index_to_overlap():
    f, g = Func("f"), Func("g")
    f[X, Y] = X + Y
    g[X] = f[X, X] + f[X + 1, X] + f[X + 2, X]
    (stage,) = pipeline(g, estimates={g: [64]}).function("g").stages
    (access,) = stage_work(stage).accesses
    assert overlap(access, "x", ("x",)) == 0


def test_windows_slide_inside_tiles():
    """[S19] Fig. 2 (c) and Fig. 6: the one schedule worth a look is (yi, xo)."""
    assert _levels(blur(), _nest("yo", "xo", "yi", "xi")) == {"blur_x": ("yi", "xo")}


def test_overlap_along_the_innermost_loop_is_computed_outside_it():
    """Algorithm 1: next(D, c) where c is the innermost loop, as in the loops of Fig. 4 (a)."""
    assert _levels(blur(), _nest("xo", "yo", "xi", "yi", column="-")) == {"blur_x": ("xi", "xi")}


def test_overlap_along_lanes_is_computed_outside_them():
    assert _levels(blur(), _nest("xo", "yo", "yi", "xi", column="y")) == {"blur_x": ("yo", "yo")}


def test_without_overlap_a_stage_is_inlined():
    f, g = Func("f"), Func("blur_y")
    f[X, Y] = X + Y
    g[X, Y] = f[X, Y] * 2
    pipe = pipeline(g, estimates={g: [64, 64]})
    assert _levels(pipe, _nest("yo", "xo", "yi", "xi")) == {"f": None}


def test_overlap_along_no_loop_of_the_output_is_computed_innermost():
    """Algorithm 1: (min(D), min(D)) if the index is not one of the output."""
    f, g, out = Func("f"), Func("g"), Func("blur_y")
    r = RDom([(0, 8)], "r")
    f[X, Y] = X + Y
    g[X, Y] = 0
    g[X, Y] += f[8 * X + r, Y]
    out[X, Y] = g[X, Y] * 2
    pipe = pipeline(out, estimates={out: [64, 64]})
    (dependence,) = dependences(pipe, "f")
    assert not dependence.overlaps  # each term reads another value
    h = Func("h")
    h[X, Y] = 0
    h[X, Y] += f[X, Y] * (r + 1)
    out = Func("blur_y")
    out[X, Y] = h[X, Y] * 2
    pipe = pipeline(out, estimates={out: [64, 64]})
    nest = _nest("yo", "xo", "yi", "xi")
    places = stage_fusion(pipe, "blur_y", {0: nest})
    assert places == {"h": None, "f": Place(4, 4)}
    # A Func with updates cannot be inlined.
    assert move_where_possible(pipe, "blur_y", places, {0: nest}) == {
        "h": Place(4, 4),
        "f": Place(4, 4),
    }


def test_a_producer_is_no_further_in_than_its_consumer():
    pipe = long_chain(3)
    names = [f.name for f in pipe.functions]
    nest = {0: _nest("yo", "xo", "yi", "xi")}
    places = {names[1]: Place(2, 2), names[0]: Place(3, 3)}
    found = move_where_possible(pipe, names[2], places, nest)
    assert found == {names[1]: Place(2, 2), names[0]: Place(2, 2)}


def test_an_inlined_producer_takes_the_place_of_a_trivial_stage():
    """Algorithm 2."""
    image = ImageParam(UInt16, 2, "input")
    work, copy, out = Func("work"), Func("copy"), Func("blur_y")
    work[X, Y] = image[X, Y] * image[X + 1, Y] + 3
    copy[X, Y] = work[X, Y]
    out[X, Y] = copy[X, Y - 1] + copy[X, Y] + copy[X, Y + 1]
    pipe = pipeline(out, estimates={out: [(1, 64), (1, 64)], image: [66, 66]})
    assert is_trivial(pipe.function("copy"))
    assert not is_trivial(pipe.function("work"))
    places = stage_fusion(pipe, "blur_y", {0: _nest("yo", "xo", "yi", "xi")})
    assert places == {"copy": Place(3, 2), "work": None}
    assert inline_trivial_funcs(pipe, "blur_y", places) == {"copy": None, "work": Place(3, 2)}


def test_as_many_tiles_as_threads():
    """(14): 4800 lines and 8 threads."""
    assert list(keeps_threads_busy(4800, np.array([600, 601]), 8)) == [True, False]


def test_tiles_as_large_as_the_overlap():
    """(15): v_y = 2."""
    assert list(covers_overlap(np.array([1, 2]), 2)) == [False, True]


def test_tiles_of_whole_lines_and_vectors():
    """Lines of 64 bytes and vectors of 256 bits: 32 numbers of 16 bits; in bytes, 64."""
    assert list(fills_lines(np.array([16, 32, 48, 64]), 2, FOUR_CORES)) == [
        False,
        True,
        False,
        True,
    ]
    assert list(fills_lines(np.array([32, 64]), 1, FOUR_CORES)) == [False, True]
    wide = attrs.evolve(FOUR_CORES, vector_bits=1024)
    assert not fills_lines(32, 2, wide)


def _blur_in_tiles(store: str, compute: str):
    pipe = blur(1024, 512)
    tiled = schedule(pipe).tile("x", "y", "xo", "yo", "xi", "yi", "TX", "TY")
    made = tiled.func("blur_x").store_at("blur_y", store).compute_at("blur_y", compute).schedule
    return extract_features(pipe, made).read_ints({**pipe.sizes(), "TX": 256, "TY": 32})


@pytest.mark.parametrize(("store", "compute"), [("xo", "xo"), ("xo", "yi")])
def test_the_cost_of_the_blur(store: str, compute: str) -> None:
    """The paper's 256 x 32 tiles on 1024 x 512: by (6) (32 + 2) * 4 * 16 = 2176 loads; by (2) to
    (4) 256 * 34 * 64 - 1024 * 514 = 30720 values again. Sliding changes neither.
    """
    found = _blur_in_tiles(store, compute)
    assert segment_cost(found, "blur_y", 40.0) == 40 * 2176 + 30720
    assert segment_cost(found, "blur_y", 0.0) == 30720


def test_the_footprint_of_the_blur():
    """(1): 256 * 34 * 2 bytes in overlapping tiles; (9): 3 * 256 * 2 where windows slide."""
    tiles, sliding = _blur_in_tiles("xo", "xo"), _blur_in_tiles("xo", "yi")
    assert buffer_bytes(tiles, "blur_y") == unfolded_bytes(tiles) == 17408
    assert buffer_bytes(sliding, "blur_y") == 1536
    assert unfolded_bytes(sliding) == 0


def test_the_schedule_of_the_blur():
    """Fig. 2 (c), with the largest tile that leaves each of 4 threads one."""
    space = ScheduleSpace(blur(2048, 512), FOUR_CORES, TILES)
    analysis = Segmentation(Pricer.of(space, cost_model("reuse", FOUR_CORES), Limits()), 40.0, 1)
    (found,) = analysis.schedules(analysis.best())
    assert spaces.format_schedule(found, space.pipeline) == (
        "blur_y.tile(x, y, xi, yi, 512, 128).split(xi, xi, xv, 16).vectorize(xv).parallel(y)\n"
        "blur_x.compute_at(blur_y, yi).store_at(blur_y, x).split(x, x, xv, 16).vectorize(xv)"
    )
    assert found in space


def test_stages_with_several_consumers_end_segments():
    """Algorithm 4."""
    a, b, c, d = (Func(name) for name in "abcd")
    a[X, Y] = X + Y
    b[X, Y] = a[X, Y] + a[X, Y + 1]
    c[X, Y] = b[X, Y] + b[X, Y + 1]
    d[X, Y] = c[X, Y] + b[X, Y + 2]
    pipe = pipeline(d, estimates={d: [64, 64]})
    assert with_several_consumers(pipe) == {"b"}
    assert set(segments_of(pipe, frozenset("bd"))) == {frozenset("ab"), frozenset("cd")}
    assert segments_of(pipe, frozenset("d")) == (frozenset("abcd"),)


def test_a_table_is_a_segment_of_its_own():
    pipe = equalized()
    cuts = necessary_cuts(pipe, frozenset())
    unknown = {
        f.name for f in pipe.functions if any(not one.is_known for one in dependences(pipe, f.name))
    }
    assert unknown
    assert unknown <= cuts


def _squeezed(l3_bytes: int) -> Segmentation:
    pipe = long_chain(5, 2048)
    cpu = attrs.evolve(FOUR_CORES, l3_bytes=l3_bytes)
    space = ScheduleSpace(pipe, cpu, Options(root=("strips",)))
    return Segmentation(Pricer.of(space, cost_model("reuse", cpu), Limits()), 40.0, 1)


def test_a_pipeline_that_fits_is_one_segment():
    analysis = _squeezed(8 << 20)
    assert [len(one) for one in analysis.best()] == [5]


def test_segments_fit_the_cache_and_cost_least():
    """Algorithm 5 with max_split = 1 looks at every split of a chain into segments that fit, but
    does not split what fits, and does not enlarge what does not.
    """
    whole = _squeezed(8 << 20)
    names = [f.name for f in whole.space.pipeline.functions]
    footprint = whole.tilings(frozenset(names))[0].footprint
    analysis = _squeezed(int(footprint) - 1)
    found = analysis.best()
    assert len(found) > 1
    assert all(map(analysis.fits, found))

    def fits(first: int, end: int) -> bool:
        return analysis.fits(frozenset(names[first:end]))

    costs = []
    for cuts in itertools.product((False, True), repeat=4):
        ends = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), 5]
        pairs = list(itertools.pairwise(ends))
        is_fit = all(fits(first, until) for first, end in pairs for until in range(first + 1, end))
        is_needed = not any(fits(first, 5) for first, _ in pairs[:-1])
        if is_fit and is_needed and all(itertools.starmap(fits, pairs)):
            parts = [frozenset(names[a:b]) for a, b in pairs]
            costs.append(sum(analysis.tilings(part)[0].cost for part in parts))
    cost = sum(analysis.tilings(part)[0].cost for part in found)
    assert len(costs) > 1
    assert cost == min(costs) < max(costs)


@pytest.mark.parametrize("make", [blur, row_sums, two_outputs, equalized, lambda: long_chain(6)])
def test_what_it_finds_is_legal_and_in_the_space(make) -> None:
    space = ScheduleSpace(make(), FOUR_CORES, Options.medium(FOUR_CORES))
    analysis = Segmentation(Pricer.of(space, cost_model("reuse", FOUR_CORES), Limits()), 40.0, 1)
    found = list(analysis.schedules(analysis.best()))
    assert found
    assert all(one in space for one in found)


def test_it_offers_its_schedule_at_the_cost_of_the_model():
    space = ScheduleSpace(blur(2048, 512), FOUR_CORES)
    done = best(search(space, lambda batch: batch.full(7.0), "reuse-analysis", Limits(top=1)))
    assert [found.cost for found in done.best] == [7.0]
    assert done.structures == 1
    assert done.complete
    events = list(ReuseAnalysis()(space, cost_model("reuse", FOUR_CORES), Limits(top=9)))
    schedules = [one.schedule for one in events[-1].best if isinstance(one, Found)]
    strips = [s for s in schedules if s.of("blur_x").store == LoopLevel("blur_y", "y")]
    assert LoopLevel("blur_y", "yi") in [s.of("blur_x").compute for s in strips]
    assert all(map(math.isfinite, (one.cost for one in events[-1].best)))


def test_it_keeps_given_entries():
    pipe = blur(2048, 512)
    fixed = schedule(pipe).func("blur_x").compute_root().schedule
    entry = fixed.of("blur_x")
    space = ScheduleSpace(pipe, FOUR_CORES, fixed=attrs.evolve(fixed, funcs=(entry,)))
    done = best(search(space, "reuse", "reuse-analysis", Limits(top=2)))
    assert all(one.schedule.of("blur_x") == entry for one in done.best)


def test_it_keeps_to_the_placements_of_the_space():
    space = ScheduleSpace(blur(2048, 512), FOUR_CORES, Options(placements=("root",)))
    events = list(search(space, "reuse", "reuse-analysis", Limits(top=9)))
    assert all(one.schedule.of("blur_x").compute.is_root for one in events[-1].best)


def test_it_is_for_cpus():
    space = ScheduleSpace(blur(), device("sm_80"))
    with pytest.raises(ValueError, match="schedules for CPUs, not for sm_80"):
        list(search(space, "occupancy", "reuse-analysis"))
    with pytest.raises(ValueError, match="smallest"):
        ReuseAnalysis(smallest=0)
