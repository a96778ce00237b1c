"""Chooses among numbers that the patterns of loops do not have.

A pattern has a few numbers for each factor. A space that decides loops one by one has many more,
such as all divisors of an extent. A search can't compare all of these for each structure. For a
found schedule it can, one factor at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import frozen

from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers, Rewrite
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.process.topics.factors import factors_for
from spaces.model.schedules.domain_order import DomainOrder, Split
from spaces.model.schedules.schedule import FuncSchedule


@frozen
class ChooseFurtherNumber:
    """Chooses one factor of a Func among all numbers of the space.

    Attributes:
        func: the Func.
        parameter: the name of the factor.
    """

    keeps_structure: ClassVar[bool] = True

    func: str
    parameter: str

    def open(self, found: FoundSchedule) -> Iterator[OpenNumbers]:
        """The schedule with the factor open."""
        space, pipeline = found.space, found.pipeline
        for name, dimension in _factors(found.schedule.of(self.func)):
            extent = sizes_of(pipeline).extent(self.func, dimension)
            if name == self.parameter and extent is not None:
                function = pipeline.function(self.func)
                numbers = factors_for(space.options, space.device, function, extent)
                fitting = {number for number in numbers if number <= extent}
                menu = tuple(sorted({*fitting, found.numbers[name]}))
                yield OpenNumbers(found.schedule, {name: menu})
                return


def find_further_numbers(found: FoundSchedule) -> Iterator[Rewrite]:
    """The factors of Funcs at root, whose tiles are those of whole nests, consumers first, if the
    space decides loops one by one.
    """
    if found.space.decides_loops:
        for entry in reversed(found.schedule.funcs):
            for name, _ in _factors(entry):
                if entry.compute.is_root and name in found.menus:
                    yield ChooseFurtherNumber(entry.name, name)


def _factors(entry: FuncSchedule) -> Iterator[tuple[str, str]]:
    """The factors of a Func that are parameters, each with the dimension that it splits."""
    for order in entry.stages:
        yield from _factors_of(order)


def _factors_of(order: DomainOrder) -> Iterator[tuple[str, str]]:
    origins: dict[str, str] = {}
    for record in order.splits:
        if isinstance(record, Split):
            dimension = origins.get(record.old, record.old)
            origins |= {record.outer: dimension, record.inner: dimension}
            if isinstance(record.factor, str):
                yield record.factor, dimension
