"""A schedule as Python source goes onto the Funcs of a user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import (
    ApplyError,
    HalideProgram,
    Pipeline,
    Schedule,
    apply,
    from_halide,
    parse_schedule,
    same_schedule,
)
from spaces.backend.halide import bridge
from spaces.backend.halide.definition import PeerAlgorithm
from spaces.backend.halide.python_source import halide_python_source
from tests.differential.pipelines import KINDS
from tests.draw_counts import some
from tests.halide_programs.drawn import drawn_schedules

SCHEDULE = """
hist.update(0).split(r.x, ro, ri, 4).rfactor(ro, u).compute_root()
hist.compute_root()
blur.specialize(gain > 2 and blur.dim(0).extent() / 2 > 8).split(x, xo, is, 16).vectorize(is)
blur.split(y, y, yi, 8).parallel(y).never_partition(y)
rows.in(blur).compute_at(blur, yi).store_at(blur, y).vectorize(x, 8)
rows.compute_root()
"""


def funcs():
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 16)], "r")
    photo, gain = hl.ImageParam(hl.UInt(16), 2, "photo"), hl.Param(hl.Int(32), "gain")
    rows, hist, blur = hl.Func("rows"), hl.Func("hist"), hl.Func("blur")
    rows[x, y] = photo[x, y] + photo[x + 1, y]
    hist[x] = hl.u16(0)
    hist[x] += photo[x, r.x]
    blur[x, y] = rows[x, y] + rows[x, y + 1] + hist[x] + hl.u16(gain)
    return gain, blur


def called(pipeline: Pipeline, schedule: Schedule, on: object, **params: object) -> None:
    """Runs the function of a source on a pipeline of Halide."""
    defined: dict[str, object] = {}
    exec(halide_python_source(pipeline, schedule, from_halide(on).names), defined)
    defined[f"schedule_{pipeline.name}"](on, **params)


def test_source_gives_the_funcs_of_a_user_the_schedule() -> None:
    _, other = funcs()
    wanted = from_halide(other).pipeline
    schedule = parse_schedule(SCHEDULE, wanted)
    applied = apply(schedule, other)
    gain, blur = funcs()
    called(wanted, schedule, hl.Pipeline([blur]), gain=gain)
    found = from_halide(blur)
    assert found.pipeline == applied.pipeline
    assert found.schedule == applied.schedule
    assert len(found.schedule.of("blur").specializations) == 1


def numbered(names: Sequence[str]) -> tuple[hl.Func, ...]:
    """Three Funcs of a Var without a name; the last one adds the others."""
    x = hl.Var()
    rows, cols, both = (hl.Func(name) for name in names)
    rows[x], cols[x] = x, x * 2
    both[x] = rows[x] + cols[x]
    return rows, cols, both


def test_source_finds_funcs_whatever_numbers_halide_adds() -> None:
    """Two Funcs have the same name; between both builds Halide has numbered another one."""

    def wanted(program: HalideProgram) -> Schedule:
        first, second, last = program.pipeline.functions
        lines = (
            f"{first.name}.compute_root().unroll({first.args[0]}, 2)",
            f"{second.name}.compute_root()",
            f"{last.name}.vectorize({last.args[0]}, 4)",
        )
        return parse_schedule("\n".join(lines), program.pipeline)

    names = ("blur", "find", "blur")
    program = from_halide(numbered(names)[-1])
    hl.Func("blur")
    rows, _, both = numbered(names)
    defined: dict[str, Any] = {}
    exec(halide_python_source(program.pipeline, wanted(program), program.names), defined)
    defined[f"schedule_{program.pipeline.name}"](hl.Pipeline([both]))
    found = from_halide(both)
    first = found.pipeline.functions[0].name
    assert found.names[first] == rows.name() != program.names.get(first, first)
    assert found.schedule == wanted(found)


def test_source_is_short_and_plain() -> None:
    pipeline = from_halide(funcs()[1]).pipeline
    schedule = parse_schedule("blur.vectorize(x, 8)\nrows.compute_at(blur, y)", pipeline)
    text = halide_python_source(pipeline, schedule, {"rows": "rows$3"})
    assert text.startswith("import re\n\nimport halide as hl\n\n\ndef schedule_blur(pipeline):\n")
    assert text.endswith(
        """
    rows = find("rows")
    hist = find("hist")
    blur = find("blur")
    x = rows.args()[0]
    y = rows.args()[1]
    blur.vectorize(x, 8)
    hist.compute_root()
    rows.compute_at(blur, y)
"""
    )


def test_a_func_that_is_not_there_is_named() -> None:
    pipeline = from_halide(funcs()[1]).pipeline
    x, other = hl.Var("x"), hl.Func("other")
    other[x] = x
    with pytest.raises(KeyError, match="no Func hist, which the schedule needs"):
        called(pipeline, Schedule.default(pipeline), hl.Pipeline([other]))


@pytest.mark.parametrize("kind", some(sorted(KINDS)))
def test_source_of_drawn_schedules(kind: str) -> None:
    """It gives Funcs what applying the schedule gives them."""
    for pipeline, schedule in drawn_schedules("source", kind, 6, fewest=1):
        theirs, ours = (bridge.HalidePipeline(PeerAlgorithm(pipeline)) for _ in range(2))
        try:
            wanted = apply(schedule, theirs.halide)
        except ApplyError:
            continue
        algorithm = ours.algorithm
        given = {**algorithm.images, **algorithm.scalars}
        text = halide_python_source(pipeline, schedule)
        (head,) = (line for line in text.splitlines() if line.startswith("def "))
        asked = head.partition("(")[2].rstrip("):").split(", ")[1:]
        called(pipeline, schedule, ours.halide, **{name: given[name] for name in asked})
        assert same_schedule(wanted.pipeline, from_halide(ours.halide).schedule, wanted.schedule)
