"""What stages keep in registers, by the reuse model with one price at a time."""

from __future__ import annotations

from functools import reduce
from operator import mul

import numpy as np
import pytest
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.types import Float32
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of, free
from tests.cpus import ONE_CORE

X, Y = Var("x"), Var("y")


def _sums() -> Pipeline:
    """Sums of 10 terms along r, of 64 x 32 values."""
    image, f, r = ImageParam(Float32, 3, "input"), Func("f"), RDom([(0, 10)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    return pipeline(f, estimates={f: [64, 32]})


VALUES = 64 * 32


@pytest.mark.parametrize(
    ("text", "stores", "pointers"),
    [
        # The first stage stores each value, and the sum once more at its end.
        ("", 1, 0),
        # The values around a loop over terms are other ones in each iteration.
        ("f.update().reorder(x, r.x, y)", 10, 0),
        # 8 sums stay in registers; of 32 there is place for 15, beside a term. The terms come from
        # as many lines, and there is place for 12 pointers.
        ("f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y).unroll(xi)", 1, 0),
        (
            "f.update().split(x, xo, xi, 32).reorder(xi, r.x, xo, y).unroll(xi)",
            1 + 9 * 17 / 32,
            10 * (32 + 1 / 10 - 12) / 32,
        ),
        # A loop that runs once keeps them, too.
        ("f.update().split(x, xo, xi, 64).reorder(xo, r.x, xi, y)", 1, 0),
    ],
)
def test_sums_in_registers_are_stored_once(text: str, stores: float, pointers: float) -> None:
    pipe = _sums()
    chosen = parse_schedule(text, pipe)
    assert cost_of(pipe, chosen, store=1.0) == pytest.approx(VALUES * (1 + stores))
    # The terms are loaded each, and the sums as often as they are stored.
    assert cost_of(pipe, chosen, load=1.0) == pytest.approx(VALUES * (10 + stores + pointers))


def test_a_body_that_reads_many_buffers_loads_pointers_again() -> None:
    """One pointer for each of 14 images and one for the Func itself: there is place for 12."""
    images = [ImageParam(Float32, 2, f"input{number}") for number in range(14)]
    f = Func("f")
    f[X, Y] = sum((image[X, Y] for image in images[1:]), images[0][X, Y])
    pipe = pipeline(f, estimates={f: [64, 32]})
    assert cost_of(pipe, Schedule.default(pipe), load=1.0) == VALUES * (14 + 15 - 12)


@pytest.mark.parametrize(
    ("vector_bits", "width", "spilled"),
    [(256, 2, 0), (256, 8, 0), (256, 16, 1 / 2), (256, 32, 3 / 4), (512, 16, 0), (512, 32, 1 / 2)],
)
def test_operands_of_a_block_need_registers_too(
    vector_bits: int, width: int, spilled: float
) -> None:
    """Products of ``width`` pairs: one factor of each pair waits in a register, but they take at
    most half of the 16 registers, or of the 32 with vectors of 512 bits; the others are left for
    sums.
    """
    left, right = ImageParam(Float32, 2, "left"), ImageParam(Float32, 2, "right")
    f, r = Func("f"), RDom([(0, 10)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += left[r.x, X] * right[r.x, X]
    pipe = pipeline(f, estimates={f: [64, 24]})
    text = f"f.update().split(x, xo, xi, {width}).reorder(xi, r.x, xo, y).unroll(xi)"
    cpu = evolve(ONE_CORE, vector_bits=vector_bits)
    stored = cost_of(pipe, parse_schedule(text, pipe), cpu, store=1.0) / (64 * 24)
    assert stored == pytest.approx(1 + 1 + 9 * spilled)  # the first stage stores once


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("f.split(y, y, yi, 4).reorder(yi, x, y).unroll(yi)", 0),
        ("f.split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)", 2 * 16 - 12),
        # Copies of one line have one pointer.
        ("f.split(x, x, xi, 16).unroll(xi)", 0),
        # On the stack, compilers know how far apart lines are.
        (
            "g.split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)\n"
            "f.compute_at(g, x).split(y, y, yi, 16).reorder(yi, x, y).unroll(yi)",
            2 * (16 + 1 - 12),
        ),
    ],
)
def test_pointers_to_many_lines_are_loaded_again(text: str, pointers: int) -> None:
    image, f, g = ImageParam(Float32, 2, "image"), Func("f"), Func("g")
    f[X, Y] = image[X, Y]
    g[X, Y] = f[X, Y]
    output, stages = (g, 2) if "g." in text else (f, 1)
    pipe = pipeline(output, estimates={output: [128, 64]})
    loads = cost_of(pipe, parse_schedule(text, pipe), load=1.0) / (128 * 64)
    assert loads == stages + pointers / 16


@pytest.mark.parametrize(
    ("text", "at_once"),
    [
        ("", 1),
        ("f.update().split(x, xo, xi, 8).reorder(xi, r.x, xo, y).unroll(xi)", 8),
        # Terms of other sums come between two terms of a sum.
        ("f.update().reorder(x, r.x, y)", np.inf),
        # An unrolled loop over terms adds no sums.
        ("f.update().split(r.x, ro, ri, 8).unroll(ri)", 1),
    ],
)
def test_a_term_waits_for_the_one_before(text: str, at_once: float) -> None:
    image, f, r = ImageParam(Float32, 3, "input"), Func("f"), RDom([(0, 1000)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    pipe = pipeline(f, estimates={f: [64, 32]})
    waiting = cost_of(pipe, parse_schedule(text, pipe), latency=4.0)
    assert waiting == pytest.approx(4 * 1000 * VALUES / at_once)


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_sums_of_few_terms_overlap(factors: int) -> None:
    """A core takes up the next sums of 10 terms while the terms of one wait, as many as 256
    instructions hold. A term has a load and an operation for each factor; the sum is loaded and
    stored once for 10 terms.
    """
    images = [ImageParam(Float32, 3, f"input{number}") for number in range(factors)]
    f, r = Func("f"), RDom([(0, 10)], name="r")
    f[X, Y] = 0.0
    f[X, Y] += reduce(mul, (image[r.x, X, Y] for image in images))
    pipe = pipeline(f, estimates={f: [64, 32]})
    waiting = cost_of(pipe, Schedule.default(pipe), latency=1.0)
    assert waiting == pytest.approx(10 * VALUES * 10 * (2 * factors + 0.2) / 256)


def test_a_scan_stores_each_value() -> None:
    f, r = Func("f"), RDom([(1, 9)], name="r")
    f[X, Y] = 0.0
    f[0, Y] += f[r.x, Y]
    pipe = pipeline(f, estimates={f: [10, 32]})
    assert cost_of(pipe, Schedule.default(pipe), store=1.0) == 10 * 32 + 9 * 32


def _blocks(level: str) -> tuple[Pipeline, Schedule]:
    """Sums of 10 terms in blocks of 4 x 2: two registers."""
    image, f, out, r = ImageParam(Float32, 3, "input"), Func("f"), Func("out"), RDom([(0, 10)])
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    blocks = "out.tile(x, y, xi, yi, 4, 2).vectorize(xi).unroll(yi)"
    loops = "split(x, x, xi, 4).split(y, y, yi, 2).reorder(xi, yi, r.x, x, y)"
    text = f"{blocks}\nf.{level}.vectorize(x, 4)\nf.update().{loops}.vectorize(xi).unroll(yi)"
    text = text.replace("r.x", pipe.function("f").stages[1].rvars[0].name)
    return pipe, parse_schedule(text, pipe)


@pytest.mark.parametrize(("level", "stores"), [("compute_root()", 10), ("compute_at(out, x)", 1)])
def test_sums_of_several_lines_stay_in_registers_inside_the_loops_that_use_them(
    level: str, stores: int
) -> None:
    """Compilers don't know that the lines of a buffer of any size do not overlap."""
    assert cost_of(*_blocks(level), store=1.0) == (1 + 1 + stores) * VALUES / 4


@pytest.mark.parametrize(
    ("width", "level", "is_kept"),
    [
        (8, "compute_at(out, x)", True),  # two iterations
        (32, "compute_at(out, x)", True),
        (64, "compute_at(out, x)", False),  # too many iterations
        (8, "compute_at(out, y)", False),  # as many as a line has
        (8, "compute_root()", False),
    ],
)
def test_loops_of_few_iterations_are_written_out_if_their_number_is_known(
    width: int, level: str, is_kept: bool
) -> None:
    """Sums of 10 terms, in vectors of 4: those of a written out loop stay in registers."""
    image, f, out, r = ImageParam(Float32, 3, "input"), Func("f"), Func("out"), RDom([(0, 10)], "r")
    f[X, Y] = 0.0
    f[X, Y] += image[r.x, X, Y]
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [64, 32]})
    sums = "split(x, xo, xi, 4).reorder(xi, xo, r.x, y).vectorize(xi)"
    text = f"out.split(x, x, xi, {width}).vectorize(xi)\nf.{level}.vectorize(x, 8)\nf.update()."
    stored = {
        unrolled: cost_of(pipe, parse_schedule(text + sums + unrolled, pipe), store=1.0)
        for unrolled in ("", ".unroll(xo)")
    }
    assert (stored[""] == stored[".unroll(xo)"]) is is_kept
    assert stored[""] >= stored[".unroll(xo)"]


def test_a_sum_that_is_stored_after_each_term_waits_for_memory() -> None:
    """Ten times as often as one that is stored after all terms; it also fills the window of the
    core sooner, so that fewer sums are under way.
    """
    at_root, inside = (
        cost_of(*_blocks(level), forwarding=1.0)
        for level in ("compute_root()", "compute_at(out, x)")
    )
    assert at_root > 10 * inside


def test_copies_of_an_unrolled_body_share_what_is_the_same_in_all() -> None:
    """The channels of a pixel read one gray value."""
    gray, color, f = ImageParam(Float32, 2, "gray"), ImageParam(Float32, 3, "color"), Func("f")
    c = Var("c")
    f[X, Y, c] = fn.sqrt(gray[X, Y]) * color[X, Y, c]
    pipe = pipeline(f, estimates={f: [64, 32, 3]})
    plane = parse_schedule("f.bound(c, 0, 3)", pipe)
    pixels = parse_schedule("f.bound(c, 0, 3).reorder(c, x, y)", pipe)
    copies = parse_schedule("f.bound(c, 0, 3).reorder(c, x, y).unroll(c)", pipe)
    assert cost_of(pipe, plane, load=1.0) == cost_of(pipe, pixels, load=1.0) == 6 * VALUES
    assert cost_of(pipe, copies, load=1.0) == (1 + 3) * VALUES
    shared = cost_of(pipe, plane, fraction=1.0) - cost_of(pipe, copies, fraction=1.0)
    assert shared == 2 * VALUES  # the roots


@pytest.mark.parametrize(("lanes", "moved"), [(64, 0), (128, 1)])
def test_values_of_vectors_that_take_too_many_registers_move(lanes: int, moved: int) -> None:
    """128 floats take all 16 registers, and an operation needs those of an operand, too, so half of
    the values move: of the result of the product, and of the one that is stored.
    """
    image, f = ImageParam(Float32, 1, "input"), Func("f")
    f[X] = image[X] * 2.0
    pipe = pipeline(f, estimates={f: [4096]})
    wide = parse_schedule(f"f.vectorize(x, {lanes})", pipe)
    plain = parse_schedule("f.vectorize(x, 8)", pipe)
    found = cost_of(pipe, wide, store=1.0) - cost_of(pipe, plain, store=1.0)
    assert found == 4096 / 8 * moved  # half of two values for each register


def test_sums_in_a_loop_that_seldom_runs_are_stored_as_if_it_ran_once() -> None:
    """The average visit of such a loop has less than one iteration, which is 0 as an integer."""
    pipe = _sums()
    batch = Batch.of(pipe, Schedule.default(pipe))

    def price(trips: int) -> float:
        (func,) = batch.features.funcs
        first, update = func.stages
        loops = tuple(
            evolve(loop, trips=trips) if loop.loop == "r.x" else loop for loop in update.loops
        )
        seldom = evolve(func, stages=(first, evolve(update, loops=loops)))
        return float(
            Reuse(ONE_CORE, free(store=1.0)).price(evolve(batch.features, funcs=(seldom,)))
        )

    assert price(0) == price(1) > 0
