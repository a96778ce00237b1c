"""Long functions: their loop nests are functions of their own, so that LLVM's time grows with the
number of loops and not with its square.
"""

import re
from itertools import product

import numpy as np
import pytest

import spaces
from spaces import AccessMode, FloatMode, compile_cpu_unchecked, loop_nest
from spaces.backend.llvm import statements
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.lowering.cpu.passes import lower
from tests.draw_counts import some

LONG = 32


@pytest.fixture(autouse=True)
def _long(monkeypatch):
    """Fewer loops make a function long, so that chains are short."""
    monkeypatch.setattr(statements, "LONG", LONG)


X, Y = spaces.Var("x"), spaces.Var("y")


def sums(length):
    """A chain of Funcs: each adds two neighbors of the Func before and a number of its own."""
    image = spaces.ImageParam(spaces.Int32, 2, "image")
    scale = spaces.Param(spaces.Int32, "scale")
    last = image
    for number in range(length):
        func = spaces.Func(f"step_{number}")
        func[X, Y] = (last[X, Y] + last[X + 1, Y] * scale + number) % 1009
        last = func
    return spaces.pipeline(last, estimates={last: [64, 8], image: [64 + length, 8]})


def at_root(length):
    return "".join(f"step_{n}.compute_root();" for n in range(length))


def in_rows(length):
    return "".join(
        f"step_{n}.compute_at(step_{length - 1}, y).split(x, x, xi, 4).vectorize(xi);"
        for n in range(length - 1)
    )


def expected(length, image, scale):
    for number in range(length):
        image = (image[:, :-1] + image[:, 1:] * scale + number) % 1009
    return image


def functions(length, schedule):
    """The loops of each function of a chain's module."""
    pipeline = sums(length)
    nest = loop_nest(pipeline, spaces.parse_schedule(schedule(length), pipeline))
    program = list(lower(nest).values())[-1]
    text = llvm_module(program, FloatMode.STRICT, AccessMode.PLAIN)
    return [len(re.findall(r"= phi +i64", part)) for part in re.split(r"(?m)^define ", text)[1:]]


@pytest.mark.parametrize("schedule", [at_root, in_rows])
def test_no_function_is_long(schedule):
    few, many = (functions(length, schedule) for length in (LONG // 2 + 8, LONG + 16))
    assert 0 < max(few + many) <= LONG
    assert sum(few) < sum(many) <= 2 * sum(few)
    assert len(few) < len(many) <= 2 * len(few)


def test_short_functions_stay_whole():
    assert functions(LONG // 2, at_root) == [LONG]


@pytest.mark.parametrize(("schedule", "mode"), some(product([in_rows, at_root], AccessMode)))
def test_values_of_long_functions(schedule, mode):
    length, width = LONG // 2 + 6, 21
    pipeline = sums(length)
    text = spaces.parse_schedule(schedule(length), pipeline)
    compiled = compile_cpu_unchecked(pipeline, text, threads=1, access_mode=mode)
    image = np.arange(3 * (width + length), dtype=np.int32).reshape(3, width + length) % 251
    name = f"step_{length - 1}"
    out = {name: np.zeros((3, width), np.int32)}
    compiled({"image": image}, {"scale": 5}, out=out)
    np.testing.assert_array_equal(out[name], expected(length, image, 5))
