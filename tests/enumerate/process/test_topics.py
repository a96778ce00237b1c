"""A directive about one Func is known to one topic, which the process and the solver ask."""

from __future__ import annotations

import itertools
import random

import pytest

from spaces import Decision, MemoryType, Options, PartialSchedule, ScheduleSpace, universe
from spaces.enumerate.space.options import OPTIONAL_DIRECTIVES
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

OF_ENTRIES = [name for name, about in OPTIONAL_DIRECTIVES.items() if about == "entry"]


def space_with(*directives: str) -> ScheduleSpace:
    """A space of a small image, so that bounds may be offered."""
    few = {"row_tiles": (32,), "tiles": (8,), "lanes": (1,), "folds": (2,), "short": 40}
    return ScheduleSpace(blur(32, 24), FOUR_CORES, Options(**few, directives=directives))


def decisions_of(space: ScheduleSpace) -> dict[str, Decision]:
    """Those of the solver, by the names that the process gives them."""
    return {one.name.replace(".", " ", 1): one for one in universe(space).decisions}


@pytest.mark.parametrize("directive", OF_ENTRIES)
def test_what_the_process_decides_about_a_func_the_solver_decides_too(directive: str) -> None:
    space = space_with(directive)
    added = decisions_of(space).keys() - decisions_of(space_with()).keys()
    chosen, offered = random.Random(0), dict[str, set[str]]()

    def choose(partial: PartialSchedule) -> None:
        while (decision := partial.decision) is not None:
            labels = [option.label for option in decision.options]
            offered.setdefault(decision.name, set()).update(labels)
            partial = partial.take(chosen.choice(labels))

    for _ in range(20):
        choose(space.start())
    assert added
    assert added == {name for name in offered if name in added}
    for name in added:
        options = set(map(str, decisions_of(space)[name].options))
        assert offered[name] <= options
        assert len(offered[name]) > 1


def test_a_space_with_such_a_directive_has_more_than_patterns() -> None:
    assert space_with().only_patterns
    assert not any(space_with(directive).only_patterns for directive in OF_ENTRIES)


def test_only_the_memory_of_a_place_is_offered() -> None:
    """A CPU has no memory that the threads of a block share."""
    space = space_with("store_in")
    assert any("GPUShared" in str(one) for one in decisions_of(space)["blur_x memory"].options)
    for schedule in itertools.islice(space.structures(), 200):
        memories = {entry.memory for entry in schedule.schedule.funcs}
        assert MemoryType.GPU_SHARED not in memories


@pytest.mark.parametrize(
    ("directive", "why"),
    [
        ("in_", "have in_, so that schedules differ in their Funcs"),
        ("clone_in", "have clone_in, so that schedules differ in their Funcs"),
        ("rfactor", "have rfactor, so that schedules differ in their Funcs"),
        ("compute_with", "have compute_with, so that what a Func may share loops with depends"),
    ],
)
def test_what_the_solver_cannot_decide_is_refused_in_words(directive: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        universe(space_with(directive))
