"""The loop nests in which Funcs run, each named by the Func at root whose loops it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

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


def roots_of(
    pipeline: Pipeline, entries: Mapping[str, FuncSchedule], names: Iterable[str]
) -> frozenset[str]:
    """The nests of some Funcs, as :func:`nests_of_funcs` finds them, but with a look at these Funcs
    and those around them only. All Funcs that read them have entries.
    """
    nests: dict[str, frozenset[str]] = {}
    wanted = list(names)
    open_ = list(wanted)
    while open_:
        name = open_[-1]
        compute = entries[name].compute
        if compute.is_inline:
            around: tuple[str, ...] = pipeline.consumers(name)
        else:
            around = () if compute.is_root else (compute.func,)
        missing = [one for one in around if one not in nests]
        if missing:
            open_ += missing
        else:
            own = frozenset((name,)) if compute.is_root else frozenset[str]()
            nests[open_.pop()] = own.union(*(nests[one] for one in around))
    return frozenset[str]().union(*(nests[name] for name in wanted))


def funcs_in(
    pipeline: Pipeline, entries: Mapping[str, FuncSchedule], roots: Collection[str]
) -> frozenset[str]:
    """The Funcs with entries that run in some nests."""
    found: set[str] = set()
    open_ = list(roots)
    while open_:
        name = open_.pop()
        if name in found:
            continue
        found.add(name)
        for callee in pipeline.function(name).callees:
            entry = entries.get(callee)
            if entry is not None and not entry.compute.is_root:
                open_.append(callee)
    return frozenset(found)


def nests_of_readers(
    pipeline: Pipeline, nests: Mapping[str, frozenset[str]], func: str
) -> frozenset[str]:
    """The nests that read a Func, if those of its readers are known."""
    readers = (name for name in pipeline.consumers(func) if name != func)
    return frozenset().union(*(nests[name] for name in readers))
