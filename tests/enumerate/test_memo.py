"""Features and legality with what earlier structures left in the memo are those of a fresh nest."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np
import pytest

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.lattice import legal_mask
from spaces.constraints.sizes.kernels import kernels
from spaces.cost.batch import Batch
from spaces.enumerate.space.decided_part import decided_part, part_alone
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.features.extraction import FeatureMemo, extract_features
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Variable, cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.regions import UnboundedError
from spaces.model.memo import Memo
from spaces.model.nest.bounds import Bounds, KnownBounds
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples, some
from tests.small_space import small_space

CPU, GPU = FOUR_CORES, device("sm_80")


def _walked(space: ScheduleSpace, seed: int, count: int) -> Iterator[Schedule]:
    """The first structures, then random ones, then some of both again."""
    chosen = random.Random(seed)
    first = [structure.schedule for structure in islice(space.structures(), count)]
    drawn = [space.start().at_random(chosen).schedule for _ in range(count)]
    yield from (*first, *drawn, *first[::3], *drawn[::3])


def _features(algorithm: Pipeline, schedule: Schedule, memo: FeatureMemo | None) -> object:
    try:
        return extract_features(algorithm, schedule, memo)
    except (LevelError, UnboundedError) as error:
        return str(error)


@pytest.mark.parametrize("target", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", some(["blur", "unsharp", "harris", "hist", "iir_blur"]))
def test_features_with_a_memo_are_those_of_a_fresh_nest(name: str, target: Device):
    """With a memo that keeps all, and with one that keeps five entries of each kind."""
    algorithm = APPS[name].pipeline()
    space = small_space(algorithm, target)
    large, small = (
        FeatureMemo(
            NestMemo(
                KnownBounds(
                    Memo(most),
                    Memo(most),
                    Memo(most),
                    Memo(most),
                    KnownForms(most),
                    Memo(most),
                    Memo(most),
                    Memo(most),
                )
            ),
            Memo(most),
            Memo(most),
            Memo(most),
            Memo(most),
        )
        for most in (4096, 5)
    )
    fresh = cache(lambda schedule: _features(algorithm, schedule, None))
    for schedule in _walked(space, seed=5, count=4):
        assert _features(algorithm, schedule, large) == fresh(schedule)
        assert _features(algorithm, schedule, small) == fresh(schedule)


def test_a_memo_tells_fused_loops_from_the_same_loops_alone():
    """``across`` is longer than ``down``, so ``down`` in its loops has other features than alone,
    and so has ``source`` inside them.
    """
    x, y = Var("x"), Var("y")
    source, across, down, out = Func("source"), Func("across"), Func("down"), Func("out")
    source[x, y] = x * y
    across[x, y] = source[x, y] + source[x, y + 8]
    down[x, y] = source[x, y] + source[x, y + 1]
    out[x, y] = across[x, y] + across[x, y + 5] + down[x, y]
    algorithm = pipeline(out, estimates={out: [(0, 64), (0, 64)]})
    memo = FeatureMemo()
    ends = ("", ".compute_with(down, y)", ".compute_with(down, y, LoopAlignStrategy::AlignEnd)")
    texts = [
        f"down.compute_root(){order}; across.compute_root(){end}; source.{level};"
        for level in ("compute_at(down, y)", "compute_root()")
        for order in ("", ".parallel(y)")
        for end in ends
    ]
    seen = []
    for text in (*texts, *texts[::-1]):
        schedule = parse_schedule(text, algorithm)
        found = _features(algorithm, schedule, memo)
        assert found == _features(algorithm, schedule, None)
        seen += [] if found in seen else [found]
    assert len(seen) > 6


@pytest.mark.parametrize("target", [CPU, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("name", ["unsharp", "hist"])
def test_masks_with_a_memo_are_those_of_a_fresh_nest(name: str, target: Device):
    algorithm = APPS[name].pipeline()
    space = small_space(algorithm, target)
    memo = FeatureMemo()
    for structure in islice(space.structures(), 12):
        columns = {
            name: np.array(menu[: 2 if place < 10 else 1])
            for place, (name, menu) in enumerate(structure.menus.items())
        }
        columns = {
            name: column.reshape((-1, *(1,) * place))
            for place, (name, column) in enumerate(columns.items())
        }
        once = legal_mask(algorithm, structure.schedule, target, columns)
        again = legal_mask(algorithm, structure.schedule, target, columns, memo=memo.nests)
        assert np.array_equal(once, again)


def test_a_change_of_the_last_func_places_no_other_func_again():
    algorithm = APPS["unsharp"].pipeline()
    space = small_space(algorithm, CPU)
    memo = FeatureMemo()
    first, second = (structure.schedule for structure in islice(space.structures(), 2))
    changed = [a.name for a, b in zip(first.funcs, second.funcs, strict=True) if a != b]
    assert len(changed) == 1
    extract_features(algorithm, first, memo)
    made = len(memo.nests.known.placements)
    extract_features(algorithm, second, memo)
    assert made > 1
    assert len(memo.nests.known.placements) <= made + 1


def test_funcs_below_different_readers_that_demand_the_same_are_placed_once():
    algorithm = APPS["unsharp"].pipeline()
    memo = FeatureMemo()
    for change in ("", ".parallel(y)", ".reorder(y, x)"):
        text = f"ratio.compute_root(){change}; gray.compute_root();"
        extract_features(algorithm, parse_schedule(text, algorithm), memo)
    known = memo.nests.known
    names = [entry.value.function.name for entry in known.demanded.entries]
    assert names.count("ratio") == 3
    assert names.count("gray") == 1
    assert len(known.placements) > len(known.demanded)


def test_a_reader_that_inlines_a_func_reads_elsewhere():
    """``ignoring`` reads nothing, so only its coordinate makes ``out`` read ``source`` at ``x``."""
    x, i = Var("x"), Var("i")
    source, ignoring, out = Func("source"), Func("ignoring"), Func("out")
    source[x] = x * x
    ignoring[i] = 7
    out[x] = ignoring[fn.clamp(source[x], 0, 9)] + source[x + 5]
    algorithm = pipeline(out, estimates={out: [(0, 100)]})
    memo = FeatureMemo()
    for text in ("ignoring.compute_root(); source.compute_root();", "source.compute_root();"):
        schedule = parse_schedule(text, algorithm)
        found = extract_features(algorithm, schedule, memo)
        assert found == extract_features(algorithm, schedule)
    (extent,) = found.read_ints(algorithm.sizes()).func("source").required
    assert extent == 100


def test_bounds_of_one_structure_are_made_once():
    algorithm = APPS["blur"].pipeline()
    memo = NestMemo()
    first, second = (s.schedule for s in islice(small_space(algorithm, CPU).structures(), 2))
    bounds = memo.bounds(algorithm, first)
    assert memo.bounds(algorithm, first) is bounds
    assert memo.bounds(algorithm, second).schedule is second
    assert memo.bounds(algorithm, first, (Variable(Int32, "t") > 0,)).assumptions


def test_what_is_read_of_images_is_that_of_a_fresh_nest():
    algorithm = APPS["harris"].pipeline()
    memo = NestMemo()
    for schedule in _walked(small_space(algorithm, CPU), 1, 4):
        assert memo.bounds(algorithm, schedule).inputs == Bounds(algorithm, schedule).inputs
    assert len(memo.known.images) > 1


@pytest.mark.parametrize("name", ["harris", "hist", "bilateral_grid"])
def test_bounds_of_decided_parts_are_those_of_a_fresh_nest(name: str):
    """Each part is a pipeline of its own; the memo is the same."""
    space, chosen, memo = small_space(APPS[name].pipeline(), CPU), random.Random(2), NestMemo()
    for _ in range(examples(3, fewest=2)):
        partial = space.start()
        while not partial.is_complete:
            partial = partial.take(chosen.choice(partial.options))
            entries = partial.state.entries
            if partial.state.draft is not None or not entries:
                continue
            part = decided_part(space.pipeline, frozenset(e.name for e in entries))
            schedule = Schedule(entries, part.derivations)
            found, fresh = (_bounds(part, schedule, known) for known in (memo.known, None))
            assert found == fresh
    assert len(memo.known.placements) > 5


def _bounds(part: Pipeline, schedule: Schedule, known: KnownBounds | None) -> object:
    try:
        bounds = Bounds(part, schedule, (), known)
        return bounds.placements, bounds.inputs
    except (LevelError, UnboundedError) as error:
        return str(error)


def test_a_memo_tells_sizes_apart_of_which_more_is_known():
    """Tiles of eight that shift inwards need an output of eight values; ``f`` then has more than
    its tile of four.
    """
    x, f, out = Var("x"), Func("f"), Func("out")
    f[x] = x * x
    out[x] = f[x] + f[x + 1]
    algorithm, memo = pipeline(out), KnownBounds()
    found = []
    for outer in ("out.split(x, xo, xi, 8);", ""):
        schedule = parse_schedule(f"{outer} f.compute_root().split(x, xo, xi, 4);", algorithm)
        known, fresh = (Bounds(algorithm, schedule, (), m).placements["f"] for m in (memo, None))
        assert known == fresh
        found.append(fresh)
    assert found[0] != found[1]


def test_what_a_func_computes_bounds_what_is_read_at_its_values():
    """An open Func may have any value of its type."""
    x = Var("x")
    index, table, out = Func("index"), Func("table"), Func("out")
    index[x] = cast(UInt8, x % 10)
    table[x] = x * x
    out[x] = table[cast(Int32, index[x])]
    algorithm = pipeline(out, estimates={out: [100]})
    memo = NestMemo()
    extents = []
    for decided in ({"out", "table"}, {"out", "table", "index"}):
        part = decided_part(algorithm, frozenset(decided))
        text = "".join(f"{name}.compute_root();" for name in sorted(decided))
        bounds = memo.bounds(part, parse_schedule(text, part))
        extents.append(str(bounds.allocations["table"].extents[0]))
    assert extents == ["256", "10"]


def test_a_memo_keeps_what_was_asked_for_last():
    memo = Memo[str](2)
    for key in ("a", "b"):
        memo.keep(key, key.upper())
    assert memo.find("a") is not None
    memo.keep("c", "C")
    kept = [None if (found := memo.find(key)) is None else found.value for key in "abc"]
    assert kept == ["A", None, "C"]


def test_numbers_in_a_memo_are_never_given_again():
    memo = Memo[str](1)
    numbers = [memo.keep(key, key).number for key in ("a", "b", "a")]
    assert len(set(numbers)) == 3


def test_what_readers_demand_is_found_once_for_all_loops_of_a_func():
    algorithm = APPS["unsharp"].pipeline()
    memo = FeatureMemo()
    changes = ("", ".parallel(y)", ".split(y, yo, yi, 8)", ".reorder(y, x)")
    for change in changes:
        text = f"ratio.compute_root(); gray.compute_root(){change};"
        schedule = parse_schedule(text, algorithm)
        assert extract_features(algorithm, schedule, memo) == extract_features(algorithm, schedule)
    known = memo.nests.known
    names = [entry.value.function.name for entry in known.demanded.entries]
    assert names.count("gray") == len(changes)
    assert len(known.sites) == len(set(names))


def test_a_memo_of_features_knows_the_sizes_of_images() -> None:
    """The same output of an image of another size: a clamp at its edge reads less of a Func."""
    image, f, out = ImageParam(UInt8, 2, "image"), Func("f"), Func("out")
    x, y = Var("x"), Var("y")
    f[x, y] = image[x, y] // 2
    out[x, y] = f[fn.clamp(x * 2, 0, image.width() - 1), y]
    pipe = pipeline(out, estimates={image: [100, 50], out: [200, 50]})
    at_root, memo = parse_schedule("f.compute_root()", pipe), FeatureMemo()
    for width in (100, 30):
        sizes = {**pipe.sizes(), "image.extent.0": width}
        found = Batch.of(pipe, at_root, sizes=sizes, memo=memo).features
        assert found.func("f").required == (width, 50)


def test_a_memo_of_features_knows_the_sizes_of_outputs() -> None:
    """Outputs that end at the same coordinate and begin elsewhere, and a longer one."""
    f, out, x = Func("f"), Func("out"), Var("x")
    f[x] = x * x
    out[x] = f[x] + f[2 * x]
    pipe = pipeline(out, estimates={out: [100]})
    text = "out.split(x, xo, xi, 4); f.compute_at(out, xo);"
    schedule, memo = parse_schedule(text, pipe), FeatureMemo()
    for low, extent in ((0, 12), (8, 4), (0, 16), (0, 12)):
        sizes = {"out.min.0": low, "out.extent.0": extent}
        found = Batch.of(pipe, schedule, sizes=sizes, memo=memo).features
        assert found == Batch.of(pipe, schedule, sizes=sizes).features
        assert found.func("out").required == (extent,)


def test_parts_with_other_outputs_have_their_placements_in_common() -> None:
    """What ``far`` needs does not depend on whether ``near`` is an output, too."""
    x, far, near, out = Var("x"), Func("far"), Func("near"), Func("out")
    far[x] = x * x
    near[x] = far[x] + far[x + 1]
    out[x] = near[x] * 2
    whole = pipeline(out, estimates={out: [100]})
    memo, every = FeatureMemo(), frozenset({"far", "near", "out"})
    schedule = parse_schedule("near.compute_root(); far.compute_at(near, x);", whole)
    for names, outputs in ((every, {"out"}), (every - {"out"}, {"near"}), (every, {"out"})):
        part = part_alone(whole, names, frozenset(outputs))
        own = schedule.with_funcs(one for one in schedule.funcs if one.name in names)
        found = Batch.of(part, own, memo=memo).features
        assert found == Batch.of(part, own).features
    kept = [entry.value.function.name for entry in memo.nests.known.demanded.entries]
    assert (kept.count("near"), kept.count("out")) == (2, 1)  # one of them is an output


def test_a_memo_tells_sizes_in_long_loops_from_those_in_short_ones():
    """The triangle of ``g`` that each line reads grows with the loop over lines."""
    x, y = Var("x"), Var("y")
    g, out = Func("g"), Func("out")
    g[x, y] = x * y
    out[x, y] = g[x, y] + g[x, 2 * y]
    algorithm = pipeline(out, estimates={out: [64, 16]})
    memo = NestMemo()
    for lines in (4, 8, 16):
        text = f"out.bound(y, 0, {lines}).reorder(y, x).gpu_blocks(x);g.compute_at(out, y);"
        schedule = parse_schedule(text, algorithm)
        (kernel,) = kernels(memo.bounds(algorithm, schedule))
        (shared,) = kernel.shared
        assert [evaluate(extent, {}) for extent in shared.extents] == [1, lines]
