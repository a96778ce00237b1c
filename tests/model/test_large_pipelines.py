"""Pipelines of more than a hundred stages: every step is linear in what the algorithm says."""

from __future__ import annotations

from spaces.model.directives import schedule
from spaces.model.expr import Expr, as_expr, walk
from spaces.model.freeze import pipeline
from spaces.model.func import Func
from spaces.model.image_param import ImageParam
from spaces.model.loopnest import loop_nest
from spaces.model.nest_text import format_nest
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule
from spaces.model.serialize import from_json, to_json
from spaces.model.text import format_schedule
from spaces.model.types import Int32
from spaces.model.var import Var

X, Y = Var("x"), Var("y")


def ladder(stages: int) -> Pipeline:
    """Each Func reads the one before twice and an earlier one; each value uses its parts twice."""
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
    """Distinct nodes of all values."""
    return sum(1 for _ in walk(*(f.stages[0].values[0] for f in algorithm.functions)))


def test_values_stay_shared_from_definition_to_document() -> None:
    """A stage adds at most 60 nodes for its sums and products, and 5 for its reads."""
    small, large = nodes(ladder(20)), nodes(ladder(140))
    assert small <= 20 * 65 + 10
    assert large - small <= 120 * 65
    text = to_json(ladder(140))
    assert len(text) < 140 * 65 * 60
    assert from_json(text, Pipeline) == ladder(140)


def test_texts_grow_with_the_stages_only() -> None:
    algorithm = ladder(140)
    plain = Schedule.default(algorithm)
    assert len(format_schedule(plain, algorithm)) < 140 * 40
    assert len(repr(algorithm)) < 140 * 65 * 40
    directives = schedule(algorithm)
    for function in algorithm.functions[:-1]:
        directives = directives.func(function.name).compute_root()
    assert len(format_nest(loop_nest(algorithm, directives.schedule))) < 140 * 800
