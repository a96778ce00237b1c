"""A rule about inlining: each read of an inlined Func becomes its definition. Reads at the same
coordinates share one copy, because equal expressions are one.

It runs before all other rules on records, because those read Funcs after inlining.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from spaces.constraints.rules.rule import Check, Quantity, match_rule, refuse
from spaces.model.algorithm.inlined import inserted
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.expressions.expr import Expr, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule

MAX_INLINED_TERMS = 1_000_000
"""The most terms that all reads of one Func may have, if no copies are shared; to verify a tree of
small Funcs with this many takes up to half a minute.
"""

MAX_SHARED_TERMS = 100_000
"""If the copies of all inlined Funcs have no more terms, a schedule is legal however often it reads
them. To verify and compile as many takes about three seconds.
"""

_TERMS_IN_A_MOMENT = 20_000

_Place: TypeAlias = tuple[str, tuple[Expr, ...]]
"""Where a copy stands: the computed Func that it is part of, and its coordinates there."""


@match_rule(
    "call.inline-size",
    f"Inlining a Func is illegal if all reads of it have more than {MAX_INLINED_TERMS} terms, "
    f"and the copies of all inlined Funcs have more than {MAX_SHARED_TERMS}, because the program "
    "would be too large to compile.",
    "This library's limit; Halide compiles for as long as it takes. Two Funcs that each read the "
    "next one twice make four reads. Reads at the same coordinates share a copy.",
    reads=Quantity("reads of the Func after inlining", "reads"),
    limit=Quantity("most terms that all reads may have", "terms"),
)
def inline_size(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
    """One check for each Func that is read too often and no consumer that is."""
    pipeline, inlined = derived(*subject), _inlined(subject[1])
    reads = _reads(pipeline, inlined)
    oversized = {
        f.name for f in pipeline.functions if reads[f.name] * _terms(f) > MAX_INLINED_TERMS
    }
    if not oversized or _are_few_copies(pipeline, inlined):
        return
    for func in sorted(oversized - _producers(pipeline, oversized)):
        yield refuse(
            func,
            "{func} and Funcs that read it are inlined, which makes {reads} reads of it: more than "
            "{limit} terms in all, and too many at different coordinates.",
            "Compute it, or Funcs between it and the outputs, at root or at a loop.",
            reads=reads[func],
            limit=MAX_INLINED_TERMS,
        )


def is_soon_inlined(pipeline: Pipeline, schedule: Schedule) -> bool:
    """Whether the inlined definitions are small enough to build in a moment."""
    pipeline = derived(pipeline, schedule)
    reads = _reads(pipeline, _inlined(schedule))
    return sum(reads[f.name] * _terms(f) for f in pipeline.functions) <= _TERMS_IN_A_MOMENT


def _inlined(schedule: Schedule) -> frozenset[str]:
    return frozenset(entry.name for entry in schedule.funcs if entry.compute.is_inline)


def _is_substituted(pipeline: Pipeline, function: Function, inlined: frozenset[str]) -> bool:
    func = function.name
    return func in inlined and function.is_pure and func not in pipeline.outputs


def _reads(pipeline: Pipeline, inlined: frozenset[str]) -> dict[str, int]:
    """How often each Func is read after inlining, if nothing is shared; 1 for a computed Func."""
    reads = dict.fromkeys((f.name for f in pipeline.functions), 0)
    for function in reversed(pipeline.functions):
        if not _is_substituted(pipeline, function, inlined):
            reads[function.name] = 1
        for call in (call for stage in function.stages for call in stage.calls):
            if call.target in reads and call.target != function.name:
                reads[call.target] += reads[function.name]
    return reads


def _producers(pipeline: Pipeline, funcs: set[str]) -> set[str]:
    """The direct and indirect producers of some Funcs."""
    found: set[str] = set()
    for function in reversed(pipeline.functions):
        if function.name in funcs or function.name in found:
            found.update(function.callees)
    return found


@lru_cache(maxsize=1024)
def _are_few_copies(pipeline: Pipeline, inlined: frozenset[str]) -> bool:
    """Whether the copies of all inlined Funcs have few terms, one copy for all coordinates that are
    the same.
    """
    substituted = [f for f in pipeline.functions if _is_substituted(pipeline, f, inlined)]
    places: dict[str, set[_Place]] = {f.name: set() for f in pipeline.functions}
    for function in reversed(pipeline.functions):
        here = places[function.name]
        if function not in substituted:
            here = {(function.name, tuple(Variable(Int32, name) for name in function.args))}
        _add_reads(function, here, places)
        if sum(len(places[f.name]) * _terms(f) for f in substituted) > MAX_SHARED_TERMS:
            return False
    return True


def _add_reads(function: Function, here: set[_Place], places: Mapping[str, set[_Place]]) -> None:
    """Adds to ``places`` where the copies ``here`` of a Func read other Funcs."""
    done: dict[tuple[Expr, tuple[Expr, ...]], Expr] = {}  # most coordinates move with one Var
    for call in (call for stage in function.stages for call in stage.calls):
        found = places.get(call.target)
        if found is None or call.target == function.name:
            continue
        moved = [[n for n, v in enumerate(function.args) if v in arg.names] for arg in call.args]
        for computed, coordinates in here:
            read = []
            for arg, vars in zip(call.args, moved, strict=True):
                key = (arg, tuple([coordinates[n] for n in vars]))
                if key not in done:
                    done[key] = inserted(arg, {function.args[n]: coordinates[n] for n in vars})
                read.append(done[key])
            found.add((computed, tuple(read)))


@lru_cache(maxsize=4096)
def _terms(function: Function) -> int:
    return sum(1 for stage in function.stages for _ in walk(*stage.values))
