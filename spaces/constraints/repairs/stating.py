"""States edits as directives: the directive to write, and the one it replaces.

A statement compares the directives that :func:`spaces.format_schedule` writes before and after an
edit. Applied to the text of the one schedule, it gives the text of the other:

* ``f.A instead of B``: on the line of ``f``, ``A`` replaces ``B``;
* ``f.B left out``: the line of ``f`` loses ``B``;
* ``f.A added``: a statement of its own, after the lines of ``f``.

Where the user's own text says the same by other directives, a statement gives all of the line:

* ``f.A.B instead of all directives on f``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.constraints.repairs.ranked_edit import RankedEdit
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import Line, written_lines

_Lines: TypeAlias = Sequence[Line]


@frozen
class _EditStatement:
    """``added`` replaces ``lost`` among the directives of ``stage``, which then are ``line``. With
    ``is_whole`` the statement gives the whole line.
    """

    stage: str
    added: Sequence[str]
    lost: Sequence[str]
    line: Sequence[str]
    is_whole: bool = False

    @property
    def size(self) -> int:
        """The directives that it names."""
        return len(self.added) + len(self.lost)

    def __str__(self) -> str:
        new, old = ".".join(self.added), ".".join(self.lost)
        if self.is_whole:
            all_ = f"all directives on {self.stage}"
            return f"{self.stage}.{new} instead of {all_}" if new else f"{all_} left out"
        if not old:
            return f"{self.stage}.{new} added"
        if not new:
            return f"{self.stage}.{old} left out"
        return f"{self.stage}.{new} instead of {old}"


@frozen
class _Stated:
    """An edit with its statements, and the text that they begin with; None where no directives
    write it.
    """

    edit: RankedEdit
    before: _Lines | None
    statements: tuple[_EditStatement, ...] = ()

    @property
    def size(self) -> int:
        """The directives that its statements name."""
        return sum(one.size for one in self.statements)


def state_edits(
    pipeline: Pipeline, schedule: Schedule, edits: Sequence[RankedEdit], text: str = ""
) -> tuple[RankedEdit, ...]:
    """The edits that lead from ``schedule`` on, each with its statement. ``text`` is what the user
    wrote; empty if that is unknown.

    Where an edit changes what the one before has written, one statement tells of both, and they
    become one edit. An edit keeps its text if no directives write the schedule before or after it.
    """
    found: list[_Stated] = []
    before = _lines(pipeline, schedule)
    for edit in edits:
        after = _lines(pipeline, edit.after)
        one = _stated(edit, before, after)
        while found and (joint := _join(found[-1], one, after)) is not None:
            one = joint
            found.pop()
        found.append(one)
        before = after
    return tuple(_in_words_of(text, one) for one in found)


def _in_words_of(text: str, one: _Stated) -> RankedEdit:
    """The edit, whose statements name only what stands in a text."""
    if not text or one.before is None:
        return one.edit
    written = "".join(text.split())
    told = (
        statement
        if all("".join(call.split()) in written for call in statement.lost)
        else evolve(statement, added=statement.line, lost=(), is_whole=True)
        for statement in one.statements
    )
    return evolve(one.edit, text="; ".join(map(str, told)))


def _stated(edit: RankedEdit, before: _Lines | None, after: _Lines | None) -> _Stated:
    if before is None or after is None:
        return _Stated(edit, None)
    statements = tuple(_statements(before, after))
    return _Stated(evolve(edit, text="; ".join(map(str, statements))), before, statements)


def _join(first: _Stated, second: _Stated, after: _Lines | None) -> _Stated | None:
    """Both edits as one, where that takes fewer directives to say."""
    if first.before is None or second.before is None:
        return None
    changes = first.edit.changes + second.edit.changes
    rank, unlike = max((e.rank, e.unlike) for e in (first.edit, second.edit))
    loops = first.edit.loops | second.edit.loops
    edit = evolve(second.edit, rank=rank, unlike=unlike, loops=loops, changes=changes)
    joint = _stated(edit, first.before, after)
    return joint if joint.size < first.size + second.size else None


def _lines(pipeline: Pipeline, schedule: Schedule) -> _Lines | None:
    """The lines of a schedule; None if it has entries that the pipeline does not have."""
    try:
        return written_lines(schedule, pipeline)
    except ValueError:
        return None


def _statements(before: _Lines, after: _Lines) -> Iterator[_EditStatement]:
    """The statements that turn one text into the other."""
    start, end = _same(before, after)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if [line.stage for line in old] == [line.stage for line in new]:
        pairs = list(zip(old, new, strict=True))
    else:
        stages = dict.fromkeys(line.stage for line in (*old, *new))
        of_old = {s: [line for line in old if line.stage == s] for s in stages}
        of_new = {s: [line for line in new if line.stage == s] for s in stages}
        pairs = [
            (one or Line(s, ()), other or Line(s, ()))
            for s in stages
            for one, other in zip_longest(of_old[s], of_new[s])
        ]
    for one, other in pairs:
        if one != other:
            yield _statement(one, other, before)


def _statement(old: Line, new: Line, text: _Lines) -> _EditStatement:
    """The statement that turns one line of ``text`` into its replacement."""
    start, end = _same(old.calls, new.calls)
    is_last = not end and not old.adds_func
    others = [line for line in text if line.stage == old.stage]
    while True:
        lost = old.calls[start : len(old.calls) - end]
        added = new.calls[start : len(new.calls) - end]
        if not lost and (is_last or not old.calls):
            return _EditStatement(new.stage, added, (), new.calls)
        if lost and sum(_count(line.calls, lost) for line in others) == 1:
            break
        # More of the line distinguishes this place from others.
        if start:
            start -= 1
        elif end:
            end -= 1
        else:
            break
    return _EditStatement(old.stage, added, lost, new.calls)


def _same(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """The number of items that two sequences share at their starts, and then at their ends."""
    most = min(len(one), len(other))
    start = next((i for i in range(most) if one[i] != other[i]), most)
    most -= start
    end = next((i for i in range(most) if one[-1 - i] != other[-1 - i]), most)
    return start, end


def _count(calls: Sequence[str], part: Sequence[str]) -> int:
    """The number of places in ``calls`` where ``part`` stands."""
    places = range(len(calls) - len(part) + 1)
    return sum(calls[i : i + len(part)] == part for i in places)
