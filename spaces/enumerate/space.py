"""Spaces: every schedule that the options allow for a pipeline on a device."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from attrs import Factory, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.given import check_given
from spaces.constraints.legality.judge import pipeline_faults
from spaces.constraints.legality.lattice import legal_mask
from spaces.constraints.legality.verdict import CheckedSchedule, Verdict
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Columns
from spaces.enumerate.census import Census, entry_parameters
from spaces.enumerate.frontier import Frontier
from spaces.enumerate.menus import FuncMenu, func_menus
from spaces.enumerate.options import Options, default_options
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import FuncSchedule, Schedule

NOTHING_FIXED = Schedule(())
"""No schedule of any Func."""


class EmptySpaceError(ValueError):
    """No schedule of a space is legal, or none was found."""


@frozen
class Structure:
    """One structure of a space with its tile lattice.

    Attributes:
        schedule: the structure, with parameters as factors.
        menus: for each parameter the factors to choose from.
    """

    schedule: Schedule
    menus: dict[str, tuple[int, ...]] = field(eq=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Choices along each parameter; ``()`` where there are none."""
        return tuple(len(menu) for menu in self.menus.values())

    @property
    def size(self) -> int:
        """Choices in all."""
        return math.prod(self.shape)

    @property
    def columns(self) -> Columns:
        """The lattice as an open mesh: one axis a parameter."""
        axes = np.ix_(*self.menus.values()) if self.menus else ()
        return {n: a.astype(np.int64) for n, a in zip(self.menus, axes, strict=True)}

    def numbers(self, index: int) -> dict[str, int]:
        """The factors of one choice, by its index in the flattened lattice."""
        place = np.unravel_index(index, self.shape) if self.shape else ()
        return {
            name: menu[int(i)] for (name, menu), i in zip(self.menus.items(), place, strict=True)
        }

    def at(self, index: int) -> Schedule:
        """The schedule of one choice."""
        return bind(self.schedule, self.numbers(index))


@frozen
class ScheduleSpace:
    """The schedules of ``pipeline`` that ``options`` allow and that are legal on ``device``.

    A schedule is a structure (for each Func where it is computed and stored, and the pattern of
    its loops) and a number for each of its parameters (tile sizes and vector lanes). Structures
    are visited one by one, tile sizes never: all choices of a structure are judged as arrays.

    Funcs with an entry in ``fixed`` are scheduled as it says, by hand for instance; options are for
    the others.

    Raises:
        EmptySpaceError: the pipeline makes every schedule illegal, such as by estimates that
            contradict one another.
        ValueError: ``fixed`` has an entry that does not fit a Func of the pipeline.

    >>> space = ScheduleSpace(pipeline, device("cpu"))
    >>> next(iter(space))
    """

    pipeline: Pipeline
    device: Device = field()
    options: Options = field(
        default=Factory(lambda self: default_options(self.device), takes_self=True)
    )
    fixed: Schedule = NOTHING_FIXED

    @device.validator
    def _given(self, attribute: object, value: object) -> None:
        check_given("ScheduleSpace", pipeline=self.pipeline, device=value)

    def __attrs_post_init__(self) -> None:
        faults = pipeline_faults(self.pipeline, self.device)
        if faults:
            told = "\n".join(map(str, faults))
            raise EmptySpaceError(
                f"No schedule of {self.pipeline.name} is legal on {self.device.name}.\n{told}"
            )
        for mistake in _misfits(self.pipeline, self.fixed):
            raise ValueError(mistake)

    @cached_property
    def menus(self) -> dict[str, FuncMenu]:
        """The menu of each Func, consumers first."""
        return func_menus(self.pipeline, self.device, self.options, self.fixed)

    @cached_property
    def _census(self) -> Census:
        return Census(self.menus)

    def structures(self) -> Iterator[Structure]:
        """Every structure, lazily and always in the same order, legal for some sizes or not."""
        names = list(self.menus)

        def decide(
            position: int, frontier: Frontier, entries: tuple[FuncSchedule, ...]
        ) -> Iterator[Structure]:
            if position == len(names):
                yield self.structure(self.schedule(entries))
                return
            menu = self.menus[names[position]]
            for entry in menu.entries(frontier.path(menu.function.name)):
                after = frontier.after(menu.function, entry)
                yield from decide(position + 1, after, (entry, *entries))

        yield from decide(0, Frontier({}), ())

    def schedule(self, entries: tuple[FuncSchedule, ...]) -> Schedule:
        """The schedule of the pipeline, as it was rewritten, that has these entries."""
        return Schedule(entries, self.pipeline.derivations)

    def structure(self, schedule: Schedule) -> Structure:
        """A structure of the space with the menus of its parameters."""
        factors = {n: m for menu in self.menus.values() for n, m in menu.factors.items()}
        return Structure(schedule, {name: factors[name] for name in parameters(schedule)})

    def legal(self, structure: Structure) -> NDArray[np.bool_]:
        """Which choices of a structure are legal, in the shape of its lattice."""
        mask = legal_mask(self.pipeline, structure.schedule, self.device, structure.columns)
        return np.array(np.broadcast_to(mask, structure.shape))

    def __iter__(self) -> Iterator[Schedule]:
        """Every legal schedule, lazily and always in the same order."""
        for structure in self.structures():
            for index in np.flatnonzero(self.legal(structure)):
                yield structure.at(int(index))

    def count(self) -> int:
        """The number of legal schedules.

        It asks each structure once, so that it suits spaces of thousands of structures, not those
        of millions: see :meth:`candidates` and :meth:`estimate`.
        """
        return sum(int(self.legal(structure).sum()) for structure in self.structures())

    @property
    def candidates(self) -> int:
        """The number of schedules before legality is asked: an upper limit of :meth:`count`.

        It is exact, and immediate also where the space is astronomic.
        """
        return self._census.total()

    def candidate(self, index: int) -> Schedule:
        """The candidate of an index below :attr:`candidates`, legal or not.

        Raises:
            IndexError: there are not as many.
        """
        entries, numbers = self._census.candidate(index)
        return bind(self.schedule(entries), numbers)

    def estimate(self, samples: int = 200, seed: int = 0) -> tuple[float, float]:
        """An estimate of :meth:`count` and its standard error, from random candidates."""
        chosen = random.Random(seed)
        hits = sum(self._draw(chosen).legal for _ in range(samples))
        share = hits / samples
        error = math.sqrt(share * (1 - share) / samples)
        return self.candidates * share, self.candidates * error

    def sample(
        self, count: int, seed: int = 0, attempts: int = 1000, seconds: float = 30.0
    ) -> list[Schedule]:
        """Legal schedules drawn with equal chances, and independently: one may come twice.

        Args:
            count: how many.
            seed: the same seed draws the same schedules.
            attempts: candidates to draw for each before giving up.
            seconds: time to draw illegal candidates, one after another, before giving up.

        Raises:
            ValueError: ``count`` is negative.
            EmptySpaceError: hardly any candidate is legal.
        """
        if count < 0:
            raise ValueError(f"sample draws a number of schedules, and {count} is none.")
        chosen = random.Random(seed)
        drawn: list[Schedule] = []
        broken: Counter[str] = Counter()
        tries, latest = 0, time.monotonic()
        while len(drawn) < count:
            if tries == count * attempts or time.monotonic() - latest > seconds:
                raise EmptySpaceError(self._hardly_any(tries, len(drawn), broken))
            tries += 1
            verdict = self._draw(chosen)
            if isinstance(verdict, CheckedSchedule):
                drawn.append(verdict.schedule)
                latest = time.monotonic()
            broken.update({violation.rule for violation in verdict.violations})
        return drawn

    def _hardly_any(self, tries: int, legal: int, broken: Counter[str]) -> str:
        """What to say where few of the candidates drawn are legal; ``broken`` are the rules that
        the others break.
        """
        common = ", ".join(f"{rule} ({times})" for rule, times in broken.most_common(3))
        return (
            f"Of {tries} candidates drawn for {self.pipeline.name} on {self.device.name} only "
            f"{legal} are legal; what most of the others break is {common or 'nothing'}. Choose "
            "smaller tiles or fewer lanes in the options; explain_empty(space) tells whether "
            "anything is legal."
        )

    def _draw(self, chosen: random.Random) -> Verdict:
        """The verdict on a candidate. Every candidate has the same chance, so every legal schedule
        has.
        """
        schedule = self.candidate(chosen.randrange(self.candidates))
        return verify(self.pipeline, schedule, self.device)

    def __contains__(self, schedule: object) -> bool:
        """Whether a schedule, with numbers for all factors, is one of the space."""
        return isinstance(schedule, Schedule) and self.find(schedule) is not None

    def find(self, schedule: Schedule) -> tuple[Structure, int] | None:
        """The structure of a schedule and its index in the lattice; None if it is not in the
        space.
        """
        if {f.name for f in schedule.funcs} != set(self.menus):
            return None
        frontier = Frontier({})
        entries: tuple[FuncSchedule, ...] = ()
        numbers: dict[str, int] = {}
        for name, menu in self.menus.items():
            wanted = schedule.of(name)
            for entry in menu.entries(frontier.path(name)):
                found = _numbers(menu, entry, wanted)
                if found is not None:
                    numbers |= found
                    frontier = frontier.after(menu.function, entry)
                    entries = (entry, *entries)
                    break
            else:
                return None
        structure = self.structure(self.schedule(entries))
        place = tuple(menu.index(numbers[n]) for n, menu in structure.menus.items())
        if not self.legal(structure)[place]:
            return None
        return structure, int(np.ravel_multi_index(place, structure.shape)) if place else 0


def _misfits(pipeline: Pipeline, fixed: Schedule) -> Iterator[str]:
    """What is wrong with the entries of a schedule of some Funcs."""
    for step in fixed.derivations:
        if step not in pipeline.derivations:
            yield (
                f"The schedule given derives {step.name}, which pipeline {pipeline.name} has not; "
                "make a space of what derived(pipeline, schedule) gives."
            )
    stages = {function.name: len(function.stages) for function in pipeline.functions}
    names = [entry.name for entry in fixed.funcs]
    for entry in fixed.funcs:
        if entry.name not in stages:
            known = ", ".join(stages)
            yield f"Pipeline {pipeline.name} has no Func {entry.name!r}; it has {known}."
        elif names.count(entry.name) > 1:
            yield f"{entry.name} is scheduled twice; give one schedule of it."
        elif len(entry.stages) != stages[entry.name]:
            yield (
                f"{entry.name} has {stages[entry.name]} stages, but {len(entry.stages)} domain "
                "orders are given; give one for each."
            )
        elif entry_parameters(entry):
            yield (
                f"The factors {', '.join(entry_parameters(entry))} of {entry.name} are no numbers; "
                "leave the Func open, or give numbers."
            )


def _numbers(menu: FuncMenu, entry: FuncSchedule, wanted: FuncSchedule) -> dict[str, int] | None:
    """The factors with which ``entry`` becomes ``wanted``; None where there are none."""
    if (entry.compute, entry.store) != (wanted.compute, wanted.store):
        return None
    numbers: dict[str, int] = {}
    for order, given in zip(entry.stages, wanted.stages, strict=True):
        for record, other in zip(order.splits, given.splits, strict=False):
            factor, number = getattr(record, "factor", None), getattr(other, "factor", None)
            if isinstance(factor, str) and isinstance(number, int):
                numbers[factor] = number
    names = entry_parameters(entry)
    if any(numbers.get(name) not in menu.factors[name] for name in names):
        return None
    same = bind(Schedule((entry,)), numbers) == Schedule((wanted,))
    return numbers if same else None
