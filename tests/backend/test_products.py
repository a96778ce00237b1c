"""Products of tiles under schedules as experts write them: blocks of registers, and producers that
are computed among the terms and stored further out.
"""

from __future__ import annotations

import random

import numpy as np

from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var, pipeline
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.writing.text import parse_schedule
from tests.differential.quick_code import quick_code
from tests.draw_counts import examples

CPU = device("cpu")

SCHEDULES = examples(200)


def products(terms: int) -> Pipeline:
    """Pairs of columns of one image, and an image of a second producer beside."""
    x, y, t = Var("x"), Var("y"), Var("t")
    image, other = ImageParam(Int32, 2, "image"), ImageParam(Int32, 2, "other")
    column, row, sums, out = (Func(name) for name in ("column", "row", "sums", "out"))
    r = RDom([(0, terms)], "r")
    column[x, t] = image[x, t] * 3 - t
    row[t, y] = other[t, y] + other[t, y + 1]
    sums[x, y] = 0
    sums[x, y] += column[x, r] * column[y, r] + row[r, y]
    out[x, y] = sums[x, y] + sums[x, y + 1]
    return pipeline(out, name="products")


def drawn(rng: random.Random) -> str:
    """A schedule, which need not be legal."""
    width, height = rng.choice((2, 4, 8)), rng.choice((2, 3, 4))
    tail = rng.choice(("", ", TailStrategy::GuardWithIf"))
    lanes, copies = rng.sample(("xi", "yi"), 2)
    inner, outer = rng.sample(("xi", "yi"), 2), ["r", "x", "y"]
    if rng.random() < 0.2:
        rng.shuffle(outer)
    lines = [
        f"sums.{rng.choice(('compute_root()', 'compute_root()', 'compute_at(out, y)'))}"
        f".update(0).tile(x, y, xi, yi, {width}, {height}{tail})"
        f".reorder({', '.join(inner + outer)}).unroll({copies}).vectorize({lanes})"
    ]
    for name in ("column", "row"):
        if rng.random() < 0.2:
            lines.append(f"{name}.compute_root()")
        else:
            stored = rng.choice(("store_root()", "store_at(sums, x)", "store_at(sums, y)"))
            lines.append(f"{name}.compute_at(sums, {rng.choice(outer)}).{stored}")
    return "\n".join(lines)


def test_products_are_those_of_the_reference() -> None:
    rng = random.Random("products")
    kept = 0
    for _ in range(SCHEDULES):
        algorithm = products(rng.choice((1, 3, 5)))
        text = drawn(rng)
        checked = verify(algorithm, parse_schedule(text, algorithm), CPU)
        if not isinstance(checked, CheckedSchedule):
            continue
        numbers = np.random.default_rng(rng.randrange(99))
        given = {name: numbers.integers(-9, 9, (24, 24), np.int32) for name in ("image", "other")}
        width, height = rng.choice((1, 7, 16)), rng.choice((1, 6, 13))
        with quick_code():
            compiled = compile_cpu(checked)
        out = np.zeros((height, width), np.int32)
        compiled.run(given, out={"out": out})
        wanted = evaluate(algorithm, given, sizes={"out": [width, height]})["out"]
        np.testing.assert_array_equal(out, wanted, err_msg=text)
        kept += ".kept." in compiled.program_text("keep_sums")
    assert kept >= SCHEDULES / 20
