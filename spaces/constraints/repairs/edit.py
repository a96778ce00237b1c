"""One decision of a schedule taken otherwise."""

from __future__ import annotations

from enum import IntEnum

from attrs import field, frozen

from spaces.model.schedules.domain_order import Fuse, LoopKind, Split, Tail
from spaces.model.schedules.schedule import INLINE, LoopLevel, Schedule
from spaces.model.writing.calls import KIND_DIRECTIVES


class Rank(IntEnum):
    """How much an edit changes what was meant: of as many edits, those of lower ranks first."""

    NAME = 0
    FACTOR = 1
    TAIL = 2
    FOLD = 3
    MEMORY = 4
    STORE = 5
    SPLIT = 6
    ORDER = 7
    COMPUTE = 8
    KIND = 9
    DROP = 10


@frozen
class Edit:
    """A change of one decision.

    Attributes:
        func: the Func whose entry it changes.
        text: the directive to write, and the one that it replaces.
        rank: how much it changes what was meant.
        unlike: how far the new option is from the old one, from 0 to 1.
        after: the schedule with the decision changed.
        loops: the (stage, loop) pairs whose existence or kind it changes.
        changes: decisions changed: 1, except where a whole Func starts over.
    """

    func: str
    text: str
    rank: Rank
    unlike: float
    after: Schedule = field(repr=False)
    loops: frozenset[tuple[int, str]] = frozenset()
    changes: int = 1


def instead(func: str, new: str, old: str) -> str:
    """An edit in words: ``f.vectorize(x, 8) instead of vectorize(x)``."""
    return f"{func}.{new} instead of {old}"


def kind_call(loop: str, kind: LoopKind) -> str:
    """The directive that gives a loop its kind."""
    name = "serial" if kind is LoopKind.SERIAL else KIND_DIRECTIVES[kind]
    return f"{name}({loop})"


def level_call(verb: str, level: LoopLevel) -> str:
    """The directive that computes (``verb`` "compute") or stores ("store") something there."""
    if level.is_root or level == INLINE:
        return f"{verb}_{level}()"
    return f"{verb}_at({level.func}, {level.loop})"


def record_call(record: Split | Fuse) -> str:
    """The directive that a record stands for."""
    if isinstance(record, Fuse):
        return f"fuse({record.inner}, {record.outer}, {record.fused})"
    tail = "" if record.tail is Tail.AUTO else f", {record.tail}"
    return f"split({record.old}, {record.outer}, {record.inner}, {record.factor}{tail})"
