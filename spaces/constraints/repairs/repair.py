"""``repair``: the nearest legal schedule, with the edits that lead to it."""

from __future__ import annotations

from typing import Literal

from attrs import evolve, field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.judge import pipeline_faults
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.factors import NearestSchedule
from spaces.constraints.repairs.greedy import descend, place_anew
from spaces.constraints.repairs.ranked_edit import RankedEdit
from spaces.constraints.repairs.reset import reset_funcs
from spaces.constraints.repairs.search import Culprits, Search
from spaces.constraints.repairs.stating import state_edits
from spaces.markup.card import Bullets, Card, card, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given
from spaces.model.recursion import in_one_chunk
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule

MOST_EDITS = 6
"""All sets of up to this many edits are tried, time permitting."""


STARTING_OVER = 0.4
"""Seconds after the time limit for one last try: to give only the wrong Funcs their default
schedule.
"""


@frozen
class Repair(ShowsCard):
    """The nearest legal schedule, if one was found.

    Attributes:
        answer: ``legal``: the schedule is legal. ``nearest``: no legal schedule is nearer.
            ``near``: a legal schedule was found; a nearer one may exist. ``none``: neither the
            edits nor starting over give a legal schedule, or every schedule is illegal.
            ``unknown``: the time was up before one was found.
        schedule: the legal schedule, or None.
        edits: the changes that lead to it, in order.
        distance: the sum of |log2(new / old)| over all factors.
        exhausted: no set of up to this many edits gives a legal schedule.
        left: the violations that remain if there is no repair.
    """

    answer: Literal["legal", "nearest", "near", "none", "unknown"]
    schedule: Schedule | None = field(repr=False)
    edits: tuple[RankedEdit, ...] = ()
    distance: float = 0.0
    exhausted: int = 0
    left: tuple[str, ...] = ()

    @property
    def changes(self) -> int:
        """The number of changed decisions."""
        return sum(edit.changes for edit in self.edits)

    def _card(self) -> Card:
        head, *rest = str(self).splitlines()
        items = tuple((line.strip(),) for line in rest)
        return card("Repair", self.answer, paragraph(head), Bullets(items) if items else None)

    def __str__(self) -> str:
        edits = "\n".join(f"  {edit.text}" for edit in self.edits)
        many = f"{self.changes} decision{'s' * (self.changes != 1)}"
        tried = f"all sets of up to {self.exhausted} edit{'s' * (self.exhausted != 1)}"
        match self.answer:
            case "legal":
                return "The schedule is legal; there is nothing to repair."
            case "nearest":
                return f"The nearest legal schedule changes {many}:\n{edits}"
            case "near":
                return (
                    f"A legal schedule changes {many}; whether a nearer one is legal is unknown "
                    f"({tried} were tried):\n{edits}"
                )
            case "none":
                left = "\n".join(f"  {sentence}" for sentence in self.left)
                if not self.exhausted:
                    return f"Nothing repairs the schedule: none is legal for the device.\n{left}"
                return (
                    f"Nothing repairs the schedule: {tried} were tried, and the default schedule "
                    f"is illegal, too:\n{left}"
                )
        return (
            f"Whether the schedule can be repaired is unknown: the time was up when {tried} had "
            "been tried. Give it more seconds."
        )


@in_one_chunk
def repair(
    pipeline: Pipeline,
    schedule: Schedule,
    device: Device,
    *,
    seconds: float = 2.0,
    most: int = MOST_EDITS,
    text: str = "",
) -> Repair:
    """Searches for the legal schedule nearest to ``schedule``, in at most ``seconds`` and the time
    :data:`STARTING_OVER`.

    An edit changes one decision: a level, a kind of memory, a fold, a tail, the kind of a loop, a
    factor, or the order of the loops of a stage. Up to four loops come in any order; of more, one
    loop moves. An edit may also leave out a split, a fuse or a fold, split a loop that is too long
    for its kind, or replace a wrong name. The nearest schedule changes the fewest decisions; among
    equals the fewest other than factors; then it moves factors the least, by the sum of |log2(new /
    old)|. :func:`spaces.legal_mask` judges the factors, among the numbers of
    :data:`~spaces.constraints.repairs.factors.NUMBERS`.

    The search tries at most ``most`` edits. If they do not suffice, or the time is up, the answer
    is ``near``: the result of edits that each reduced the violations, or of Funcs in their default
    schedules.

    ``text`` is the schedule as the user wrote it. The answer then quotes no directive that does not
    stand there, even if it means the same.

    Raises:
        TypeError: an argument is not a Pipeline, a Schedule or a Device.
        ValueError: ``seconds`` is not a time.
    """
    check_given("repair", pipeline=pipeline, schedule=schedule, device=device)
    deadline = Deadline.after(seconds_given("repair(seconds)", seconds))
    try:
        with deadline.later(STARTING_OVER).kept():
            found = _repaired(pipeline, schedule, device, deadline, most)
    except OutOfTime:
        return Repair("unknown", None)
    return evolve(found, edits=state_edits(pipeline, schedule, found.edits, text))


def _repaired(
    pipeline: Pipeline, schedule: Schedule, device: Device, deadline: Deadline, most: int
) -> Repair:
    """The answer, before its edits get their texts."""
    verdict = verify(pipeline, schedule, device)
    if isinstance(verdict, CheckedSchedule):
        return Repair("legal", schedule)
    hopeless = pipeline_faults(pipeline, device)
    if hopeless:
        return Repair("none", None, left=tuple(map(str, hopeless)))
    return _searched(derived(pipeline, schedule), schedule, verdict, device, deadline, most)


def _searched(
    pipeline: Pipeline,
    schedule: Schedule,
    verdict: Illegal,
    device: Device,
    deadline: Deadline,
    most: int,
) -> Repair:
    """The nearest legal schedule; ``pipeline`` includes the Funcs that the schedule adds."""
    search = Search(pipeline, device, deadline, Culprits.of(verdict))
    exhausted = 0
    quick: NearestSchedule | None = None
    try:
        with deadline.kept():
            quick = place_anew(search, schedule)
            for edits in range(1, most + 1):
                if edits == 2 and (quick is None or len(quick.edits) > edits):
                    quick = _nearer(quick, descend(search, schedule))
                for structural in range(edits + 1):
                    found = search.find_nearest(schedule, structural, edits - structural)
                    if found is not None:
                        args = (found.after, found.edits, found.distance, exhausted)
                        return Repair("nearest", *args)
                exhausted = edits
        out_of_time = False
    except OutOfTime:
        out_of_time = True
    nearer = _nearer(search.best, quick)
    if nearer is not None:
        return Repair("near", nearer.after, nearer.edits, nearer.distance, exhausted)
    return _started_over(search, schedule, exhausted, out_of_time)


def _nearer(one: NearestSchedule | None, other: NearestSchedule | None) -> NearestSchedule | None:
    """The result with fewer edits; the first one of equals."""
    found = [result for result in (one, other) if result is not None]
    return min(found, key=lambda result: len(result.edits), default=None)


def _started_over(search: Search, schedule: Schedule, exhausted: int, out_of_time: bool) -> Repair:
    """The answer if no edits were found."""
    pipeline, device = search.pipeline, search.device
    edits = reset_funcs(pipeline, schedule, device, search.deadline)
    if edits is not None:
        return Repair("near", edits[-1].after, edits, exhausted=exhausted)
    if out_of_time:
        return Repair("unknown", None, exhausted=exhausted)
    plain = verify(pipeline, Schedule.default(pipeline), device)
    left = tuple(map(str, plain.violations)) if isinstance(plain, Illegal) else ()
    return Repair("none", None, exhausted=exhausted, left=left)
