"""Nests that a search runs in strips in the schedule that it has found."""

from __future__ import annotations

import pytest
from attrs import evolve

import spaces
from spaces import Options, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.rewrites.strips import find_strips
from tests.cpus import FOUR_CORES
from tests.enumerate.rewritten import rewritten

MODEL = Reuse(FOUR_CORES)
FOUND = """
out.split(x, x, xb, 64).split(xb, xb, xr, 16).reorder(xb, x, c, y)
out.unroll(xb).vectorize(xr).parallel(y)
spread.compute_root().parallel(y).vectorize(x, 16)
"""
"""A nest over rows, and all of its producer before."""


def far_reads(
    width: int = 16384, outputs: tuple[str, ...] = ("out",), channel: str = "c"
) -> spaces.Pipeline:
    """Sums of values all over a column, of a Func that no cache holds."""
    height = 256
    x, y, c, t = (spaces.Var(name) for name in ("x", "y", channel, "t"))
    image = spaces.ImageParam(spaces.Float32, 3, "image")
    spread, readers = spaces.Func("spread"), [spaces.Func(name) for name in outputs]
    spread[x, y, c, t] = image[x, y, c] * spaces.cast(spaces.Float32, t)
    value, *others = (
        spread[x, spaces.clamp(y * step, 0, height - 1), c, step] for step in range(8)
    )
    for other in others:
        value = value + other
    for reader in readers:
        reader[x, y, c] = value
    size = [width, height, 3]
    return spaces.pipeline(readers, estimates=dict.fromkeys((*readers, image), size))


def in_strips(space: ScheduleSpace, text: str = FOUND) -> spaces.Schedule:
    """The best schedule after a search tried strips."""
    best = rewritten(space, text, MODEL, find_strips)
    assert best.cost == float(MODEL.cost(Batch.of(space.pipeline, best.schedule)))
    return best.schedule


def as_found(pipe: spaces.Pipeline) -> spaces.Schedule:
    return spaces.parse_schedule(FOUND, pipe)


def test_a_large_producer_is_computed_strip_after_strip() -> None:
    """The channels, which the nest reads apart, have strips of their own."""
    pipe = far_reads()
    space = ScheduleSpace(pipe, FOUR_CORES)
    text = """
    out.split(x, x, xb, 64).split(xb, xb, xr, 16).split(x, xs, x, 2).reorder(xr, xb, x, y, c, xs)
    out.fuse(c, xs, xs).unroll(xb).vectorize(xr).parallel(xs)
    spread.compute_at(out, xs).split(x, x, xv, 16).vectorize(xv)
    """
    found = in_strips(space)
    assert found == spaces.parse_schedule(text, pipe)
    assert found in space
    assert spaces.verify(pipe, found, FOUR_CORES)


def test_what_a_cache_holds_stays_at_root() -> None:
    pipe = far_reads(width=256)
    assert in_strips(ScheduleSpace(pipe, FOUR_CORES)) == as_found(pipe)


def test_what_two_nests_read_stays_at_root() -> None:
    """Strips of one nest would not help the other."""
    pipe = far_reads(outputs=("out", "other"))
    assert in_strips(ScheduleSpace(pipe, FOUR_CORES)) == as_found(pipe)


def test_the_loop_over_strips_has_a_name_of_its_own() -> None:
    space = ScheduleSpace(far_reads(channel="xs"), FOUR_CORES)
    found = in_strips(space, FOUND.replace("c,", "xs,"))
    assert str(found.of("spread").compute) == "out.xss"


def test_nests_without_dimensions_have_no_strips() -> None:
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Float32, 2, "image")
    spread, out = spaces.Func("spread"), spaces.Func("out")
    spread[x, y] = image[x, y] * 2.0
    r = spaces.RDom([(0, 4096), (0, 4096)], name="r")
    out[()] = spaces.cast(spaces.Float32, 0)
    out[()] += spread[r.x, r.y] * spread[r.y, r.x]
    pipe = spaces.pipeline(out, estimates={image: [4096, 4096], out: []})
    text = "spread.compute_root()"
    space = ScheduleSpace(pipe, FOUR_CORES)
    assert in_strips(space, text) == spaces.parse_schedule(text, pipe)


def test_the_nests_of_a_chain_are_cut_one_after_the_other() -> None:
    """The last one takes nothing in here; the one before it takes in what it reads."""
    x, y, t = spaces.Var("x"), spaces.Var("y"), spaces.Var("t")
    image = spaces.ImageParam(spaces.Float32, 2, "image")
    first, second, out = spaces.Func("first"), spaces.Func("second"), spaces.Func("out")
    first[x, y, t] = image[x, 255 - y] * spaces.cast(spaces.Float32, t)
    second[x, y, t] = first[x, 255 - y, t] + first[x, y, 7 - t]
    out[x, y] = second[x, 255 - y, 0] + second[x, y, 7]
    size = [65536, 256]
    pipe = spaces.pipeline(out, estimates={image: size, out: size})
    text = """
    out.split(x, x, xb, 64).split(xb, xb, xr, 16).reorder(xb, x, y)
    out.unroll(xb).vectorize(xr).parallel(y)
    second.compute_root().parallel(y).vectorize(x, 16)
    first.compute_root().parallel(y).vectorize(x, 16)
    """
    found = in_strips(ScheduleSpace(pipe, FOUR_CORES), text)
    assert str(found.of("first").compute) == "second.xs"
    assert found.of("out") == spaces.parse_schedule(text, pipe).of("out")
    assert spaces.verify(pipe, found, FOUR_CORES)


@pytest.mark.parametrize("name", ["out", "spread"])
def test_given_funcs_stay(name: str) -> None:
    pipe = far_reads()
    given = as_found(pipe)
    fixed = given.with_funcs((given.of(name),))
    assert in_strips(ScheduleSpace(pipe, FOUR_CORES, fixed=fixed)) == given


def test_spaces_of_patterns_have_no_strips() -> None:
    pipe = far_reads()
    space = ScheduleSpace(pipe, FOUR_CORES, Options.medium(FOUR_CORES))
    assert in_strips(space) == as_found(pipe)


def test_spaces_that_lack_the_schedule_have_no_strips() -> None:
    """Rows are split three times."""
    pipe = far_reads()
    options = evolve(Options.expert(FOUR_CORES), splits=1)
    assert in_strips(ScheduleSpace(pipe, FOUR_CORES, options)) == as_found(pipe)


def test_max_filter_doubles_its_columns_in_strips() -> None:
    """With the tables of heights at root, and few sizes of tiles."""
    cpu, pipe = evolve(FOUR_CORES, l3_bytes=64 << 20), APPS["max_filter"].pipeline()
    tables = ("rows_from_middle", "half_height", "powers_below", "slice_of")
    roots = spaces.parse_schedule("\n".join(f"{one}.compute_root()" for one in tables), pipe)
    given = roots.with_funcs(tuple(roots.of(one) for one in tables))
    options = evolve(Options.expert(cpu), row_tiles=(64,), tiles=(8,), lanes=(1,))
    space = ScheduleSpace(pipe, cpu, options, given)
    found = spaces.best(spaces.search(space, "reuse", "stagewise")).best[0].schedule
    assert str(found.of("doubled").compute) == "output.xs", str(found)
