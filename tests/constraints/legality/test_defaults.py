"""Schedules are judged for the defaults of parameters as for the estimated sizes."""

from __future__ import annotations

import pytest

from spaces import (
    Func,
    ImageParam,
    Int32,
    Param,
    Pipeline,
    UInt8,
    UInt16,
    Var,
    cast,
    device,
    legal_mask,
    min,
    parse_schedule,
    pipeline,
    repair,
    verify,
)
from spaces.model.expressions.types import Type

CPU = device("cpu")


def clamped(default: int | None, type: Type = Int32) -> Pipeline:
    """``g`` is needed from 0 to ``p``, and reads its image there."""
    x, p = Var("x"), Param(type, "p", default=default)
    image, g, f = ImageParam(UInt16, 1, "im"), Func("g"), Func("f")
    g[x] = image[x] + 1
    f[x] = g[min(x, cast(Int32, p))]
    return pipeline(f, estimates={f: [64], image: [64]})


TILES = "g.compute_root().split(x, x, xi, {})"
"""The tile is shifted inwards: it begins before the image if ``g`` is less wide."""


@pytest.mark.parametrize("type", [Int32, UInt8])
def test_a_default_is_a_usual_size(type: Type) -> None:
    made = clamped(2, type)
    (found,) = verify(made, parse_schedule(TILES.format(8), made), CPU).violations
    assert found.rule == "bounds.image-overrun"
    assert found.message.startswith("Image im is read from coordinate -5 in dimension 0")
    assert found.message.endswith(
        "(At the estimated sizes f.extent.0 = 64, f.min.0 = 0, im.min.0 = 0 and the default p = 2.)"
    )
    wide = clamped(7, type)
    assert verify(wide, parse_schedule(TILES.format(8), wide), CPU)


def test_without_a_default_a_parameter_is_a_condition() -> None:
    made = clamped(None)
    verdict = verify(made, parse_schedule(TILES.format(8), made), CPU)
    assert any("p" in one.condition.names for one in verdict.size_conditions)


@pytest.mark.parametrize("type", [Int32, UInt8])
def test_masks_and_the_solver_know_defaults(type: Type) -> None:
    made = clamped(2, type)
    structure = parse_schedule(TILES.format("n"), made)
    assert legal_mask(made, structure, CPU, {"n": [2, 3, 4, 8]}).tolist() == [
        True,
        True,
        False,
        False,
    ]
    found = repair(made, parse_schedule(TILES.format(8), made), CPU)
    assert found.answer == "nearest"
    assert verify(made, found.schedule, CPU)


def test_a_default_selects_the_case() -> None:
    """The case for a large parameter has tiles that are too wide for the output."""
    few, many = clamped(2), clamped(7)
    text = "f.specialize(p > 6).split(x, x, xi, 128)\ng.compute_root()"
    assert verify(few, parse_schedule(text, few), CPU)
    assert not verify(many, parse_schedule(text, many), CPU)


def test_an_image_that_is_too_small_for_a_default_is_told_once() -> None:
    x, p = Var("x"), Param(Int32, "p", default=3)
    image, f = ImageParam(UInt16, 1, "im"), Func("f")
    f[x] = image[x + p]
    made = pipeline(f, estimates={f: [64], image: [64]})
    (found,) = verify(made, parse_schedule("", made), CPU).violations
    assert found.rule == "bounds.impossible-estimates"
    assert "im holds 0 to 63 in dimension 0, but 3 to 66 is needed" in found.message
