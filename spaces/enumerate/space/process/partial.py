"""Partial schedules: what is decided so far, and the next decision."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from attrs import field, frozen

from spaces.enumerate.space.process.decision import (
    DecisionOption,
    DecisionPoint,
    FormParts,
    find_option_taken,
    parts_of,
)
from spaces.enumerate.space.process.final_funcs import final_funcs
from spaces.enumerate.space.process.legality import may_become_legal
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.restrictions.restriction import Restriction
from spaces.markup.card import Card, Listing, Styled, card, few, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.amounts import amount
from spaces.model.deadline import ask_clock
from spaces.model.nest.canonical import canonical_form
from spaces.model.schedules.schedule import FuncSchedule, Schedule

Chooser: TypeAlias = Callable[[DecisionPoint], DecisionOption]
"""Chooses an option of each decision."""

Guide: TypeAlias = Callable[["PartialSchedule"], DecisionOption]
"""Chooses an option of the next decision of a partial schedule."""

NO_FORMS: Mapping[str, FormParts] = MappingProxyType({})
"""No Func has a form of its own."""

_SHOWN = 12
"""The most options on a card."""


@frozen
class PartialSchedule(ShowsCard):
    """A half-decided schedule of a space: ``ScheduleSpace.start()`` is the first one.

    Attributes:
        state: what is decided, and what is to be decided.
        taken: the labels of the options taken, in order. ``ScheduleSpace.resume(taken)`` gives the
            same partial schedule again.

    >>> partial = ScheduleSpace(pipeline, device("cpu")).start()
    >>> [option.label for option in partial.options]
    >>> partial = partial.take(partial.options[0])
    """

    state: ProcessState = field(repr=False)
    taken: tuple[str, ...] = ()

    @staticmethod
    def at(state: ProcessState, taken: tuple[str, ...] = ()) -> PartialSchedule:
        """The partial schedule at the next decision. A single option is no decision: it is taken
        without a label.
        """
        while state.agenda:
            options = state.agenda[0].options(state.without_topic())
            first, second = next(options), next(options, None)
            if second is not None:
                break
            state = first.after
        return PartialSchedule(state, taken)

    def _card(self) -> Card:
        made = f"{amount(len(self.taken), 'decision')} taken"
        decided = Listing(str(self.schedule)) if self.schedule.funcs else None
        if self.decision is None:
            return card("Complete schedule", made, decided)
        about = f" of {self.decision.func}" if self.decision.func else ""
        head = paragraph("Next: ", Styled("strong", self.decision.name), about)
        labels = ((Styled("code", one.label),) for one in self.options)
        return card("Partial schedule", made, decided, head, few(labels, _SHOWN, "options"))

    @cached_property
    def decision(self) -> DecisionPoint | None:
        """The next decision; None if the schedule is complete."""
        if not self.state.agenda:
            return None
        topic = self.state.agenda[0]
        return DecisionPoint(topic.name, topic.func, tuple(self._each_option()))

    def _each_option(self) -> Iterator[DecisionOption]:
        """The options one by one: each is made only if somebody asks."""
        if self.state.agenda:
            yield from self.state.agenda[0].options(self.state.without_topic())

    def _after(self, option: DecisionOption) -> PartialSchedule:
        return PartialSchedule.at(option.after, (*self.taken, option.label))

    @property
    def options(self) -> tuple[DecisionOption, ...]:
        """The options of the next decision, at least two; none if the schedule is complete."""
        return () if self.decision is None else self.decision.options

    @property
    def is_complete(self) -> bool:
        """Whether everything is decided."""
        return not self.state.agenda

    @property
    def schedule(self) -> Schedule:
        """The entries of the Funcs decided so far; factors without a number are parameters."""
        return self.state.schedule

    @cached_property
    def can_be_legal(self) -> bool:
        """Whether any completion may be legal and satisfy the restrictions. False only if none
        does: at the estimates, the decided Funcs break a rule or a restriction whatever the others
        are.
        """
        return may_become_legal(self.state) and self.can_satisfy

    @cached_property
    def can_satisfy(self) -> bool:
        """Whether any completion may satisfy the restrictions of the space. False only if none
        does.
        """
        return next(self.hopeless_restrictions(), None) is None

    def hopeless_restrictions(self) -> Iterator[Restriction]:
        """The restrictions of the space that no completion satisfies."""
        state = self.state
        if state.restricted is None or not state.restricted.where:
            return iter(())
        final = final_funcs(state, state.entries)
        return state.restricted.hopeless_restrictions(
            state.pipeline, state.entries, state.numbers, state.menus, final
        )

    def take(self, option: DecisionOption | str) -> PartialSchedule:
        """The partial schedule after one more decision.

        Args:
            option: an option of the next decision, or its label.

        Raises:
            ValueError: the next decision has no such option, or the schedule is complete.
        """
        label = option.label if isinstance(option, DecisionOption) else option
        for one in self.options:
            if one.label == label:
                return self._after(one)
        if self.decision is None:
            raise ValueError(f"The schedule is complete; {label!r} cannot be taken.")
        labels = ", ".join(repr(one.label) for one in self.options[:12])
        more = f" and {len(self.options) - 12} more" if len(self.options) > 12 else ""
        raise ValueError(
            f"DecisionPoint {self.decision.name!r} has no option {label!r}; it has {labels}{more}."
        )

    def completed(self, choose: Chooser) -> PartialSchedule:
        """The complete schedule that follows if ``choose`` makes all further decisions."""

        def decided(partial: PartialSchedule) -> DecisionOption:
            assert partial.decision is not None
            return choose(partial.decision)

        *_, last = self.led(decided)
        return last

    def led(self, guide: Guide) -> Iterator[PartialSchedule]:
        """The partial schedules on the way to the completion for which ``guide`` makes all further
        decisions: this one first, and the complete one last.
        """
        partial = self
        yield partial
        while not partial.is_complete:
            ask_clock()
            partial = partial._after(guide(partial))
            yield partial

    def at_random(self, chosen: random.Random) -> PartialSchedule:
        """A random completion: at each decision all options have the same chance, so complete
        schedules have not.
        """
        return self.completed(lambda decision: chosen.choice(decision.options))

    def ways(
        self, func: str, keeps: Callable[[FuncSchedule], bool] = lambda entry: True
    ) -> Iterator[PartialSchedule]:
        """The partial schedules once a Func is decided: one for each way to decide it, lazily, in
        the order of the options.

        Args:
            func: the next Func to decide.
            keeps: whether ways with an entry of the Func are wanted; asked after each decision,
                so parts of the entry may still be those of the default schedule.
        """
        return self._until(lambda state: _entry(state, func) is not None, func, keeps)

    def placements(
        self, func: str, keeps: Callable[[FuncSchedule], bool] = lambda entry: True
    ) -> Iterator[PartialSchedule]:
        """The partial schedules once it is decided where a Func is computed, likewise. Further
        decisions about the Func follow, if it is not inlined.
        """
        return self._until(lambda state: _draft(state, func) is not None, func, keeps)

    def _until(
        self,
        ends: Callable[[ProcessState], bool],
        func: str,
        keeps: Callable[[FuncSchedule], bool],
    ) -> Iterator[PartialSchedule]:
        """The first partial schedules on all ways whose state ends the decisions about a Func."""

        def is_kept(state: ProcessState) -> bool:
            draft = _draft(state, func)
            return draft is None or keeps(draft)

        stack: list[Iterator[PartialSchedule]] = [iter((self,))]
        while stack:
            ask_clock()
            partial = next(stack[-1], None)
            if partial is None:
                stack.pop()
                continue
            if not is_kept(partial.state):  # single options were taken since
                continue
            if ends(partial.state):
                yield partial
            else:
                wanted = (option for option in partial._each_option() if is_kept(option.after))
                stack.append(map(partial._after, wanted))

    def towards(self, schedule: Schedule) -> Iterator[PartialSchedule]:
        """The partial schedules on the way to ``schedule``, up to names of loops: this one first,
        and the complete one last. Ends early where no option leads there.
        """
        form = form_of(self.state, schedule)
        partial: PartialSchedule | None = self
        while partial is not None:
            ask_clock()
            yield partial
            option = partial._fitting(form)
            partial = None if option is None else partial._after(option)

    def along(
        self, form: FormParts, own: Mapping[str, FormParts] = NO_FORMS
    ) -> Iterator[PartialSchedule]:
        """The partial schedules on the way to a completion like a schedule of this form: this one
        first, and the complete one last. Where no option fits the form, the way takes the nearest
        one.

        Args:
            form: the parts of the schedule.
            own: for some Funcs, by name, another form, which their decisions follow.
        """

        def choose(partial: PartialSchedule) -> DecisionOption:
            return partial.nearest(own.get(partial.func, form))

        yield from self.led(choose)

    @property
    def func(self) -> str:
        """The Func of the next decision; empty if the decision is about the whole pipeline, or the
        schedule is complete.
        """
        return self.state.agenda[0].func if self.state.agenda else ""

    def nearest(self, form: FormParts) -> DecisionOption:
        """The option of the next decision that a schedule of this form took. If it took none of
        them, the first of the options with the fewest claims that do not hold for it; among numbers
        the nearest one.
        """
        found = self._fitting(form)
        return found or min(self.options, key=lambda one: one.distance(form))

    def _fitting(self, form: FormParts) -> DecisionOption | None:
        """The option that a schedule of this form took; None if it took no option of these."""
        return find_option_taken(self._each_option(), form)


def form_of(state: ProcessState, schedule: Schedule) -> FormParts:
    """The parts of a schedule of the pipeline of a space."""
    return parts_of(canonical_form(state.pipeline, schedule))


def replay_options(start: PartialSchedule, labels: Iterable[str]) -> PartialSchedule:
    """The partial schedule after the options with these labels.

    Raises:
        ValueError: a decision has no such option.
    """
    for label in labels:
        start = start.take(label)
    return start


def _entry(state: ProcessState, func: str) -> FuncSchedule | None:
    """The entry of a Func, if the Func is decided."""
    return next((entry for entry in state.entries if entry.name == func), None)


def _draft(state: ProcessState, func: str) -> FuncSchedule | None:
    """The entry of a Func, as far as it is decided; None if nothing about it is."""
    if state.draft is not None and state.draft.name == func:
        return state.draft
    return _entry(state, func)
