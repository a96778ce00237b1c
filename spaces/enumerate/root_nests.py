"""The loop nests in which Funcs run, each named by the Func at root whose loops it has."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import FuncSchedule


def nests_of_funcs(
    pipeline: Pipeline, entries: Mapping[str, FuncSchedule]
) -> dict[str, frozenset[str]]:
    """The nests of each Func that has an entry, consumers first; an inlined Func runs in all nests
    that read it.
    """
    nests: dict[str, frozenset[str]] = {}
    for function in reversed(pipeline.functions):
        name = function.name
        if name not in entries:
            continue
        compute = entries[name].compute
        if compute.is_root:
            nests[name] = frozenset((name,))
        elif compute.is_inline:
            nests[name] = nests_of_readers(pipeline, nests, name)
        else:
            nests[name] = nests[compute.func]
    return nests


def nests_of_readers(
    pipeline: Pipeline, nests: Mapping[str, frozenset[str]], func: str
) -> frozenset[str]:
    """The nests that read a Func, if those of its readers are known."""
    readers = (name for name in pipeline.consumers(func) if name != func)
    return frozenset().union(*(nests[name] for name in readers))
