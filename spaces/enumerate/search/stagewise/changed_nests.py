"""The loop nests at root that a decision changes.

A decision about a Func changes the nests of its readers, and may add one. So if a model adds up the
costs of nests, a search prices these only: [A21] section 3.3 keeps the costs of the stages that a
decision does not change, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import evolve, field, frozen

from spaces.enumerate.search.stagewise.root_nests import funcs_in, roots_of
from spaces.enumerate.space.decided_part import part_alone
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import FuncSchedule, Schedule


@frozen
class Nests:
    """Some of the nests of a schedule.

    Attributes:
        whole: the pipeline of the schedule, after derivations.
        roots: the Funcs at root.
        funcs: the Funcs that are computed in them.
    """

    whole: Pipeline = field(repr=False)
    roots: frozenset[str]
    funcs: frozenset[str]

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline of these Funcs, which reads all others as images."""
        return part_alone(self.whole, self.funcs, self.roots)

    def of(self, schedule: Schedule) -> Schedule:
        """The part of a schedule that schedules these Funcs."""
        return schedule.with_funcs(tuple(f for f in schedule.funcs if f.name in self.funcs))

    def reading(self, name: str) -> Nests:
        """The same nests with a Func that they read."""
        return evolve(self, funcs=self.funcs | {name})


def funcs_around(
    pipeline: Pipeline, entries: Sequence[FuncSchedule], names: Collection[str]
) -> frozenset[str]:
    """The Funcs of the nests in which some Funcs are computed. If Funcs share loops, these are all
    decided Funcs.

    Args:
        pipeline: the whole pipeline, after derivations.
        entries: those of all decided Funcs: with a Func, all that read it.
        names: decided Funcs.
    """
    by_name = {entry.name: entry for entry in entries}
    if any(entry.companions for entry in entries):
        return frozenset(by_name)
    return funcs_in(pipeline, by_name, roots_of(pipeline, by_name, names))


def nests_of(
    pipeline: Pipeline, entries: Sequence[FuncSchedule], names: Collection[str]
) -> Nests | None:
    """The nests in which some Funcs are computed; None if these are all nests, or if the sizes of
    one are not known.

    Args:
        pipeline: the whole pipeline, after derivations.
        entries: those of all decided Funcs: with a Func, all that read it.
        names: decided Funcs.
    """
    if not names or any(entry.companions for entry in entries):
        return None
    by_name = {entry.name: entry for entry in entries}
    roots = roots_of(pipeline, by_name, names)
    funcs = funcs_in(pipeline, by_name, roots)
    known = all(sizes_of(pipeline).knows(pipeline.function(one)) for one in roots)
    return Nests(pipeline, roots, funcs) if known and len(funcs) < len(by_name) else None
