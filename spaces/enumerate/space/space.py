"""What defines a space of schedules, and what it says of a single structure or schedule."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from attrs import Factory, evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.verdict import Illegal, Verdict
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.fixed import inexact_in_fixed, mistakes_in_fixed
from spaces.enumerate.space.further_sizes import (
    FurtherSize,
    as_sizes,
    mistakes_in_estimates,
    mistakes_in_sizes,
)
from spaces.enumerate.space.judged_sizes import JudgedSizes
from spaces.enumerate.space.options import Options, default_options
from spaces.enumerate.space.patterns.menus import FuncMenu, func_menus, loops_of
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.deriving import KINDS, DeriveTopic, derivations
from spaces.enumerate.space.restrictions.leave import left_funcs, mistakes_in_leave
from spaces.enumerate.space.restrictions.mistakes import Nameable
from spaces.enumerate.space.restrictions.restricted import Restricted
from spaces.enumerate.space.restrictions.restriction import Restriction, as_restrictions
from spaces.enumerate.space.structure import Structure
from spaces.markup.card import Card, card, facts
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from spaces.model.suggestions import some_of

T = TypeVar("T")
S = TypeVar("S", bound="Space")

NOTHING_FIXED = Schedule(())
"""A schedule without entries."""


@frozen(repr=False)
class Space(ShowsCard):
    """What defines the schedules of a space: see :class:`ScheduleSpace`, which is this value with
    questions about it as methods. Functions about spaces take this value.
    """

    pipeline: Pipeline
    device: Device = field()
    options: Options = field(
        default=Factory(lambda self: default_options(self.device), takes_self=True)
    )
    fixed: Schedule = NOTHING_FIXED
    leave: tuple[str, ...] = field(default=(), converter=left_funcs)
    where: tuple[Restriction, ...] = field(default=(), converter=as_restrictions)
    sizes: tuple[FurtherSize, ...] = field(default=(), converter=as_sizes)

    @device.validator
    def _given(self, attribute: object, value: object) -> None:
        check_given("ScheduleSpace", pipeline=self.pipeline, device=value)

    def __attrs_post_init__(self) -> None:
        for mistake in mistakes_in_estimates(self.pipeline):
            raise ValueError(mistake)
        mistakes = list(mistakes_in_sizes(self.pipeline, self.sizes))
        if mistakes:
            raise ValueError("\n".join(mistakes))
        faults = tuple(self.judged.faults())
        if faults:
            listed = "\n".join(map(str, faults))
            raise EmptySpaceError(
                f"No schedule of {self.pipeline.name} is legal on {self.device.name}.\n{listed}"
            )
        for mistake in mistakes_in_fixed(self.pipeline, self.fixed):
            raise ValueError(mistake)
        for mistake in mistakes_in_leave(self.pipeline, self.leave, self.fixed):
            raise ValueError(mistake)
        if self.options.exact:
            for mistake in inexact_in_fixed(self.pipeline, self.kept, self.device):
                raise ValueError(mistake)
        conditions = self.restricted.conditions
        names = self._names() if conditions else None
        for mistake in itertools.chain(*(names.mistakes(one) for one in conditions if names)):
            raise ValueError(mistake)

    def __repr__(self) -> str:
        parts = [f"{len(self.fixed.funcs)} fixed"] * bool(self.fixed.funcs)
        parts += [f"{amount(len(self.where), 'condition')}"] * bool(self.where)
        about = f" ({', '.join(parts)})" if parts else ""
        return f"<ScheduleSpace of {self.pipeline.name} for {self.device.name}{about}>"

    def _card(self) -> Card:
        named = {
            "Funcs": some_of([f.name for f in self.pipeline.functions]),
            "device": str(self.device),
            "fixed": some_of([f.name for f in self.fixed.funcs]) or None,
            "left": some_of(list(self.leave)) or None,
            "where": "; ".join(map(str, self.where)) or None,
            "results": "exact" if self.options.exact else "floats may round differently",
            "loops": "one by one" if self.decides_loops else "by patterns",
        }
        return card(f"Schedules of {self.pipeline.name}", f"for {self.device.name}", facts(named))

    @property
    def decides_loops(self) -> bool:
        """Whether the options decide the loops of Funcs one by one."""
        return self.options.decides_loops

    @property
    def only_patterns(self) -> bool:
        """Whether the options decide nothing but placements, store levels, whole patterns of loops,
        and their factors.
        """
        return self.options.only_patterns

    @cached_property
    def of_patterns(self) -> Self:
        """The part of the space in which Funcs have whole patterns of loops. If the space decides
        loops one by one, this is the space of :meth:`Options.medium`, with clones if the space has
        them; else it is the space itself.

        Raises:
            ValueError: a restriction names a loop that no pattern has.
        """
        if not self.decides_loops:
            return self
        return part_of(self, options=self.options.of_patterns(self.device))

    @property
    def has_patterns(self) -> bool:
        """Whether :attr:`of_patterns` can be made: the restrictions name only loops of patterns."""
        try:
            return self.of_patterns is not None  # its truth would ask for a legal schedule
        except ValueError:
            return False

    def with_directive(self, directive: str) -> Self:
        """The space whose schedules may also use a directive; the space itself if they may."""
        own = self.options
        if directive in own.directives:
            return self
        return part_of(self, options=evolve(own, directives=(*own.directives, directive)))

    @cached_property
    def kept(self) -> Schedule:
        """The entries that no decision changes: those of ``fixed``, and of the Funcs in ``leave``
        those of the default schedule.
        """
        plain = Schedule.default(self.pipeline)
        left = tuple(plain.of(name) for name in self.leave)
        return self.fixed.with_funcs((*self.fixed.funcs, *left))

    @cached_property
    def kept_names(self) -> frozenset[str]:
        """The Funcs without decisions."""
        return frozenset(entry.name for entry in self.kept.funcs)

    @cached_property
    def judged(self) -> JudgedSizes:
        """What judges schedules at the estimates and at the further sizes."""
        return JudgedSizes(self.pipeline, self.sizes, self.device, self.options.exact)

    @cached_property
    def restricted(self) -> Restricted:
        """What ``where`` says about the schedules of the space."""
        return Restricted(self.where, self.pipeline, self.device)

    def _names(self) -> Nameable:
        """What conditions may name."""
        loops = {} if self.decides_loops else loops_of(self.menus)
        steps = (step for kind in KINDS for step in derivations(self.undecided, kind))
        derived = frozenset(step.name for step in steps)
        return Nameable(self.pipeline, self.device, loops, derived)

    @cached_property
    def menus(self) -> dict[str, FuncMenu]:
        """The menu of each Func, consumers first.

        Raises:
            ValueError: the options decide the loops of Funcs one by one.
        """
        if self.decides_loops:
            raise ValueError(
                f"The options decide the loops of {self.pipeline.name} one by one (patterns "
                f"{self.options.root[0]}, {self.options.inner[0]}), so its Funcs have no menus of "
                "whole domain orders; of_patterns is the part of the space that has them."
            )
        return func_menus(self.pipeline, self.device, self.options, self.kept, self.sizes)

    @cached_property
    def nests(self) -> NestMemo:
        """What the nests of the structures judged last have in common, for the next ones, also of
        parts of the space (:func:`part_of`).
        """
        return NestMemo()

    def once(self, make: Callable[[Space], T]) -> T:
        """What ``make`` gives for this space. It is made when somebody first asks for it, and kept
        for the next time.
        """
        if make not in self._made:
            self._made[make] = make(self)
        found: T = self._made[make]
        return found

    @cached_property
    def _made(self) -> dict[object, Any]:
        return {}

    def start(self) -> PartialSchedule:
        """The partial schedule in which nothing is decided but the entries in ``fixed`` and
        ``leave``.
        """
        return PartialSchedule.at(self.undecided.then(DeriveTopic()))

    @property
    def undecided(self) -> ProcessState:
        """The state in which nothing is decided, not even the graph of Funcs."""
        return ProcessState(
            self.pipeline,
            self.device,
            self.options,
            self.kept.funcs,
            left=frozenset(self.leave),
            restricted=self.restricted,
            further=self.sizes,
            nests=self.nests,
        )

    def schedule(self, entries: tuple[FuncSchedule, ...]) -> Schedule:
        """The schedule of the rewritten pipeline with these entries."""
        return Schedule(entries, self.pipeline.derivations)

    def legal(self, structure: Structure) -> NDArray[np.bool_]:
        """Which choices of a structure are legal and satisfy the restrictions, in the shape of its
        lattice.
        """
        schedule, columns = structure.schedule, structure.columns
        mask = self.judged.mask(self.pipeline, schedule, columns, self.nests)
        mask = np.array(np.broadcast_to(mask, structure.shape))
        return self.restricted.mask(schedule, columns, mask) if self.where else mask

    def verdict(self, schedule: Schedule) -> Verdict:
        """What :func:`verify` says of a schedule at the estimates and the further sizes, with
        ``exact`` if the options have it, and of a legal one which restrictions it does not satisfy.
        Other decisions of the space do not count.
        """
        verdict = self.judged.verdict(schedule)
        broken = tuple(self.restricted.broken(schedule)) if verdict and self.where else ()
        return Illegal(broken) if broken else verdict


def part_of(space: S, **changes: Any) -> S:
    """A part of a space of the same pipeline, such as one with more ``fixed`` entries. It has the
    memory of nests in common with the space: a search comes to the same nests in several parts.

    Args:
        space: the space.
        changes: other values of its attributes.
    """
    part = evolve(space, **changes)
    object.__setattr__(part, "nests", space.nests)
    return part
