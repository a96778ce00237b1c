"""Numbers that patterns lack are chosen for the Funcs at root of a found schedule."""

from __future__ import annotations

import pytest

import spaces
from spaces.apps.catalog import APPS
from spaces.enumerate.search.quick_search import QuickSearch
from spaces.enumerate.search.rewrites.further_numbers import find_further_numbers
from spaces.enumerate.search.rewrites.registry import REWRITES
from tests.cpus import FOUR_CORES

WITHOUT = tuple(find for find in REWRITES if find is not find_further_numbers)


@pytest.mark.parametrize("target", [FOUR_CORES, spaces.device("sm_80")], ids=lambda one: one.name)
def test_numbers_beyond_the_menus_make_blur_cheaper(target: spaces.Device) -> None:
    space = spaces.ScheduleSpace(APPS["blur"].pipeline(), target)
    found, without = (
        spaces.best(spaces.search(space, None, QuickSearch(rewrites=rewrites))).best[0]
        for rewrites in (REWRITES, WITHOUT)
    )
    assert found.cost < 0.97 * without.cost
    assert found.schedule in space
    assert found.schedule not in space.of_patterns
    assert spaces.verify(space.pipeline, found.schedule, target)


def test_spaces_of_patterns_have_no_further_numbers() -> None:
    space = spaces.ScheduleSpace(APPS["blur"].pipeline(), FOUR_CORES).of_patterns
    found, without = (
        spaces.best(spaces.search(space, None, QuickSearch(rewrites=rewrites)))
        for rewrites in (REWRITES, WITHOUT)
    )
    assert found == without
