"""Loops add to several rows in small scratch memory, and write the rows once behind the loop."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import (
    Float32,
    Float64,
    Func,
    ImageParam,
    Int32,
    LoopKind,
    Pipeline,
    RDom,
    Type,
    UInt8,
    Var,
    cast,
    pipeline,
)
from spaces.backend.compile import compile_cpu
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import Allocate, For, If, Provide, Statement, Store, block
from spaces.backend.ir.vectors import MaskedLoad
from spaces.backend.lowering.cpu.keep_sums import has_all_lanes, keep_sums
from spaces.backend.lowering.cpu.passes import lower
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.expressions.expr import Call, Expr, Variable, constant, walk
from spaces.model.schedules.schedule import MemoryType
from spaces.model.writing.text import parse_schedule
from tests.backend.guarded import assert_untouched, guarded

ROW, TERM, LANE = (Variable(Int32, name) for name in ("row", "term", "lane"))
N, M = Variable(Int32, "n"), Variable(Int32, "m")
ZERO, TWO, FOUR = (constant(number, Int32) for number in (0, 2, 4))
OUT = BufferParameter("out", Int32, 2, is_output=True)


def program(body: Statement) -> LoopProgram:
    scalars = (ScalarParameter("n", Int32), ScalarParameter("m", Int32))
    return LoopProgram("p", (OUT,), scalars, (), body)


def added(*args: Expr, func: str = "out", more: Expr = TERM) -> Provide:
    return Provide(func, args, Call(Int32, func, args) + more)


def lanes(body: Statement) -> For:
    return For(LANE, ZERO, FOUR, LoopKind.VECTORIZED, body)


def terms(*body: Statement) -> For:
    return For(TERM, ZERO, FOUR, LoopKind.SERIAL, block(*body))


def again(*body: Statement) -> For:
    """``n`` times."""
    return For(Variable(Int32, "again"), ZERO, N, LoopKind.SERIAL, block(*body))


def written_in_loop(changed: LoopProgram) -> set[str]:
    (loop,) = (s for s in walk_nodes(changed.body) if isinstance(s, For) and s.var is TERM)
    return {s.func for s in walk_nodes(loop) if isinstance(s, Provide)}


@pytest.mark.parametrize(
    "body",
    [
        terms(added(N, M), added(N, M + 1)),
        terms(lanes(added(N + LANE, M)), lanes(added(N + LANE, M + 3))),
        terms(lanes(block(added(N + LANE, M), added(N + LANE, M + 1)))),
        terms(lanes(added(N, M + LANE)), lanes(added(N, M + LANE + 4))),
    ],
)
def test_sums_of_several_rows_are_kept(body: For) -> None:
    after = keep_sums(program(body))
    assert written_in_loop(after).isdisjoint({"out"})
    kept = [s for s in walk_nodes(after.body) if isinstance(s, Allocate)]
    assert [one.memory for one in kept] == [MemoryType.STACK]


@pytest.mark.parametrize(
    "body",
    [
        terms(added(N, M)),  # LLVM keeps one element
        terms(added(N, M), added(N + 1, M)),  # and those of one row
        terms(added(N, M), added(M, N)),  # the same element where n is m
        terms(added(N, M + TERM), added(N, M + TERM + 8)),  # others in each iteration
        terms(lanes(added(N + LANE, M)), lanes(added(N + LANE, M)), added(N, M + 1)),
        terms(lanes(added(N, M + LANE)), lanes(added(N, M + LANE + 3))),  # both have m + 3
        terms(added(N, M), added(N, M + 1, more=Call(Int32, "out", (N, TERM)))),
        terms(added(N, M), If(TERM < N, added(N, M + 1))),
        terms(Provide("out", (N, M), TERM), Provide("out", (N, M + 1), TERM)),  # no sums
        terms(added(N, M), added(N, Call(Int32, "place", (N,)))),
        terms(again(added(N, M)), added(N, M + 1)),  # the first sum has no terms where n is 0
    ],
)
def test_other_loops_stay_as_they_are(body: For) -> None:
    assert keep_sums(program(body)) == program(body)


def cut_off(guard: Expr, body: Statement) -> For:
    return lanes(If(guard, body))


def test_sums_that_a_guard_cuts_off_are_kept() -> None:
    """LLVM keeps no element of such a vector. It is read and written where the guard holds."""
    guard = N + LANE < M
    after = keep_sums(program(terms(cut_off(guard, added(N + LANE, M))))).body
    (kept,) = (s for s in walk_nodes(after) if isinstance(s, Allocate))
    assert has_all_lanes(kept.buffer)
    assert written_in_loop(program(after)) == {kept.buffer}
    assert [s.condition for s in walk_nodes(after) if isinstance(s, If)] == [guard] * 3
    filled = next(s for s in walk_nodes(kept.body) if isinstance(s, For))  # before all else
    assert filled == lanes(Provide(kept.buffer, (LANE - ZERO + ZERO,), ZERO))


@pytest.mark.parametrize(
    "body",
    [
        terms(cut_off(TERM + LANE < M, added(N + LANE, M))),  # other lanes in each iteration
        terms(cut_off(N + LANE < M, added(N + LANE, M)), lanes(added(N + LANE, M))),
        terms(cut_off(N + LANE < M, added(N + LANE, M)), cut_off(LANE < M, added(N + LANE, M))),
        terms(cut_off(Call(Int32, "out", (N + LANE, M)) < M, added(N + LANE, M))),
        terms(lanes(If(N + LANE < M, added(N + LANE, M), added(N + LANE, M + 1)))),
        terms(lanes(added(N + LANE, M))),  # no guard: LLVM keeps it
    ],
)
def test_sums_of_other_lanes_each_time_stay_as_they_are(body: For) -> None:
    assert keep_sums(program(body)) == program(body)


def test_folded_rows_may_share_their_places() -> None:
    def stored(folds: tuple[Expr | None, ...]) -> LoopProgram:
        body = terms(added(N, M, func="f"), added(N, M + 2, func="f"))
        return program(
            Allocate(
                *("f", Int32, MemoryType.HEAP, (N, TWO), body),
                mins=(ZERO, ZERO), extents=(N, TWO), folds=folds, order=(0, 1),
            )
        )  # fmt: skip

    assert keep_sums(stored((None, TWO))) == stored((None, TWO))
    assert keep_sums(stored((None, None))) != stored((None, None))


def test_a_loop_that_may_not_run_neither_reads_nor_writes_the_rows() -> None:
    body = For(TERM, ZERO, N, LoopKind.SERIAL, block(added(N, M), added(N, M + 1)))
    after = keep_sums(program(body)).body
    guarded = [s for s in walk_nodes(after) if isinstance(s, If)]
    assert [one.condition for one in guarded] == [ZERO < N] * 2
    inside = [p for one in guarded for p in walk_nodes(one) if isinstance(p, Provide)]
    assert len(inside) == 4


def test_sums_are_kept_where_a_producer_has_no_iterations() -> None:
    """Of a window that slides, an iteration may need no new row."""
    window = again(Provide("row", (ZERO,), TERM))
    body = terms(window, added(N, M), added(N, M + 1, more=Call(Int32, "row", (ZERO,))))
    after = keep_sums(program(body))
    assert written_in_loop(after) == {"row"} | {f for f in written_in_loop(after) if "kept" in f}
    assert not [s for s in walk_nodes(after.body) if isinstance(s, If)]


def test_sums_are_kept_only_in_the_loops_that_all_who_read_them_are_in() -> None:
    """Where n is 0, nothing is added, and the row is read all the same."""
    read = Provide("g", (N,), Call(Int32, "out", (N, M)))
    after = keep_sums(program(terms(again(added(N, M), added(N, M + 1)), read)))
    assert read in list(walk_nodes(after.body))
    (kept,) = (s for s in walk_nodes(after.body) if isinstance(s, Allocate))
    assert read not in list(walk_nodes(kept))


def product() -> Pipeline:
    x, y = Var("x"), Var("y")
    first, second = ImageParam(Int32, 2, "first"), ImageParam(Int32, 2, "second")
    out, r = Func("out"), RDom([(0, 5)], "r")
    out[x, y] = 0
    out[x, y] += first[x, r] * second[r, y]
    return pipeline(out, name="product")


def scheduled(algorithm: Pipeline) -> CheckedSchedule:
    tiles = "tile(x, y, xi, yi, 8, 4).reorder(xi, yi, r, x, y).vectorize(xi).unroll(yi)"
    schedule = parse_schedule(f"out.update(0).{tiles}", algorithm)
    verdict = verify(algorithm, schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict
    return verdict


@pytest.mark.parametrize("width", [8, 32])
@pytest.mark.parametrize("height", [4, 12])
def test_a_product_is_that_of_numpy(width: int, height: int) -> None:
    rng = np.random.default_rng(width)
    first = rng.integers(-9, 9, (5, width), np.int32)
    second = rng.integers(-9, 9, (height, 5), np.int32)
    compiled = compile_cpu(scheduled(product()))
    out = np.zeros((height, width + 3), np.int32)[:, :width]  # rows lie apart
    compiled.run({"first": first, "second": second}, out={"out": out})
    assert (out == second @ first).all()


def sums(type: Type) -> Pipeline:
    x, y, r = Var("x"), Var("y"), RDom([(0, 40)], "r")
    image, out = ImageParam(type, 3, "image"), Func("out")
    out[x, y] = cast(type, 1)
    out[x, y] += image[x, y, r]
    return pipeline(out, name="sums", estimates={out: [12, 3]})


ROWS = 3
SUMS_IN_VECTORS = (
    "out.update(0).split(x, xo, xi, 16, TailStrategy::GuardWithIf).vectorize(xi).reorder(xi, {})"
)


@pytest.mark.parametrize("type", [UInt8, Int32, Float32, Float64], ids=str)
@pytest.mark.parametrize("order", ["r, xo, y", "xo, r, y", "y, r, xo"])
@pytest.mark.parametrize("width", [1, 7, 15, 16, 17, 31, 33])
def test_sums_in_cut_off_vectors_are_those_of_numpy(type: Type, order: str, width: int) -> None:
    algorithm = sums(type)
    text = SUMS_IN_VECTORS.format(order) + ("" if order[0] != "y" else ".unroll(y)")
    text = "out.bound(y, 0, 3)" + text.removeprefix("out") if "unroll" in text else text
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict
    dtype = np.dtype(str(type))
    terms = np.random.default_rng(width).integers(0, 9, (40, ROWS, width)).astype(dtype)
    image, _ = guarded(terms)
    out, canaries = guarded(np.zeros((ROWS, width), dtype), padding=width % 3)
    compile_cpu(verdict).run({"image": image}, out={"out": out})
    assert (out == terms.sum(axis=0, dtype=dtype) + dtype.type(1)).all()
    assert_untouched(canaries)


def test_no_mask_stands_between_two_terms_of_a_sum() -> None:
    """Else each term waits until the masked store before it is in the cache."""
    algorithm = sums(Int32)
    schedule = parse_schedule(SUMS_IN_VECTORS.format("r, xo, y"), algorithm)
    verdict = verify(algorithm, schedule, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict
    last = list(lower(verdict.nest).values())[-1]
    stores = [s for s in walk_nodes(last.body) if isinstance(s, Store)]
    kept = [s for s in stores if has_all_lanes(s.buffer)]
    assert kept
    assert all(s.mask is None for s in kept)
    masked = (n for s in stores for n in walk(s.value) if isinstance(n, MaskedLoad))
    assert not [n for n in masked if has_all_lanes(n.buffer)]


def squares() -> Pipeline:
    """Products of all pairs of columns: what one tile has centred, the next need not."""
    x, y, t = Var("x"), Var("y"), Var("t")
    image, centred, out = ImageParam(Int32, 2, "image"), Func("centred"), Func("out")
    r = RDom([(0, 5)], "r")
    centred[x, t] = image[x, t] - t
    out[x, y] = 0
    out[x, y] += centred[x, r] * centred[y, r]
    return pipeline(out, name="squares")


@pytest.mark.parametrize("rows", [2, 4])
def test_sums_are_written_where_no_term_computes_a_new_row(rows: int) -> None:
    algorithm = squares()
    tiles = f"tile(x, y, xi, yi, 4, {rows}).reorder(xi, yi, r, x, y).vectorize(xi).unroll(yi)"
    text = f"out.update(0).{tiles}\ncentred.compute_at(out, r).store_at(out, y)"
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    assert isinstance(verdict, CheckedSchedule), verdict
    columns = np.random.default_rng(rows).integers(-9, 9, (5, 16), np.int32)
    out = np.zeros((16, 16), np.int32)
    compile_cpu(verdict).run({"image": columns}, out={"out": out})
    centred = columns - np.arange(5, dtype=np.int32)[:, None]
    assert (out == centred.T @ centred).all()
