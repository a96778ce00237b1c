"""Rules about the kinds of loops: vectors, unrolling, and what may stand inside what."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, call_rule, nest_rule
from spaces.model.expr import Expr
from spaces.model.schedule import LoopKind

MAX_VECTOR_LANES = 1024
"""The widest vector that is compiled. A 512-bit register holds 64 lanes of a byte; beyond that LLVM
splits, in time that grows with the square: three operations on 1024 lanes take it 0.2 s, on 4096
lanes 2 s."""

_TASKS = (LoopKind.PARALLEL, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


@call_rule(
    "kind.inside-vectorized",
    "No loop inside a vectorized one is parallel or runs on a GPU.",
    "The lanes of a vector are computed together, by one thread.",
)
def inside_vectorized(records: Records, func: str) -> Iterator[Check]:
    """One check for each such loop of the Func."""
    for index in range(len(records.entry(func).stages) if func in records.computed else 0):
        path = records.path(func, index)
        if path is None:
            continue
        kinds = records.kinds(path)
        around = next((i for i, k in enumerate(kinds) if k is LoopKind.VECTORIZED), len(path))
        for place, kind in zip(path[around:], kinds[around:], strict=True):
            if kind in _TASKS and place.func == func and place.stage == index:
                yield Check(
                    func,
                    VIOLATED,
                    "The {kind} loop {loop} of {stage_name} lies inside the vectorized loop "
                    "{outer}.",
                    "Put {loop} outside {outer}, or make it serial.",
                    stage=index,
                    loop=place.loop,
                    values={
                        "kind": str(kind),
                        "loop": place.loop,
                        "stage_name": stage_name(func, index),
                        "outer": str(path[around].level),
                    },
                )


def _varying(view: NestView, func: str, kind: LoopKind, does: str) -> Iterator[Check]:
    for index, stage in enumerate(view.placement(func).stages):
        for loop in stage.loops:
            if loop.kind is kind and not view.is_constant(loop.extent):
                yield Check(
                    func,
                    VIOLATED,
                    "{stage_name} {does} {loop}, which has {extent} iterations: not a constant.",
                    "Split {loop} by a constant and {directive} the inner loop.",
                    stage=index,
                    loop=loop.loop,
                    values={
                        "stage_name": stage_name(func, index),
                        "does": does,
                        "loop": loop.loop,
                        "extent": str(loop.extent),
                        "directive": does.removesuffix("s"),
                    },
                )


@nest_rule(
    "kind.vector-extent",
    "A vectorized loop has a constant number of iterations.",
    "Halide refuses to vectorize a loop over another extent: lanes are counted in the program.",
)
def vector_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each vectorized loop whose extent varies."""
    return _varying(view, func, LoopKind.VECTORIZED, "vectorizes")


@nest_rule(
    "kind.unroll-extent",
    "An unrolled loop has a constant number of iterations.",
    "Halide refuses to unroll a loop over another extent: copies are counted in the program.",
)
def unroll_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each unrolled loop whose extent varies."""
    return _varying(view, func, LoopKind.UNROLLED, "unrolls")


@nest_rule(
    "kind.vector-lanes",
    f"Vectorized loops inside one another make at most {MAX_VECTOR_LANES} lanes.",
    "LLVM compiles wider vectors in time that grows with the square of their lanes.",
)
def vector_lanes(view: NestView, func: str) -> Iterator[Check]:
    """One check for each stage with vectorized loops of constant extent."""
    for index, path in enumerate(view.paths(func)):
        lanes: Expr | None = None
        innermost = ""
        for loop in path:
            if loop.kind is LoopKind.VECTORIZED and view.is_constant(loop.extent):
                lanes = loop.extent if lanes is None else lanes * loop.extent
                innermost = loop.loop
        if lanes is not None:
            yield Check(
                func,
                lanes <= MAX_VECTOR_LANES,
                "The vectorized loops around {stage_name} make vectors of {lanes} lanes; at most "
                "{limit} are compiled.",
                "Split {loop} and vectorize a smaller inner loop.",
                stage=index,
                loop=innermost,
                values={
                    "stage_name": stage_name(func, index),
                    "lanes": lanes,
                    "limit": MAX_VECTOR_LANES,
                    "loop": innermost,
                },
            )


RULES = (inside_vectorized, vector_extent, unroll_extent, vector_lanes)
