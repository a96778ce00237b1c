"""Patterns of users that do not fit a stage: each mistake gets a sentence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spaces import (
    DomainOrder,
    Fuse,
    Options,
    OrderedLoop,
    Pattern,
    PatternError,
    ScheduleSpace,
    Shape,
    Split,
    register_pattern,
)
from spaces.enumerate.patterns import ROOT_PATTERNS
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

X, Y = OrderedLoop("x"), OrderedLoop("y")
XO, XI = OrderedLoop("xo"), OrderedLoop("xi")


@pytest.fixture(autouse=True)
def _patterns() -> Iterator[None]:
    """Leaves the registered patterns as they were."""
    before = set(ROOT_PATTERNS)
    yield
    for name in set(ROOT_PATTERNS) - before:
        del ROOT_PATTERNS[name]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        ("y", "Pattern own makes a str of stage 0 of blur_y; it returns a Pattern, or None"),
        (
            Pattern(DomainOrder(loops=(X,)), ()),
            "Pattern own orders the loops x of stage 0 of blur_y; it has x, y, each once.",
        ),
        (
            Pattern(DomainOrder((Fuse("x", "z", "t"),), (OrderedLoop("t"), Y)), ()),
            "Pattern own splits or fuses z of stage 0 of blur_y, which has only the loops x, y",
        ),
        (
            Pattern(DomainOrder((Split("x", "xo", "xi", "width"),), (Y, XO, XI)), ()),
            "Pattern own has no numbers to choose from for factor width of stage 0 of blur_y",
        ),
    ],
)
def test_a_wrong_pattern_gets_a_sentence(made: object, sentence: str) -> None:
    register_pattern("own", lambda shape: made)
    space = ScheduleSpace(blur(), FOUR_CORES, Options(root=("own",), placements=("inline",)))
    with pytest.raises(PatternError, match="^" + sentence):
        list(space)


def test_a_pattern_that_fits_makes_schedules() -> None:
    def own(shape: Shape) -> Pattern:
        loops = (OrderedLoop(name) for name in (*shape.free, *shape.bound))
        return Pattern(DomainOrder(loops=tuple(loops)), ())

    register_pattern("own", own)
    space = ScheduleSpace(blur(), FOUR_CORES, Options(root=("own",), placements=("inline",)))
    (schedule,) = space
    assert schedule.of("blur_y").stages[0].names == ("x", "y")


def test_names_and_kinds_of_patterns_are_checked() -> None:
    with pytest.raises(ValueError, match="nests is a pattern that decides loop by loop"):
        register_pattern("nests", lambda shape: None)
    with pytest.raises(TypeError, match="takes a function from a Shape to a Pattern, not a int"):
        register_pattern("own", 3)  # type: ignore[arg-type]
