"""The loop nest computes what the pipeline defines, touches only what is there, and prints."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces.model.algebra import evaluate
from spaces.model.directives import schedule
from spaces.model.freeze import pipeline as freeze
from spaces.model.func import Func, Var
from spaces.model.loopnest import loop_nest
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule
from tests.model.nest_interpreter import ideal, run_nest
from tests.strategies import schedules, stencil_pipelines


def image(name: str, at: tuple[int, ...]) -> int:
    x, y = at
    return (x * 7 + y * 13 + x * y) % 101


def sizes_of(pipeline: Pipeline, extents: tuple[int, int], mins: tuple[int, int]) -> dict[str, int]:
    (output,) = pipeline.outputs
    return {
        f"{output}.{part}.{d}": value
        for d in range(2)
        for part, value in (("min", mins[d]), ("extent", extents[d]))
    }


def check_nest(pipeline: Pipeline, schedule: Schedule, sizes: dict[str, int]) -> None:
    nest = loop_nest(pipeline, schedule)
    (output,) = pipeline.outputs
    # Sizes that the schedule does not serve (too small for its tiles) are refused elsewhere.
    for d, interval in enumerate(nest.outputs[output]):
        assert interval.min is not None
        assert interval.max is not None
        low, extent = sizes[f"{output}.min.{d}"], sizes[f"{output}.extent.{d}"]
        assume(evaluate(interval.min, sizes) == low)
        assume(evaluate(interval.max, sizes) == low + extent - 1)
        splits = schedule.of(output).stages[0].splits
        assume(
            all(extent >= s.factor for s in splits if s.old == pipeline.function(output).args[d])
        )

    def checked(name: str, at: tuple[int, ...]) -> int:
        for x, interval in zip(at, nest.inputs[name], strict=True):
            assert interval.min is not None
            assert interval.max is not None
            assert evaluate(interval.min, sizes) <= x <= evaluate(interval.max, sizes)
        return image(name, at)

    outputs, _ = run_nest(nest, sizes, checked)
    x0, w = sizes[f"{output}.min.0"], sizes[f"{output}.extent.0"]
    y0, h = sizes[f"{output}.min.1"], sizes[f"{output}.extent.1"]
    expected = {
        (x, y): ideal(pipeline, output, (x, y), image)
        for x in range(x0, x0 + w)
        for y in range(y0, y0 + h)
    }
    assert outputs[output] == expected


@settings(max_examples=100)
@given(st.data())
def test_every_well_formed_schedule_computes_the_pipeline(data: st.DataObject) -> None:
    pipeline = data.draw(stencil_pipelines(max_stages=3))
    schedule = data.draw(schedules(pipeline))
    extents = data.draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    mins = data.draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
    check_nest(pipeline, schedule, sizes_of(pipeline, extents, mins))


def test_guarded_splits_of_fused_loops_stay_in_the_box() -> None:
    out, x, y = Func("out"), Var("x"), Var("y")
    out[x, y] = x + y
    algorithm = freeze(out)
    fused = schedule(algorithm).fuse("x", "y", "xy").split("xy", "xy", "i", 4, "guard_with_if")
    sizes = {"out.min.0": -2, "out.extent.0": 7, "out.min.1": 5, "out.extent.1": 3}
    box = loop_nest(algorithm, fused.schedule).outputs["out"]
    ends = [evaluate(end, sizes) for i in box for end in (i.min, i.max) if end is not None]
    assert ends == [-2, 4, 5, 7]
