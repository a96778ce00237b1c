"""Patterns of users that do not fit a stage: each mistake gets a sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from attrs import evolve

from spaces import (
    DomainOrder,
    Expr,
    Float32,
    Float64,
    Func,
    Fuse,
    ImageParam,
    LoopKind,
    Options,
    OrderedLoop,
    Pattern,
    PatternError,
    Pipeline,
    RDom,
    Schedule,
    ScheduleSpace,
    Shape,
    Split,
    Tail,
    UInt8,
    Var,
    best,
    cast,
    clamp,
    device,
    format_schedule,
    pipeline,
    register_pattern,
    search,
    sqrt,
)
from spaces.apps.catalog import APPS
from spaces.enumerate.space.patterns.cpu import plane_sums_in_registers
from spaces.enumerate.space.patterns.lanes import funcs_off_rows
from spaces.enumerate.space.patterns.menus import func_menus
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.model.schedules.schedule import ROOT, Bound
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

SERIAL, UNROLLED, VECTORIZED = LoopKind.SERIAL, LoopKind.UNROLLED, LoopKind.VECTORIZED
X, Y = OrderedLoop("x"), OrderedLoop("y")
XO, XI = OrderedLoop("xo"), OrderedLoop("xi")


pytestmark = pytest.mark.usefixtures("known_patterns")


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ("y", "Pattern own makes a str of stage 0 of blur_y; it returns a Pattern, or None"),
        (
            Pattern(DomainOrder(loops=(X,)), ()),
            "Pattern own orders the loops x of stage 0 of blur_y; it has x, y, each once.",
        ),
        (
            Pattern(DomainOrder((Fuse("x", "z", "t"),), (OrderedLoop("t"), Y)), ()),
            "Pattern own splits or fuses z of stage 0 of blur_y, which has only the loops x, y",
        ),
        (
            Pattern(DomainOrder((Split("x", "xo", "xi", "width"),), (Y, XO, XI)), ()),
            "Pattern own has no numbers to choose from for factor width of stage 0 of blur_y",
        ),
    ],
)
def test_a_wrong_pattern_gets_a_sentence(made: object, sentence: str) -> None:
    register_pattern("own", lambda shape: made)
    space = ScheduleSpace(blur(), FOUR_CORES, Options(root=("own",), placements=("inline",)))
    with pytest.raises(PatternError, match="^" + sentence):
        list(space)


def test_a_pattern_that_fits_makes_schedules() -> None:
    def own(shape: Shape) -> Pattern:
        loops = (OrderedLoop(name) for name in (*shape.free, *shape.bound))
        return Pattern(DomainOrder(loops=tuple(loops)), ())

    register_pattern("own", own)
    space = ScheduleSpace(blur(), FOUR_CORES, Options(root=("own",), placements=("inline",)))
    (schedule,) = space
    assert schedule.of("blur_y").stages[0].names == ("x", "y")


def test_names_and_kinds_of_patterns_are_checked() -> None:
    with pytest.raises(ValueError, match="nests is a pattern that decides loop by loop"):
        register_pattern("nests", lambda shape: None)
    with pytest.raises(TypeError, match="takes a function from a Shape to a Pattern, not an int"):
        register_pattern("own", 3)  # type: ignore[arg-type]


def test_sums_are_searched_in_blocks_of_registers() -> None:
    """As in the schedule by hand of a product of matrices: a block of the output in registers."""
    cpu = FOUR_CORES
    space = ScheduleSpace(APPS["sgemm"].pipeline(), cpu, Options.medium(cpu))
    found = best(search(space)).best[0].schedule
    text = format_schedule(found, space.pipeline)
    product = found.of("product")
    assert product.compute.func == "output", text
    assert product.store == product.compute, text
    block = [loop.kind for loop in product.stages[1].loops]
    assert block == [SERIAL, UNROLLED, UNROLLED, VECTORIZED], text


def test_lines_that_scatter_are_counted_side_by_side() -> None:
    """As in the schedule by hand of hist: counts of several lines do not wait for each other."""
    cpu = FOUR_CORES
    few = evolve(Options.medium(cpu), row_tiles=(64,), tiles=(8,), lanes=(1,))
    space = ScheduleSpace(APPS["hist"].pipeline(), cpu, few)
    found = best(search(space)).best[0].schedule.of("lines")
    kinds = [(loop.name, loop.kind) for loop in found.stages[1].loops]
    assert kinds[-2:] == [("across.x", SERIAL), ("yi", UNROLLED)], str(found)
    pure = [loop.kind for loop in found.stages[0].loops]
    assert pure[-1] is VECTORIZED, str(found)


def test_lines_that_scan_are_computed_side_by_side() -> None:
    """As running sums along rows: vectors across rows would touch a line of memory for each lane.
    Where the sums run across rows, vectors lie along rows.
    """
    for along_rows in (True, False):
        image, sums = ImageParam(Float64, 2, "image"), Func("sums")
        x, y = Var("x"), Var("y")
        sums[x, y] = image[x, y]
        r = RDom([(1, 2047)], "r")
        if along_rows:
            sums[r, y] += sums[r - 1, y]
        else:
            sums[x, r] += sums[x, r - 1]
        pipe = pipeline(sums, estimates={sums: [2048, 2048], image: [2048, 2048]})
        space = ScheduleSpace(pipe, FOUR_CORES, Options.medium(FOUR_CORES))
        found = best(search(space)).best[0].schedule.of("sums")
        kinds = [loop.kind for loop in found.stages[1].loops]
        assert (VECTORIZED in kinds) is not along_rows, str(found)
        assert LoopKind.PARALLEL in kinds, str(found)


def test_channels_are_unrolled_around_vectors() -> None:
    gray, out = Func("gray"), Func("out")
    image = ImageParam(UInt8, 3, "image")
    x, y, c = Var("x"), Var("y"), Var("c")
    gray[x, y] = sqrt(cast(Float32, image[x, y, 0]) * 0.3 + cast(Float32, image[x, y, 1]) * 0.7)
    out[x, y, c] = gray[x, y] * image[x, y, c]
    pipe = pipeline(out, estimates={out: [1024, 512, 3], image: [1024, 512, 3]})
    found = (
        best(search(ScheduleSpace(pipe, FOUR_CORES, Options.medium(FOUR_CORES))))
        .best[0]
        .schedule.of("out")
    )
    text = str(found)
    assert found.bounds == (Bound("c", 0, 3),), text
    *_, channels, vector = found.stages[0].loops
    assert (channels.name, channels.kind, vector.kind) == ("c", UNROLLED, VECTORIZED), text


def _summed(channels: int, size: int) -> ScheduleSpace:
    """Sums of three neighboring pixels, a few channels of each; and what reads the sums."""
    c, x, y, n = Var("c"), Var("x"), Var("y"), RDom([(0, 3)], name="n")
    image = ImageParam(Float32, 3, "image")
    summed, out = Func("summed"), Func("out")
    summed[c, x, y] = 0.0
    summed[c, x, y] += image[c, x + n.x, y]
    out[c, x, y] = sqrt(summed[c, x, y])
    sizes = {out: [channels, size, size]}
    return ScheduleSpace(pipeline(out, estimates=sizes), FOUR_CORES, Options.medium(FOUR_CORES))


def test_a_narrow_innermost_dimension_is_one_vector() -> None:
    """As wide as it is, whatever the lanes of a register; and sums at root stay in registers."""
    space = _summed(12, 256)
    menu = space.menus["summed"]
    (order,) = {orders[1] for name, orders in menu.root.items() if name == "sums_in_registers"}
    names = [loop.name for loop in order.loops]
    assert names == ["y", "x", "c", "n.x", "xb", "cr"]
    assert order.loops[0].kind is LoopKind.PARALLEL
    assert order.loops[-1].kind is VECTORIZED
    (lanes,) = {menu.factors[one.factor] for one in order.splits if one.inner == "cr"}
    assert lanes == (12,)


def test_vectors_go_along_the_next_dimension_where_rows_have_one_value() -> None:
    menu = _summed(1, 256).menus["summed"]
    (order,) = {orders[1] for name, orders in menu.root.items() if name == "sums_in_registers"}
    assert [loop.name for loop in order.loops] == ["y", "c", "x", "n.x", "yb", "xr"]
    assert order.loops[-1].kind is VECTORIZED
    assert all(
        any(loop.kind is VECTORIZED for loop in orders[1].loops)
        for name, orders in menu.inner.items()
        if name != "serial"
    )


def test_threads_of_a_gpu_take_other_tiles_than_a_narrow_dimension() -> None:
    gpu = device("sm_80")
    options = Options.medium(gpu)
    space = ScheduleSpace(_summed(12, 256).pipeline, gpu, options)
    menu = space.menus["out"]
    (orders,) = (orders for name, orders in menu.root.items() if name == "blocks")
    widths = {menu.factors[one.factor] for one in orders[0].splits}
    assert widths == {options.row_tiles, options.tiles}


def test_dimensions_that_are_all_short_have_patterns() -> None:
    assert next(iter(_summed(12, 8)))


@pytest.mark.parametrize("columns", [32, 24])
def test_sums_stay_in_registers_whatever_the_size_is(columns: int) -> None:
    """24 columns are no multiple of a vector of 16: the block is legal for each number alone, not
    for all at once.
    """
    features, weights = ImageParam(Float32, 2, "features"), ImageParam(Float32, 2, "weights")
    product, out = Func("product"), Func("out")
    j, i = Var("j"), Var("i")
    k = RDom([(0, 64)], "k")
    product[j, i] += features[k, i] * weights[j, k]
    out[j, i] = sqrt(product[j, i])
    sizes = {features: [64, 100_000], weights: [columns, 64], out: [columns, 100_000]}
    wide = evolve(FOUR_CORES, vector_bits=512)
    space = ScheduleSpace(pipeline(out, estimates=sizes), wide, Options.medium(wide))
    found = best(search(space)).best[0].schedule.of("product")
    kinds = [loop.kind for loop in found.stages[1].loops]
    assert kinds[:2] == [SERIAL, UNROLLED], str(found)
    assert kinds[-1] is VECTORIZED, str(found)


def test_output_channels_share_what_they_read() -> None:
    """In a convolution whose rows are innermost, a block of registers goes across channels; the
    image, half a megabyte, stays in the second cache.
    """
    device = evolve(FOUR_CORES, l2_bytes=1 << 20, vector_bits=512)
    image, weights = ImageParam(Float32, 3, "image"), ImageParam(Float32, 4, "weights")
    layer, out = Func("layer"), Func("out")
    x, y, c = Var("x"), Var("y"), Var("c")
    r = RDom([(0, 32), (0, 3), (0, 3)], "r")
    layer[x, y, c] += image[x + r.y, y + r.z, r.x] * weights[r.x, r.y, r.z, c]
    out[x, y, c] = sqrt(layer[x, y, c])
    sizes = {image: [66, 66, 32], weights: [32, 3, 3, 64], out: [64, 64, 64]}
    space = ScheduleSpace(pipeline(out, estimates=sizes), device, Options.medium(device))
    found = best(search(space)).best[0].schedule.of("out")
    assert ("cb", UNROLLED) in [(one.name, one.kind) for one in found.stages[0].loops], str(found)


def test_vectors_go_along_pixels_whose_colours_lie_side_by_side() -> None:
    """The first dimension has three values: no vectors fit it."""
    x, y, c = Var("x"), Var("y"), Var("c")
    image, out = ImageParam(UInt8, 2, "image"), Func("out")
    out[c, x, y] = cast(UInt8, image[x, y] * (c + 1))
    sizes = {image: [640, 480], out: [3, 640, 480]}
    options = Options.medium(FOUR_CORES)
    space = ScheduleSpace(pipeline(out, estimates=sizes), FOUR_CORES, options)
    loops = best(search(space)).best[0].schedule.of("out").stages[0].loops
    assert [one.kind for one in loops if one.name == "c"] == [UNROLLED], str(loops)
    assert loops[-1] == OrderedLoop("xv", VECTORIZED)


@pytest.mark.parametrize("across", [True, False])
def test_vectors_across_rows_may_have_fewer_lanes_than_a_register(across: bool) -> None:
    image, total = ImageParam(Float32, 2, "image"), Func("total")
    i, k = Var("i"), RDom([(0, 512)], "k")
    total[i] = cast(Float32, 0)
    total[i] += image[k, i] if across else image[i, k]
    sizes = {image: [512, 512], total: [512]}
    options = Options.medium(FOUR_CORES)
    space = ScheduleSpace(pipeline(total, estimates=sizes), FOUR_CORES, options)
    shape = stage_shapes(space.pipeline, FOUR_CORES, options)["total"][1]
    assert shape.menus["register"] == ((2, 4, 8) if across else (8,))
    assert shape.menus["lanes"] == ((2, 4, 8, 16) if across else (8, 16))


def _box_sums(size: int, image_size: int | None, is_clamped: bool = False) -> ScheduleSpace:
    """Sums of 7 values along rows, and of 7 of these; the image ends with what they read, or has
    the given size.
    """
    x = Var("x")
    image, line, twice, out = ImageParam(Float32, 1, "image"), *map(Func, ("line", "twice", "out"))
    r, s = RDom([(0, 7)], "r"), RDom([(0, 7)], "s")
    column = x + r
    line[x] += image[clamp(column, 0, image.width() - 1) if is_clamped else column]
    twice[x] += line[x + s]
    out[x] = sqrt(twice[x])
    sizes = {image: [image_size or size + 12], out: [size]}
    made = pipeline(out, estimates=sizes)
    return ScheduleSpace(made, FOUR_CORES, Options.medium(FOUR_CORES))


def _tails(space: ScheduleSpace, name: str) -> set[Tail]:
    """The tails of the first update of a Func in its inner patterns."""
    menus = func_menus(space.pipeline, FOUR_CORES, space.options, Schedule(()))
    orders = [one[1] for one in menus[name].inner.values()]
    return {split.tail for order in orders for split in order.splits if isinstance(split, Split)}


def test_updates_guard_their_tails_where_an_image_ends() -> None:
    """What reads an image has no other tails, what reads only sums has both."""
    space = _box_sums(1000, None)
    assert _tails(space, "line") == {Tail.GUARD_WITH_IF}
    assert _tails(space, "twice") == {Tail.AUTO, Tail.GUARD_WITH_IF}


@pytest.mark.parametrize(
    "space",
    [
        _box_sums(1000, 2000),
        _box_sums(1000, None, is_clamped=True),
    ],
    ids=["room", "clamped"],
)
def test_updates_round_up_where_no_image_ends(space: ScheduleSpace) -> None:
    assert _tails(space, "line") == _tails(space, "twice") == {Tail.AUTO}


@pytest.mark.parametrize(
    ("size", "guarded"), [((1024, 1001), "y"), ((1000, 1024), "x"), ((1000, 1001), "xy")]
)
def test_only_dimensions_with_a_tail_are_guarded(size: tuple[int, int], guarded: str) -> None:
    x, y = Var("x"), Var("y")
    image, total, out = ImageParam(Float32, 2, "image"), Func("total"), Func("out")
    r = RDom([(0, 7)], "r")
    total[x, y] += image[x, y + r]
    out[x, y] = sqrt(total[x, y])
    made = pipeline(out, estimates={image: [size[0], size[1] + 6], out: list(size)})
    menus = func_menus(made, FOUR_CORES, Options.medium(FOUR_CORES), Schedule(()))
    tiles = menus["total"].root["tiles"][1].splits
    found = {split.old[0] for split in tiles if split.tail is Tail.GUARD_WITH_IF}
    assert found == set(guarded)


def test_short_rows_have_no_tail() -> None:
    """Colours side by side are no row that a vector goes over the end of."""
    x, c = Var("x"), Var("c")
    image, twice, line, out = ImageParam(Float32, 2, "image"), *map(Func, ("twice", "line", "out"))
    r = RDom([(0, 7)], "r")
    twice[c, x] = image[c, x] * 2
    line[x] += twice[0, x + r] + twice[2, x + r]
    out[x] = sqrt(line[x])
    made = pipeline(out, estimates={image: [3, 1024 + 6], out: [1024]})
    space = ScheduleSpace(made, FOUR_CORES, Options.medium(FOUR_CORES))
    assert _tails(space, "line") == {Tail.AUTO}


@pytest.mark.parametrize("shared", [True, False])
def test_blocks_go_across_planes_that_share_what_they_read(shared: bool) -> None:
    """A batch of products shares neither matrix; with one matrix for all, its rows are shared."""
    j, i, b = Var("j"), Var("i"), Var("b")
    left, right = ImageParam(Float32, 3, "left"), ImageParam(Float32, 2 if shared else 3, "right")
    product, k = Func("product"), RDom([(0, 64)], "k")
    product[j, i, b] += left[k, i, b] * (right[j, k] if shared else right[j, k, b])
    sizes = {left: [64] * 3, right: [64] * (2 if shared else 3), product: [64] * 3}
    options = Options.medium(FOUR_CORES)
    space = ScheduleSpace(pipeline(product, estimates=sizes), FOUR_CORES, options)
    shape = stage_shapes(space.pipeline, FOUR_CORES, options)["product"][1]
    assert (plane_sums_in_registers(shape) is not None) == shared


def test_sums_of_sums_stay_near_their_readers_whatever_the_size_is() -> None:
    """With tails that round up, both sums were legal at root only."""
    found = best(search(_box_sums(1_000_001, None))).best[0].schedule
    assert not found.of("line").compute.is_root
    assert not found.of("twice").compute.is_root


def test_sums_of_a_few_images_run_in_parallel() -> None:
    image, sums, output = ImageParam(UInt8, 3, "image"), Func("sums"), Func("output")
    n = Var("n")
    r = RDom([(0, 1024), (0, 768)], "r")
    sums[n] += cast(Float32, image[r.x, r.y, n])
    output[n] = sums[n] / 2.0
    pipe = pipeline(output, estimates={output: [10], image: [1024, 768, 10]})
    space = ScheduleSpace(pipe, FOUR_CORES, Options.medium(FOUR_CORES))
    found = best(search(space)).best[0].schedule
    kinds = {loop.kind for order in found.of("sums").stages for loop in order.loops}
    around = {loop.kind for order in found.of("output").stages for loop in order.loops}
    assert LoopKind.PARALLEL in kinds | around, format_schedule(found, pipe)


def butterfly() -> Pipeline:
    """Each value plus the one whose place differs in one bit, twice."""
    signal, x, y = ImageParam(Float32, 2, "signal"), Var("x"), Var("y")
    before = signal
    for bit in (1, 2):
        step = Func(f"step_{bit}")
        step[x, y] = before[x, y] + before[x ^ bit, y]
        before = step
    output = Func("output")
    output[x, y] = before[x, y]
    return pipeline(output, estimates={output: [64, 4096], signal: [64, 4096]})


def test_lines_in_lanes_are_neighbors_in_storage() -> None:
    """Where a line is read in jumps, vectors may go across lines, and storage follows them."""
    pipe = butterfly()
    menus = func_menus(pipe, FOUR_CORES, Options.medium(FOUR_CORES), Schedule(()))
    assert "strips_across" not in menus["output"].root
    for name in ("step_1", "step_2"):
        menu = menus[name]
        across = menu.scheduled(menu.inner["vectors_across"], ROOT, ROOT)
        assert across.storage_orders == (("y", "x"),)
        assert across.stages[0].loops[-1] == OrderedLoop("yv", VECTORIZED)
        along = menu.scheduled(menu.inner["vectors"], ROOT, ROOT)
        assert along.storage_orders == ()
    decided = evolve(Options.medium(FOUR_CORES), directives=("reorder_storage",))
    menu = func_menus(pipe, FOUR_CORES, decided, Schedule(()))["step_1"]
    assert menu.scheduled(menu.inner["vectors_across"], ROOT, ROOT).storage_orders == ()


@pytest.mark.parametrize(
    ("coordinate", "jumps"),
    [
        (lambda x: x, False),
        (lambda x: clamp(x - 3, 0, 63), False),
        (lambda x: 2 * x + 1, False),
        (lambda x: x / 2, False),
        (lambda x: (x >> 1) + 3, False),
        (lambda x: x % 8, True),
        (lambda x: (x & 7) * 8, True),
        (lambda x: x ^ 4, True),
    ],
)
def test_lines_read_in_jumps_are_found(coordinate: Callable[[Expr], Expr], jumps: bool) -> None:
    image, x, y = ImageParam(Float32, 2, "image"), Var("x"), Var("y")
    read, other, output = Func("read"), Func("other"), Func("output")
    read[x, y] = image[x, y] + 1.0
    other[x, y] = image[x, y] + 2.0
    output[x, y] = read[coordinate(x), y] + other[x, y]
    found = funcs_off_rows(pipeline(output, estimates={output: [64, 64], image: [256, 64]}))
    assert found == ({"read", "output"} if jumps else set())


@pytest.mark.parametrize(("row", "lanes"), [(16, 16), (45, 32), (60, 32), (64, 64), (300, 64)])
def test_rows_shorter_than_a_vector_register_have_vectors_that_fit(row: int, lanes: int) -> None:
    """An image of the very size that its output needs has room for no wider vector of bytes."""
    x, y = Var("x"), Var("y")
    photo, twice, out = ImageParam(UInt8, 2, "photo"), Func("twice"), Func("out")
    twice[x, y] = photo[x, y] * 2
    twice[x, y] += photo[x, y] >> 1
    out[x, y] = twice[x, y] ^ photo[x, y]
    made = pipeline(out, estimates={"photo": [row, 30], "out": [row, 30]})
    wide = evolve(FOUR_CORES, vector_bits=512)
    (first,) = best(search(ScheduleSpace(made, wide, Options.small(wide)))).best
    for stage in (*first.schedule.of("twice").stages, *first.schedule.of("out").stages):
        (vector,) = (s for s in stage.splits if stage.kind(s.inner) is VECTORIZED)
        assert lanes <= vector.factor <= row
