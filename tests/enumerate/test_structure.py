"""Structures and the indices of their choices."""

from __future__ import annotations

from spaces.enumerate.space.structure import Structure
from spaces.model.schedules.schedule import Schedule

MENUS = {"a": (8, 16, 32), "b": (2,), "c": (1, 4)}


def test_each_choice_has_its_index() -> None:
    structure = Structure(Schedule(()), MENUS)
    numbers = [structure.numbers(index) for index in range(structure.size)]
    assert [structure.index(one) for one in numbers] == list(range(6))
    assert structure.index({"a": 32, "b": 2, "c": 1, "other": 7}) == 4


def test_a_number_that_is_on_no_menu_has_no_index() -> None:
    assert Structure(Schedule(()), MENUS).index({"a": 9, "b": 2, "c": 1}) is None
