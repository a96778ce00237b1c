"""Messages derive their numbers; the numbers here are computed by hand."""

import pytest
from attrs import evolve

from spaces import Func, ImageParam, Int32, RDom, Var, cast, device, pipeline, verify
from spaces.constraints.devices.device import Device
from spaces.constraints.examples import algorithms
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.writing.text import parse_schedule
from tests.constraints import pipelines

BLUR = algorithms.blur()
SIZED = algorithms.blur(1536, 2560)
CPU, SM75, SM80 = device("cpu"), device("sm_75"), device("sm_80")


def message(text: str, on: Device, pipeline: Pipeline = BLUR) -> str:
    """The message of the only violation."""
    (violation,) = verify(pipeline, parse_schedule(text, pipeline), on).violations
    return violation.message


def test_a_block_that_a_stencil_widens_along_both_dimensions():
    text = "q.gpu_tile(x, y, xi, yi, 32, 32)\np.compute_at(q, x).gpu_threads(x, y)"
    assert message(text, SM80, algorithms.corner()) == (
        "The kernel of q (block loops x, y) has 33 x 33 = 1089 threads a block, because p must "
        "cover q's tile of 32 x 32 plus 1 along x and 1 along y; sm_80 allows 1024 (compute "
        "capability 8.0, CUDA C++ Programming Guide). Choose a smaller tile, such as 30 x 32 or "
        "32 x 30, or let each thread compute several values in a serial loop."
    )


@pytest.mark.parametrize("tile", ["30, 32", "32, 30"])
def test_tiles_that_are_suggested_fit(tile: str):
    pipeline = algorithms.corner()
    text = f"q.gpu_tile(x, y, xi, yi, {tile})\np.compute_at(q, x).gpu_threads(x, y)"
    assert verify(pipeline, parse_schedule(text, pipeline), SM80)


def test_a_block_that_is_too_large_by_itself():
    told = message("by.gpu_tile(x, y, xi, yi, 64, 32)", SM80)
    assert "has 64 x 32 = 2048 threads a block; sm_80 allows 1024" in told
    assert "such as 32 x 32 or 64 x 16," in told


def test_a_block_that_is_too_long():
    pipeline = algorithms.volume()
    told = message("v.gpu_tile(x, y, z, xi, yi, zi, 2, 2, 65)", SM80, pipeline)
    assert "are 65 threads long along z; sm_80 allows 64 (compute capability 8.0, CUDA" in told
    assert "1024, 1024, 64 threads long along x, y and z" in told


def test_blocks_of_a_grid_are_counted_from_the_size():
    pipeline = algorithms.blur(32, 131071)
    told = message("by.gpu_tile(x, y, xi, yi, 32, 2)", SM80, pipeline)
    assert "makes (by.extent.1 + 1) / 2 = 65536 blocks along y of the grid" in told
    assert "sm_80 allows 65535 (compute capability 8.0, CUDA C++ Programming Guide)" in told
    assert "a tile at least 2 times as large along y" in told
    assert told.endswith("(At the estimated sizes by.extent.1 = 131071.)")


def test_shared_bytes_are_summed_over_arrays():
    pipeline = pipelines.segment()
    text = (
        "Z.gpu_tile(x, y, xi, yi, 32, 12)\nW.compute_at(Z, x).gpu_threads(x, y)\n"
        "K.compute_at(Z, x).gpu_threads(x, y)\nE.compute_root()"
    )
    # K: 32 x 16 x 3 floats; W: 32 x 16 floats.
    told = message(text, evolve(SM75, max_shared_bytes_per_block=8191), pipeline)
    assert "asks for 8192 bytes of shared memory a block" in told
    assert "(K 32 x 16 x 3 x 4 bytes = 6144, W 32 x 16 x 4 bytes = 2048)" in told
    assert "8192 with the reserve of 0 and in units of 256; sm_75 has 8191" in told


def test_shared_bytes_count_the_reserve_and_whole_units():
    text = (
        "by.split(x, x, xi, 1024).split(y, y, yi, 80).reorder(xi, yi, x, y)"
        ".gpu_blocks(x, y).gpu_threads(xi)\nbx.compute_at(by, x).gpu_threads(x)"
    )
    # 1024 x 82 x 2 = 167936 = 164 KiB, which a multiprocessor has, and one KiB of reserve.
    told = message(text, SM80)
    assert "(bx 1024 x 82 x 2 bytes = 167936)" in told
    assert "168960 with the reserve of 1024 and in units of 128; sm_80 has 167936" in told


def strip(height: int, width: int = 32, memory: str = ".store_in(MemoryType::Register)") -> str:
    return (
        f"by.split(x, x, xi, {width}).split(y, y, yi, {height}).reorder(yi, xi, x, y)"
        f".gpu_blocks(x, y).gpu_threads(xi)\nbx.compute_at(by, xi){memory}"
    )


def test_registers_are_counted_from_bytes():
    told = message(strip(509), SM80)  # 511 values of 2 bytes: 255.5 registers
    assert "keeps bx 1 x 511 x 2 bytes = 1022 in 256 registers of 4 bytes; sm_80 has 255" in told


def test_a_block_that_no_multiprocessor_holds():
    told = message(strip(127, width=1024), SM80)  # 129 values of 2 bytes: 64.5 registers
    assert "1024 threads, at least 65 registers each, 0 bytes of shared memory" in told
    assert "it has 65536 registers and 167936 bytes (compute capability 8.0, CUDA" in told


def test_local_bytes_are_counted_from_extents():
    told = message(strip(262143, memory=""), SM80)  # 262145 values of 2 bytes; 512 KiB = 524288
    assert "keeps 524290 bytes for itself (bx 1 x 262145 x 2 bytes = 524290)" in told
    assert "sm_80 has 524288 (compute capability 8.0, CUDA C++ Programming Guide)" in told


def test_lanes_are_multiplied():
    told = message("by.vectorize(x, 64).vectorize(y, 32)", CPU)
    assert "(by.vectorize(y, 32), by.vectorize(x, 64)) make vectors of 32 x 64 = 2048" in told
    assert "at most 1024 are compiled. Split x_v and vectorize an inner loop of at most 32" in told


def test_copies_are_multiplied():
    told = message("by.unroll(x, 5).unroll(y, 205)", CPU)
    assert "(by.unroll(y, 205), by.unroll(x, 5)) make 205 x 5 = 1025 copies of it" in told
    assert "Split y_u and unroll an inner loop of at most 204 iterations" in told


def test_no_inner_loop_of_no_iterations_is_advised():
    told = message("by.split(y, y, yi, 1500).unroll(yi).split(x, x, xi, 1500).unroll(xi)", CPU)
    assert "make 1500 x 1500 = 2250000 copies of it" in told
    assert "Split these loops and unroll shorter ones, or unroll fewer of them." in told


def test_what_is_live_in_a_fold():
    told = message("bx.store_root().compute_at(by, y).fold_storage(y, 2)", CPU)
    assert told.startswith("bx.fold_storage(y, 2) keeps 2 of the values of bx along y, but 3 are")
    assert "in each iteration of by.y, by reads the values from by.y to by.y + 2" in told
    assert told.endswith("Fold by at least 3.")


def test_bytes_of_the_stack():
    text = "by.tile(x, y, xi, yi, 512, 255)\nbx.compute_at(by, x).store_in(MemoryType::Stack)"
    told = message(text, CPU)
    assert "puts 263168 bytes on the stack (bx 512 x 257 x 2 bytes = 263168)" in told
    assert "room for 262144" in told


def test_what_is_computed_beyond_an_output():
    pipeline = algorithms.chain()  # c is estimated as 64 x 32
    told = message("c.split(x, x, xi, 33, TailStrategy::RoundUp)", CPU, pipeline)
    assert told == (
        "c is computed up to x = 65, which is 2 beyond its last, 63: whole tiles are computed "
        "where the factor of c.split(x, x, xi, 33, TailStrategy::RoundUp) does not divide. Choose "
        "factors that do (32 and 64 divide 64), or the tail TailStrategy::GuardWithIf. (At the "
        "estimated sizes c.extent.0 = 64.)"
    )


def test_only_splits_along_the_dimension_are_blamed():
    tail = "TailStrategy::RoundUp"
    text = f"c.split(x, x, xi, 33, {tail}).split(y, y, yi, 8, {tail}).vectorize(xi, 32, {tail})"
    told = message(text, CPU, algorithms.chain())
    blamed = f"c.split(x, x, xi, 33, {tail}), c.vectorize(xi, 32, {tail}) does not divide"
    assert "c is computed up to x = " in told
    assert blamed in told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bx.compute_at(bz, x)", "there is no Func bz"),
        ("bx.compute_at(bx, x)", "the loops of bx itself lie inside it"),
        ("bx.compute_at(by, z)", "by has no loop z, only y, x"),
    ],
)
def test_why_a_level_is_none(text: str, reason: str):
    if "bz" in text:
        text = text.replace("bz", '"bz"')
    told = message(text, CPU)
    assert f": {reason}. Levels that enclose them: root, by.y, by.x." in told


def test_a_level_of_an_inlined_func_and_one_beside_a_reader():
    pipeline = algorithms.chain()
    told = message("a.compute_at(b, x)", CPU, pipeline)
    assert "b is inlined and has no loops. Levels that enclose them: root, c.y, c.x." in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "by.reorder(x, x)",
            "The order of the loops of by names x twice (y, x, x, outermost first). Name each loop "
            "once in reorder.",
        ),
        (
            "by.fuse(x, x, t)",
            "by.fuse(x, x, t) names x twice. Fuse two different loops; the loops at that point are "
            "x, y.",
        ),
        (
            "by.split(nope, xo, xi, 8)",
            "by.split(nope, xo, xi, 8) names nope, which is no loop of by there. The loops at that "
            "point are x, y.",
        ),
        (
            "by.fuse(x, foo, t)",
            "by.fuse(x, foo, t) names foo, which is no loop of by there. The loops at that point "
            "are x, y.",
        ),
        (
            "by.split(x, xo, xi, 8).split(x, a, b, 4)",
            "by.split(x, a, b, 4) names x, which is no loop of by there (x has become xo and xi). "
            "The loops at that point are y, xo, xi.",
        ),
    ],
)
def test_loops_that_are_named_wrongly(text: str, told: str):
    assert message(text, CPU) == told


def messages(text: str, on: Device, pipeline: Pipeline = BLUR) -> dict[str, str]:
    """The messages by broken rule; the last one if a rule is broken several times."""
    verdict = verify(pipeline, parse_schedule(text, pipeline), on)
    return {violation.rule: violation.message for violation in verdict.violations}


def test_gpu_loops_in_vector_lanes_are_there_by_compute_at():
    told = messages("by.vectorize(x, 8)\nbx.compute_at(by, x_v).gpu_blocks(y)", SM80)
    assert told["kind.inside-vectorized"] == (
        "The gpu_block loop y of bx (bx.gpu_blocks(y)) lies inside the vectorized loop by.x_v, "
        "because of bx.compute_at(by, x_v). Compute bx outside by.x_v, or make y serial."
    )


def test_gpu_loops_in_vector_lanes_are_there_by_what_is_between():
    text = "c.vectorize(x, 8)\nb.compute_at(c, x_v)\na.compute_at(b, x).gpu_blocks(y)"
    told = messages(text, SM80, algorithms.chain())["kind.inside-vectorized"]
    assert "because of b.compute_at(c, x_v). Compute b outside c.x_v" in told


def test_an_inlined_func_is_computed_with_none():
    told = messages("bx.compute_with(by, x)", CPU)["with.func"]
    assert "bx is inlined and has no loops. Give bx a compute_root() or compute_at(...)." in told
    assert "with.level" not in messages("bx.compute_with(by, x)", CPU)


@pytest.mark.parametrize(
    "text",
    [
        "by.tile(x, y, xi, yi, 8, 8).gpu_blocks(xi, yi).gpu_threads(x, y)",
        "by.gpu_tile(x, y, xi, yi, 8, 8).reorder(x, y, xi, yi)",
    ],
)
def test_blocks_and_threads_in_the_wrong_order_are_swapped(text: str):
    told = messages(text, SM80)
    for rule in ("gpu.blocks-inside-threads", "gpu.threads-outside-blocks"):
        assert "by.reorder(" in told[rule]
        added = told[rule].partition("by.reorder(")[2].partition(")")[0]
        swapped = messages(f"{text}.reorder({added})", SM80)
        assert not {rule for rule in swapped if "blocks" in rule and "threads" in rule}


def test_one_sentence_tells_of_all_loops_of_a_stage_outside_blocks():
    told = str(verify(BLUR, parse_schedule("by.gpu_threads(x).gpu_threads(y)", BLUR), SM80))
    assert told.count("gpu.threads-outside-blocks") == 1
    assert "The thread loops y, x of by (by.gpu_threads(x, y)) lie in no block loop." in told


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (20000, "Choose a smaller tile, compute one of these Funcs inside the thread loops or "),
        (50000, "Even a tile of 1 element needs 200004 bytes. Compute wide outside the kernel (c"),
    ],
)
def test_a_smaller_tile_is_advised_only_where_one_fits(width: int, told: str):
    x, y, r = Var("x"), Var("y"), RDom([(0, width)], "r")
    image = ImageParam(Int32, 2, "input")
    wide, narrow, out = Func("wide"), Func("narrow"), Func("out")
    wide[x, y] = image[x, y] + 1
    narrow[x, y] = image[x, y] + 2
    out[x, y] = cast(Int32, 0)
    out[x, y] += wide[x + r, y] + narrow[x, y]
    text = "out.compute_root(); out.update(0).gpu_tile(x, y, xi, yi, 8, 8)\n"
    text += "wide.compute_at(out, x)\nnarrow.compute_at(out, x)"
    assert told in messages(text, SM80, pipeline(out))["gpu.shared-bytes"]


def test_a_rename_to_a_name_that_is_there_says_so():
    with pytest.raises(ValueError, match="by has a loop y already; choose a name that none"):
        parse_schedule("by.rename(x, y)", BLUR)


def test_a_bound_makes_room_in_registers():
    text = "bx.compute_root().store_in(MemoryType::Register)"
    told = message(text, CPU)
    assert told.endswith("or bound it, as in bx.bound(x, 0, 64), bx.bound(y, 0, 64).")
    assert verify(BLUR, parse_schedule(f"{text}.bound(x, 0, 64).bound(y, 0, 64)", BLUR), CPU)


def test_a_bound_makes_room_in_shared_memory():
    text = "by.split(x, x, xi, 32).gpu_blocks(x, y).gpu_threads(xi).reorder(xi, x, y)\n"
    text = text.replace(".gpu_blocks(x, y)", ".gpu_blocks(y)") + "bx.compute_at(by, y)"
    told = messages(text, SM80)["gpu.allocation-size"]
    assert told.endswith("or bound it, as in bx.bound(x, 0, 64).")
    assert "gpu.allocation-size" not in messages(f"{text}.bound(x, 0, 64)", SM80)


def test_a_store_level_at_root_is_told_as_written():
    text = "by.parallel(y); bx.store_root().compute_at(by, y)"
    assert message(text, CPU).startswith(
        "bx.store_root() stores bx outside the parallel loop by.y, inside which "
        "bx.compute_at(by, y) computes it:"
    )


def test_an_output_that_is_stored_elsewhere_is_one_violation():
    told = message("by.store_at(by, y)", CPU)
    assert told.startswith("by.store_at(by, y) moves by, which is an output of the pipeline.")
