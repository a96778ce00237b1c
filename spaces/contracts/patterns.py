"""What every pattern promises."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.devices.device import Device, device
from spaces.contracts.examples import blur, row_sums
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Maker, Shape
from spaces.enumerate.space.patterns.by_name import make_pattern
from spaces.enumerate.space.schedule_space import ScheduleSpace

_MENUS = {
    "row": (32, 64),
    "tile": (4, 8),
    "lanes": (8, 16),
    "register": (8,),
    "block_row": (8, 16),
    "block": (2, 4),
}

SHAPES = (
    Shape("f", 0, ("x", "y"), (), ("x", "y"), _MENUS),
    Shape("f", 0, ("x", "y", "c"), (), ("x", "y"), _MENUS),
    Shape("f", 0, ("x",), (), ("x",), _MENUS),
    Shape("f", 0, ("x", "y"), (), (), _MENUS),
    Shape("f", 1, ("y",), ("r.x", "x"), ("y",), _MENUS),
    Shape("f", 1, (), ("r.x", "r.y"), (), _MENUS),
    Shape("f", 0, (), (), (), _MENUS),
    Shape("f", 0, ("x", "y", "c"), (), ("x", "y"), _MENUS, short=("c",)),
    Shape("f", 0, ("x", "y"), (), ("x", "y"), _MENUS, reads_sums=True),
    Shape("f", 1, ("x", "y"), ("r.x",), ("x", "y"), _MENUS, sums=True),
    Shape("f", 0, ("x", "y", "c"), (), ("x", "y", "c"), _MENUS, reads_sums=True),
    Shape("f", 1, ("x", "y", "c"), ("r.x",), ("x", "y", "c"), _MENUS, sums=True),
    Shape("f", 0, ("x", "y"), (), ("x",), _MENUS, outermost="y"),
    Shape("f", 0, ("x", "y"), (), ("x", "y"), _MENUS, across="y", outermost="y"),
    Shape(
        "f",
        1,
        ("x", "y", "c"),
        ("r.x",),
        ("x", "y", "c"),
        _MENUS,
        sums=True,
        shares=frozenset({"c"}),
    ),
)
"""Stages with and without long, short and dependent dimensions and sums, one off rows, and one of a
single value.
"""


class PatternContract:
    """The tests of a pattern at root."""

    name: str
    """The name under which the pattern is registered for ``Options.root``."""

    def maker(self) -> Maker:
        """The pattern under test."""
        raise NotImplementedError("a contract test says which pattern it tests")

    def device(self) -> Device:
        """The device that the pattern is for."""
        return device("cpu")

    def test_it_fits_every_stage_or_gives_none(self) -> None:
        made = [make_pattern("the pattern", self.maker(), shape) for shape in SHAPES]
        assert any(made), "It fits no stage."

    def test_the_same_stage_gets_the_same_loops(self) -> None:
        for shape in SHAPES:
            assert self.maker()(shape) == self.maker()(shape), f"{shape} gets different loops."

    def test_names_of_loops_do_not_depend_on_the_func(self) -> None:
        for shape in SHAPES:
            first = self.maker()(shape)
            other = self.maker()(evolve(shape, func="g"))
            names = [pattern and pattern.order.names for pattern in (first, other)]
            assert names[0] == names[1], f"Loops of f and g have different names: {names}."

    def test_a_space_with_it_has_legal_schedules(self) -> None:
        options = evolve(Options.small(self.device()), root=(self.name,))
        for pipe in (blur(), row_sums()):
            space = ScheduleSpace(pipe, self.device(), options)
            assert next(iter(space), None), f"No schedule of {pipe.name} is legal."
