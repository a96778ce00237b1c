"""Which decided Funcs later decisions do not change.

A Func is decided after its consumers, which determine what it computes and stores, and where. So
its loops, regions and storage stay, with two exceptions:

- A Func that is decided later may be computed with it, or with one that it is computed with; this
  makes their common loops longer.
- A coordinate that reads an open Func may have other limits once that Func is decided, as it may be
  inlined.

Where the loops of a Func change, so do those of the Funcs inside them and of all its producers.
"""

from __future__ import annotations

from functools import lru_cache

from spaces.enumerate.space.process.state import ProcessState
from spaces.model.algorithm.pipeline import Pipeline, Stage
from spaces.model.expressions.expr import Call, walk
from spaces.model.schedules.fused_groups import groups
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def final_funcs(state: ProcessState, entries: tuple[FuncSchedule, ...]) -> frozenset[str]:
    """The Funcs among ``entries``, the first decided of a state, whose loops and storage are the
    same in all completions. Further entries change none of them.
    """
    pipeline, decided = state.pipeline, frozenset(entry.name for entry in entries)
    if len(decided) == len(pipeline.functions):
        return decided
    changing = unknown_reads(pipeline, entries)
    if "compute_with" in state.choices.directives or any(one.companions for one in state.given):
        joined = joinable(pipeline, decided)
        fused = (group for group in groups(Schedule(entries)) if joined.intersection(group))
        changing = changing.union(joined, *fused)
    return decided - funcs_around(pipeline, entries, changing)


def funcs_around(
    pipeline: Pipeline, entries: tuple[FuncSchedule, ...], changing: frozenset[str]
) -> frozenset[str]:
    """Some Funcs, those inside their loops, and all their producers."""
    found = set(changing)
    for entry in reversed(entries):  # consumers first
        if not found.isdisjoint(entry.hosts):
            found.add(entry.name)
    return frozenset(found).union(*(pipeline.producers[name] for name in found))


def unknown_reads(pipeline: Pipeline, entries: tuple[FuncSchedule, ...]) -> frozenset[str]:
    """The decided Funcs with a coordinate or limit that reads a Func which is open or inlined, or
    reads an open one.
    """
    decided = frozenset(entry.name for entry in entries)
    computed = frozenset(entry.name for entry in entries if not entry.compute.is_inline)
    return _readers_of_unknown(pipeline, decided, computed)


@lru_cache(maxsize=256)
def _readers_of_unknown(
    pipeline: Pipeline, decided: frozenset[str], computed: frozenset[str]
) -> frozenset[str]:
    names = {function.name for function in pipeline.functions}
    # The values of a Func have other limits, too, once the Funcs that it reads are decided.
    unsure = {name for name in names if pipeline.producers[name] & (names - decided)}
    unknown = (names - computed) | unsure

    def reads_unknown(stage: Stage) -> bool:
        limits = [e for r in stage.rvars for e in (r.min, r.extent)]
        coordinates = [arg for call in stage.calls for arg in call.args]
        found = walk(*coordinates, *stage.args, *limits, *stage.predicates)
        return any(isinstance(node, Call) and node.target in unknown for node in found)

    functions = (pipeline.function(name) for name in decided)
    return frozenset(f.name for f in functions if any(map(reads_unknown, f.stages)))


@lru_cache(maxsize=256)
def joinable(pipeline: Pipeline, decided: frozenset[str]) -> frozenset[str]:
    """The decided Funcs with which an open one may be computed: neither reads the other."""
    producers = pipeline.producers
    return frozenset(
        name
        for name in decided
        for open_ in {function.name for function in pipeline.functions} - decided
        if name not in producers[open_] and open_ not in producers[name]
    )
