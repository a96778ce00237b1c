"""Interleaved vectors, and strided accesses made dense: values, shapes and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import Block, If, Store
from spaces.backend.ir.vectors import Broadcast, Load, MaskedLoad, Ramp, Shuffle
from spaces.backend.lowering.analyses.linear import origin_of
from spaces.backend.lowering.cpu.interleave import interleave
from spaces.backend.lowering.cpu.interleaved_vectors import (
    choose_interleaving,
    interleaved,
    lanes_of_class,
    period_of,
)
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import Cast, Expr, Op, Variable, cast, constant, walk
from spaces.model.expressions.functions import select
from spaces.model.expressions.types import Bool, Int8, Int32, UInt8, UInt16
from spaces.model.nest.loopnest import loop_nest
from spaces.model.writing.text import parse_schedule
from tests.backend.lowering.program_interpreter import run_program
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
BEGIN = Variable(Int32, "i")
WIDTH = 61


def compiled_rows(algorithm: Pipeline, directives: Directives, image: np.ndarray) -> np.ndarray:
    code = compile_cpu_unchecked(algorithm, directives.schedule, threads=1)
    (out,) = algorithm.outputs
    sizes = {out: [WIDTH] + [2] * (len(algorithm.function(out).args) - 1)}
    return code.run({"image": image}, sizes=sizes)[out]


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from([2, 4, 8, 16]),
    st.sampled_from([2, 3, 4]),
    st.integers(0, 9),
    st.sampled_from(["shift_inwards", "guard_with_if"]),
)
def test_quotients_and_remainders_of_coordinates(lanes: int, by: int, add: int, tail: str) -> None:
    image, out = ImageParam(UInt16, 2, "image"), Func("out")
    rest = (X + add) % by
    near = select(rest == 0, image[(X + add) / by, Y] * 3, image[X, Y] + cast(UInt16, rest))
    out[X, Y] = near + image[(X / 2) - 1 + 2 * (X % 2) + 1, Y]
    algorithm = pipeline(out)
    array = np.random.default_rng(1).integers(0, 9999, (2, 80)).astype(np.uint16)
    found = compiled_rows(algorithm, schedule(algorithm).vectorize("x", lanes, tail), array)
    x = np.arange(WIDTH)
    remainder = (x + add) % by
    usual = array[:, x] + remainder.astype(np.uint16)
    expected = np.where(remainder == 0, array[:, (x + add) // by] * np.uint16(3), usual)
    expected = expected + array[:, x // 2 + 2 * (x % 2)]
    assert np.array_equal(found, expected.astype(np.uint16))


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from([4, 8, 32]), st.integers(2, 9), st.integers(1, 6), st.data())
def test_strided_loads(lanes: int, stride: int, taps: int, data: st.DataObject) -> None:
    offsets = data.draw(st.lists(st.integers(0, 9), min_size=taps, max_size=taps))
    image, out = ImageParam(UInt8, 2, "image"), Func("out")
    total: Expr = constant(0, UInt8)
    for offset in offsets:
        total = total * 3 + image[stride * X + offset, Y]
    out[X, Y] = total
    algorithm = pipeline(out)
    width = stride * (WIDTH - 1) + max(offsets) + 1  # exactly the read elements
    array = np.random.default_rng(1).integers(0, 256, (2, width)).astype(np.uint8)
    found = compiled_rows(algorithm, schedule(algorithm).vectorize("x", lanes), array)
    expected = np.zeros((2, WIDTH), np.uint8)
    for offset in offsets:
        expected = expected * np.uint8(3) + array[:, stride * np.arange(WIDTH) + offset]
    assert np.array_equal(found, expected)


def test_neighbors_share_dense_vectors() -> None:
    image, out = ImageParam(UInt16, 2, "image"), Func("out")
    out[X, Y] = image[2 * X, Y] + image[2 * X + 1, Y]
    algorithm = pipeline(out)
    stages = lower(loop_nest(algorithm, schedule(algorithm).vectorize("x", 8).schedule))
    store, _ = [s for s in walk_nodes(stages["interleave"].body) if isinstance(s, Store)]
    found = [n for n in walk(store.value) if isinstance(n, Load)]
    assert len(found) == 2  # 16 elements, twice 8
    assert all(isinstance(n.index, Ramp) and str(n.index.stride) == "1" for n in found)


def test_no_vector_reaches_beyond_the_last_element() -> None:
    image, out = ImageParam(UInt16, 2, "image"), Func("out")
    out[X, Y] = image[3 * X, Y]
    algorithm = pipeline(out)
    stages = lower(loop_nest(algorithm, schedule(algorithm).vectorize("x", 8).schedule))
    steady, _ = [s for s in walk_nodes(stages["interleave"].body) if isinstance(s, Store)]
    vectors = [n.index for n in walk(steady.value) if isinstance(n, Load)]
    begins = [origin_of(v.base).offset for v in vectors if isinstance(v, Ramp)]
    # Lanes at 0, 3 ... 21: the third vector ends there instead of at 23.
    assert begins == [0, 8, 14]


@pytest.mark.parametrize("copies", [2, 3, 4])
def test_stores_that_fill_each_others_gaps_become_dense(copies: int) -> None:
    image, out = ImageParam(UInt16, 2, "image"), Func("out")
    out[X, Y] = image[X, Y] * 5 + cast(UInt16, X)
    algorithm = pipeline(out)
    directives = (
        schedule(algorithm)
        .split("x", "x", "xi", copies * 8)
        .split("xi", "xv", "xu", copies)
        .reorder("xu", "xv", "x")
        .vectorize("xv")
        .unroll("xu")
    )
    stages = lower(loop_nest(algorithm, directives.schedule))
    stores = [s for s in walk_nodes(stages["interleave"].body) if isinstance(s, Store)]
    assert stores
    assert all(isinstance(s.index, Ramp) and str(s.index.stride) == "1" for s in stores)
    array = np.random.default_rng(1).integers(0, 9999, (2, WIDTH)).astype(np.uint16)
    found = compiled_rows(algorithm, directives, array)
    expected = array * np.uint16(5) + np.arange(WIDTH, dtype=np.uint16)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("out.reorder(xv, xu, c, x, y).unroll(xu).unroll(c).vectorize(xv)", True),
        ("out.reorder(xv, c, xu, x, y).unroll(xu).unroll(c).vectorize(xv)", True),
        ("out.reorder(xv, xu, c, x, y).unroll(c).vectorize(xv)", False),
    ],
)
def test_stores_of_several_vectors_become_dense_in_any_order(text: str, dense: bool) -> None:
    image, out, c = ImageParam(UInt8, 2, "image"), Func("out"), Var("c")
    out[c, X, Y] = image[X, Y] + cast(UInt8, c)
    out.output_buffer().dim(0).set_bounds(0, 3)
    out.output_buffer().dim(1).set_stride(3)
    algorithm = pipeline(out)
    split = "out.split(x, x, xu, 16).split(xu, xu, xv, 4)"
    chosen = parse_schedule(text.replace("out", split, 1), algorithm)
    stages = lower(loop_nest(algorithm, chosen))
    stores = [s for s in walk_nodes(stages["interleave"].body) if isinstance(s, Store)]
    assert {str(s.index.stride) == "1" for s in stores if isinstance(s.index, Ramp)} == {dense}
    array = np.arange(2 * WIDTH, dtype=np.uint8).reshape(2, WIDTH)
    found = compile_cpu_unchecked(algorithm, chosen, threads=1).run(
        {"image": array}, sizes={"out": [3, WIDTH, 2]}
    )["out"]
    assert np.array_equal(found, array[:, :, None] + np.arange(3, dtype=np.uint8))


def strided(name: str, offset: int) -> Ramp:
    base = Variable(Int32, name) + constant(offset, Int32)
    return Ramp(Int32.with_lanes(4), base, constant(2, Int32))


@pytest.mark.parametrize(
    ("read", "stores"),
    [
        (("in", 0), 2),  # two strided stores become two dense ones
        (("out", 1), 2),  # each lane reads what it replaces
        (("out", 0), 0),  # reads what the first store has just written
        (("out", 2), 0),  # reads what a dense store would write too early
    ],
)
def test_stores_stay_apart_from_what_they_read(read: tuple[str, int], stores: int) -> None:
    lanes = UInt8.with_lanes(4)
    first = Load(lanes, "in", strided("i", 0))
    second = Op(lanes, "add", (Load(lanes, read[0], strided("i", read[1])), first))
    body = Block((Store("out", strided("i", 0), first), Store("out", strided("i", 1), second)))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    before = LoopProgram("both", buffers, (ScalarParameter("i", Int32),), (), body)
    after = interleave(before)
    found = [s for s in walk_nodes(after.body) if isinstance(s, Store)]
    assert sum(str(s.index).split(", ")[1] == "1" for s in found) == stores
    memory = {"in": {k: 3 * k for k in range(20)}, "out": {k: 100 - k for k in range(20)}}
    expected = dict(memory["out"])
    for lane in range(4):
        expected[1 + 2 * lane] = memory["in"][1 + 2 * lane]
    source = expected if read[0] == "out" else memory["in"]
    lane_values = [source[1 + read[1] + 2 * k] + memory["in"][1 + 2 * k] for k in range(4)]
    expected |= {2 + 2 * k: v % 256 for k, v in enumerate(lane_values)}
    assert run_program(after, {"i": 1}, memory)["out"] == expected


@st.composite
def crowded_stores(draw: st.DrawFn) -> list[tuple[int, int, str]]:
    """The first place, stride and source of stores of four lanes: some fill each other's gaps, and
    others end just before these or begin just behind them, or overlap them by one place.
    """
    apart = draw(st.integers(2, 3))
    sources = st.sampled_from(["in", "in", "out"])
    stores = [(20 + k, apart, draw(sources)) for k in draw(st.permutations(range(apart)))]
    for _ in range(draw(st.integers(1, 2))):
        stride, gap = draw(st.integers(1, 3)), draw(st.sampled_from([-1, 0]))
        first = draw(st.sampled_from([19 - gap - 3 * stride, 20 + 4 * apart + gap]))
        stores.insert(draw(st.integers(1, len(stores) - 1)), (first, stride, draw(sources)))
    return stores


@settings(max_examples=examples(200))
@given(crowded_stores())
def test_stores_in_any_order_leave_the_same_values(drawn: list[tuple[int, int, str]]) -> None:
    lanes = UInt8.with_lanes(4)
    stores = []
    for number, (first, stride, source) in enumerate(drawn):
        base = BEGIN + constant(first, Int32)
        index = Ramp(Int32.with_lanes(4), base, constant(stride, Int32))
        added = Broadcast(lanes, constant(10 * number + 1, UInt8))
        stores.append(Store("out", index, Op(lanes, "add", (Load(lanes, source, index), added))))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    scalars = (ScalarParameter("i", Int32),)
    before = LoopProgram("stores", buffers, scalars, (), Block(tuple(stores)))
    memory = {"in": {k: 3 * k for k in range(60)}, "out": {k: 100 - k for k in range(60)}}
    wanted = {name: dict(cells) for name, cells in memory.items()}
    for number, (first, stride, source) in enumerate(drawn):
        for place in range(2 + first, 2 + first + 4 * stride, stride):
            wanted["out"][place] = (wanted[source][place] + 10 * number + 1) % 256
    assert run_program(interleave(before), {"i": 2}, memory) == wanted


def first_lanes(lanes: int) -> Expr:
    """The mask of the first ``n`` lanes."""
    numbers = Ramp(Int32.with_lanes(lanes), constant(0, Int32), constant(1, Int32))
    limit = Broadcast(Int32.with_lanes(lanes), Variable(Int32, "n"))
    return Op(Bool.with_lanes(lanes), "lt", (numbers, limit))


@settings(max_examples=examples(60))
@given(st.sampled_from([4, 8]), st.integers(2, 9), st.integers(0, 8), st.data())
def test_masked_loads_touch_nothing_that_no_lane_needs(
    lanes: int, stride: int, active: int, data: st.DataObject
) -> None:
    offsets = data.draw(st.sets(st.integers(0, stride - 1), min_size=1))
    active = min(active, lanes)
    mask, dense = first_lanes(lanes), Ramp(Int32.with_lanes(lanes), BEGIN, constant(1, Int32))
    total: Expr = Broadcast(UInt8.with_lanes(lanes), constant(0, UInt8))
    for offset in offsets:
        index = Ramp(dense.type, BEGIN + constant(offset, Int32), constant(stride, Int32))
        total = Op(total.type, "add", (total, MaskedLoad(total.type, "in", index, mask)))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    scalars = tuple(ScalarParameter(n, Int32) for n in ("i", "n"))
    program = LoopProgram("masked", buffers, scalars, (), Store("out", dense, total, mask))
    needed = range(min(offsets), max(offsets) + 1)
    places = [1 + stride * lane + k for lane in range(active) for k in needed]
    image = {place: 3 * place % 256 for place in places}
    found = run_program(interleave(program), {"i": 1, "n": active}, {"in": image, "out": {}})
    sums = (sum(image[1 + stride * lane + k] for k in offsets) for lane in range(active))
    assert found["out"] == {1 + lane: total % 256 for lane, total in enumerate(sums)}


@pytest.mark.parametrize("stride", [2, 3, 6])
@pytest.mark.parametrize("active", [0, 1, 3, 4])
def test_masked_stores_keep_their_masks(stride: int, active: int) -> None:
    lanes, mask = UInt8.with_lanes(4), first_lanes(4)
    index = [
        Ramp(Int32.with_lanes(4), BEGIN + constant(k, Int32), constant(stride, Int32))
        for k in range(stride)
    ]
    stores = (Store("out", at, Load(lanes, "in", at), mask) for at in index)
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    scalars = tuple(ScalarParameter(n, Int32) for n in ("i", "n"))
    after = interleave(LoopProgram("both", buffers, scalars, (), Block(tuple(stores))))
    assert all(str(s.index.stride) == "1" for s in walk_nodes(after.body) if isinstance(s, Store))
    memory = {"in": {k: 3 * k for k in range(40)}, "out": {}}
    found = run_program(after, {"i": 1, "n": active}, memory)["out"]
    assert found == {k: 3 * k for k in range(1, 1 + stride * active)}


def test_loads_under_other_masks_stay_apart() -> None:
    lanes, mask = UInt8.with_lanes(4), first_lanes(4)
    index = Ramp(Int32.with_lanes(4), BEGIN, constant(2, Int32))
    loads = [MaskedLoad(lanes, "in", index, m) for m in (mask, Op(mask.type, "not", (mask,)))]
    dense = Ramp(index.type, BEGIN, constant(1, Int32))
    store = Store("out", dense, Op(lanes, "sub", (loads[0], loads[1])))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    scalars = tuple(ScalarParameter(n, Int32) for n in ("i", "n"))
    program = interleave(LoopProgram("both", buffers, scalars, (), store))
    memory = {"in": {2 * k: 1 + k for k in range(4)}, "out": {}}
    found = run_program(program, {"i": 0, "n": 3}, memory)["out"]
    assert found == {0: 1, 1: 2, 2: 3, 3: 256 - 4}


def test_guards_that_read_memory_are_tested_again() -> None:
    guard = Load(UInt8, "out", constant(0, Int32)) > 0
    stores = (Store("out", constant(k, Int32), constant(v, UInt8)) for k, v in ((0, 0), (1, 5)))
    body = Block(tuple(If(guard, store) for store in stores))
    program = LoopProgram("twice", (BufferParameter("out", UInt8, 1, True),), (), (), body)
    assert run_program(interleave(program), {}, {"out": {0: 9, 1: 9}})["out"] == {0: 0, 1: 9}


def test_stores_under_other_masks_stay_apart() -> None:
    lanes, mask = UInt8.with_lanes(4), first_lanes(4)
    other = Op(mask.type, "not", (mask,))
    index = [
        Ramp(Int32.with_lanes(4), BEGIN + constant(k, Int32), constant(2, Int32)) for k in (0, 1)
    ]
    value = Broadcast(lanes, constant(7, UInt8))
    stores = (Store("out", index[0], value, mask), Store("out", index[1], value, other))
    scalars = tuple(ScalarParameter(n, Int32) for n in ("i", "n"))
    before = LoopProgram(
        "both", (BufferParameter("out", UInt8, 1, True),), scalars, (), Block(stores)
    )
    found = run_program(interleave(before), {"i": 0, "n": 3}, {"out": {}})["out"]
    assert found == dict.fromkeys((0, 2, 4, 7), 7)


@pytest.mark.parametrize("names", [("add", "sub"), ("sub", "sub"), ("sub", "add")])
def test_parts_are_computed_at_once_only_where_they_are_alike(names: tuple[str, str]) -> None:
    parts = []
    for number, name in enumerate(names):
        index = Ramp(Int32.with_lanes(4), BEGIN + constant(4 * number, Int32), constant(1, Int32))
        part, other = (Load(UInt8.with_lanes(4), n, index) for n in ("a", "b"))
        for _ in range(6):
            part = Op(part.type, name, (part, other))
        parts.append(part)
    value = choose_interleaving(interleaved(parts, 8))
    dense = Ramp(Int32.with_lanes(8), BEGIN, constant(1, Int32))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("a", "b", "out"))
    scalars = (ScalarParameter("i", Int32),)
    program = LoopProgram("turns", buffers, scalars, (), Store("out", dense, value))
    memory = {"a": {k: 100 + k for k in range(8)}, "b": {k: 2 * k for k in range(8)}, "out": {}}
    sign = {"add": 6, "sub": -6}
    places = {k: k // 2 + 4 * (k % 2) for k in range(8)}
    expected = {k: (100 + n + sign[names[k % 2]] * 2 * n) % 256 for k, n in places.items()}
    assert run_program(program, {"i": 0}, memory)["out"] == expected
    at_once = [n for n in walk(value) if isinstance(n, Op) and n.type.lanes == 8]
    assert len(at_once) == (6 if names[0] == names[1] else 0)


CHAINS = st.lists(st.sampled_from(["abs", "wrap", "double"]), min_size=2, max_size=2)


@settings(max_examples=examples(100))
@given(st.tuples(CHAINS, CHAINS))
def test_parts_keep_their_own_operations(chains: tuple[list[str], list[str]]) -> None:
    """Chains of operations and casts on bytes."""
    unsigned, signed = UInt8.with_lanes(4), Int8.with_lanes(4)
    parts: list[Expr] = []
    for number, chain in enumerate(chains):
        index = Ramp(Int32.with_lanes(4), BEGIN + constant(4 * number, Int32), constant(1, Int32))
        part: Expr = Load(unsigned, "in", index)
        for name in chain:
            part = Cast(signed, part)
            if name == "double":
                part = Op(signed, "add", (part, part))
            part = Op(unsigned, "abs", (part,)) if name == "abs" else Cast(unsigned, part)
        parts.append(part)
    dense = Ramp(Int32.with_lanes(8), BEGIN, constant(1, Int32))
    value = choose_interleaving(interleaved(parts, 8))
    buffers = tuple(BufferParameter(n, UInt8, 1, n == "out") for n in ("in", "out"))
    program = LoopProgram(
        "chains", buffers, (ScalarParameter("i", Int32),), (), Store("out", dense, value)
    )
    given_bytes = {k: (37 * k + 150) % 256 for k in range(8)}
    expected = {}
    for place in range(8):
        byte = given_bytes[place // 2 + 4 * (place % 2)]
        for name in chains[place % 2]:
            number = byte - 256 if byte > 127 else byte
            byte = {"abs": abs(number), "wrap": number, "double": 2 * number}[name] % 256
        expected[place] = byte
    found = run_program(program, {"i": 0}, {"in": given_bytes, "out": {}})["out"]
    assert found == expected


def test_every_other_lane() -> None:
    x = Variable(Int32, "x")
    ramp = Ramp(Int32.with_lanes(8), x, constant(3, Int32))
    halves = [lanes_of_class(ramp, place, 2) for place in (0, 1)]
    assert [str(h) for h in halves] == ["ramp(x, 6, 4)", "ramp(x + 3, 6, 4)"]
    both = interleaved([h for h in halves if h is not None], 8)
    assert isinstance(both, Shuffle)
    assert both.picks == (0, 4, 1, 5, 2, 6, 3, 7)
    assert period_of(both) == 2
    assert [lanes_of_class(both, place, 2) for place in (0, 1)] == halves
    assert str(lanes_of_class(both, 3, 4)) == "ramp(x + 3 + 6, 12, 2)"
