"""Pipelines of more than a hundred stages: the work of each step is linear in their size."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise

import pytest

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr, as_expr, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.nest_text import format_nest
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule

X, Y = Var("x"), Var("y")


def ladder(stages: int) -> Pipeline:
    """Each Func reads the Func before it twice, and an earlier Func; each value uses its parts
    twice.
    """
    made: list[Func | ImageParam] = [ImageParam(Int32, 2, "input")]
    for number in range(stages):
        func, near, far = Func(f"s{number}"), made[-1], made[max(0, len(made) - 4)]
        value: Expr = near[X, Y] + as_expr(far[X + 1, Y]) * number
        for _ in range(30):
            value = value * value + value
        func[X, Y] = value
        made.append(func)
    last = made[-1]
    assert isinstance(last, Func)
    return pipeline(last)


def nodes(algorithm: Pipeline) -> int:
    """The number of distinct nodes of all values."""
    return sum(1 for _ in walk(*(f.stages[0].values[0] for f in algorithm.functions)))


def test_values_stay_shared_from_definition_to_document() -> None:
    """A stage adds at most 60 nodes for its sums and products, and 5 for its reads."""
    algorithm = ladder(140)
    small, large = nodes(ladder(20)), nodes(algorithm)
    assert small <= 20 * 65 + 10
    assert large - small <= 120 * 65
    text = to_json(algorithm)
    assert len(text) < 140 * 65 * 60
    assert from_json(text, Pipeline) == algorithm


def test_texts_grow_with_the_stages_only() -> None:
    algorithm = ladder(140)
    plain = Schedule.default(algorithm)
    assert len(format_schedule(plain, algorithm)) < 140 * 40
    assert len(repr(algorithm.functions)) < 140 * 65 * 40
    directives = schedule(algorithm)
    for function in algorithm.functions[:-1]:
        directives = directives.func(function.name).compute_root()
    assert len(format_nest(loop_nest(algorithm, directives.schedule))) < 140 * 800


def fan(outputs: int) -> Pipeline:
    """Outputs that read one Func at different coordinates; each output has its own size."""
    image, read = ImageParam(Int32, 2, "input"), Func("read")
    read[X, Y] = image[X, Y] * 2
    made = []
    for number in range(outputs):
        made.append(Func(f"out{number}"))
        made[-1][X, Y] = as_expr(read[X + number % 5 - 2, Y + number // 5]) + read[X, Y]
    return pipeline(made)


def at_root(algorithm: Pipeline) -> Schedule:
    """Computes at root every Func that another Func reads."""
    read = [f.name for f in algorithm.functions if f.name not in algorithm.outputs]
    return reduce(lambda s, name: s.func(name).compute_root(), read, schedule(algorithm)).schedule


def asked(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> int:
    """The number of requests for a normal form, a proof or a limit."""
    calls = 0

    def counted(method):
        def call(self, *args):
            nonlocal calls
            calls += 1
            return method(self, *args)

        return call

    with monkeypatch.context() as patched:
        for name in ("polynomial", "proves_at_most", "lower"):
            patched.setattr(Simplifier, name, counted(getattr(Simplifier, name)))
        work()
    return calls


@pytest.mark.parametrize("family", [fan, ladder])
def test_twice_the_stages_are_placed_with_twice_the_work(monkeypatch, family) -> None:
    counts = []
    for size in (15, 30, 60):
        algorithm = family(size)
        plan = at_root(algorithm)
        counts.append(asked(monkeypatch, lambda a=algorithm, s=plan: loop_nest(a, s).inputs))
    for small, large in pairwise(counts):
        assert large < 2.5 * small


def test_reads_of_many_outputs_give_one_flat_minimum_and_maximum() -> None:
    """The box of their reads has one operand for each output, in a balanced tree."""
    algorithm = fan(60)
    (box,) = loop_nest(algorithm, at_root(algorithm)).inputs.values()
    sizes = {
        f"out{n}.{part}.{d}": value
        for n in range(60)
        for d in (0, 1)
        for part, value in (("min", -3 * n + d), ("extent", 7 + n * n % 11))
    }
    firsts = [-3 * n + min(0, n % 5 - 2) for n in range(60)]
    lasts = [-3 * n + max(0, n % 5 - 2) + 7 + n * n % 11 - 1 for n in range(60)]
    assert (evaluate(box[0].min, sizes), evaluate(box[0].max, sizes)) == (min(firsts), max(lasts))
    for end in (box[0].min, box[0].max, box[1].min, box[1].max):
        assert sum(1 for _ in walk(end)) <= 60 * 8
        assert depth(end) <= 10


def depth(expr: Expr) -> int:
    """The most nodes on a path from the root to a leaf."""
    found: dict[Expr, int] = {}
    for node in walk(expr):
        found[node] = 1 + max((found[c] for c in node.children), default=0)
    return found[expr]
