"""Hypothesis strategies for arbitrary directives and schedule records, illegal ones included."""

from __future__ import annotations

from functools import cache
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from spaces.model.algorithm.pipeline import Function, Pipeline, size_variable
from spaces.model.algorithm.var import OUTERMOST
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    Lanes,
    LoopKind,
    OrderedLoop,
    Partition,
    Partitioned,
    Prefetch,
    PrefetchBound,
    Split,
    Tail,
)
from spaces.model.schedules.schedule import (
    Alignment,
    Bound,
    Companion,
    Fold,
    FuncSchedule,
    LoopAlign,
    LoopLevel,
    MemoryType,
    Pad,
    Schedule,
    Specialization,
    StageOf,
    StorageBound,
)

SENSIBLE = ["x", "y", "xi", "yi", "xo", "x_v", "x_u", "y_p", "r.x", "r.y", "t", *OUTERMOST]
ODD = ["r", "RoundUp", "TailStrategy.Auto", "a b", 'q"\\n', "8", "", "__root", "é", "\n", "auto"]
names = st.one_of(st.sampled_from(SENSIBLE), st.sampled_from(SENSIBLE + ODD))
factors = st.one_of(st.integers(-1, 300), st.sampled_from(["tx", "blur_y.xi", "r", "8", "a b"]))
wholes = st.integers(-9, 300)
tails = st.sampled_from(Tail)

_LOOP_ONLY = ["serial", "parallel", "vectorize", "unroll"]


@st.composite
def _call(draw: st.DrawFn, funcs: list[str]) -> tuple[str, tuple[Any, ...]]:
    func = draw(st.sampled_from([*funcs, "nobody"]))
    factor, tail = draw(factors), draw(tails)
    two = (draw(names), draw(names))
    four = (draw(names), draw(names), *two)
    many = tuple(draw(st.lists(names, min_size=1, max_size=4)))
    return draw(
        st.sampled_from(
            [
                ("split", (*four[:3], factor, tail)),
                ("fuse", four[:3]),
                ("reorder", many),
                ("tile", (*four, factor, draw(factors), tail)),
                ("tile", (*two, *four, factor, factor)),
                ("gpu_tile", (*two, factor)),
                ("gpu_tile", (*four, factor, factor)),
                *((name, two[:1]) for name in _LOOP_ONLY),
                *((name, (two[0], factor, tail)) for name in _LOOP_ONLY[1:]),
                ("gpu_blocks", many),
                ("gpu_threads", many),
                ("gpu_lanes", two[:1]),
                ("gpu_single_thread", ()),
                ("loops", many),
                ("atomic", ()),
                ("compute_inline", ()),
                ("compute_root", ()),
                ("compute_at", (func, two[0])),
                ("store_at", (func, two[0])),
                ("store_root", ()),
                ("store_in", (draw(st.sampled_from(MemoryType)),)),
                ("fold_storage", (two[0], factor, draw(st.booleans()))),
                ("hoist_storage", (func, two[0])),
                ("hoist_storage_root", ()),
                ("memoize", ()),
                ("async_", ()),
                ("ring_buffer", (draw(wholes),)),
                ("bound_storage", (two[0], draw(wholes))),
                ("reorder_storage", many),
                ("align_storage", (two[0], draw(wholes))),
                ("bound", (two[0], draw(wholes), draw(wholes))),
                ("bound_extent", (two[0], draw(wholes))),
                ("align_bounds", (two[0], draw(wholes), draw(wholes))),
                ("align_extent", (two[0], draw(wholes))),
            ]
        )
    )


@st.composite
def derivations(draw: st.DrawFn, start: Directives, most: int = 3) -> Directives:
    """Directives after some that add Funcs, if they can be applied."""
    result = start
    for _ in range(draw(st.integers(0, most))):
        funcs = [entry.name for entry in result.schedule.funcs]
        images = [image.name for image in result.pipeline.images]
        result = result.func(draw(st.sampled_from([*funcs, *images])))
        readers = draw(st.lists(st.sampled_from([*funcs, "nobody"]), max_size=2))
        is_copied = readers and result.selected in funcs and draw(st.booleans())
        result = result.clone_in(readers) if is_copied else result.in_(readers)
    return result


@st.composite
def directive_sequences(draw: st.DrawFn, pipeline: Pipeline, most: int = 10) -> Directives:
    """Directives after a random sequence on random stages, which the sequence may have added."""
    half = most // 2
    first = draw(directives_after(schedule(pipeline), half))
    return draw(directives_after(draw(derivations(first)), most - half))


@st.composite
def directives_after(draw: st.DrawFn, start: Directives, most: int = 10) -> Directives:
    """Directives after a random sequence on random stages."""
    funcs = [entry.name for entry in start.schedule.funcs]
    result = start
    for _ in range(draw(st.integers(0, most))):
        result = result.func(draw(st.sampled_from(funcs)))
        updates = len(result.schedule.of(result.selected).stages) - 1
        if updates and draw(st.booleans()):
            result = result.update(draw(st.integers(0, updates - 1)))
        name, args = draw(_call(funcs))
        result = getattr(result, name)(*args)
    return result


_records = st.one_of(
    st.builds(Split, names, names, names, factors, tails), st.builds(Fuse, names, names, names)
)
_partitions = st.builds(Partitioned, names, st.sampled_from(Partition))

_prefetches = st.builds(
    Prefetch, names, names, names, st.integers(-3, 9), st.sampled_from(PrefetchBound)
)

_alignments = st.tuples(names, st.sampled_from([a for a in LoopAlign if a is not LoopAlign.AUTO]))
_companions = st.builds(
    Companion,
    st.builds(StageOf, names, st.integers(0, 3)),
    names,
    st.lists(_alignments, max_size=2, unique_by=lambda pair: pair[0]).map(tuple),
)

domain_orders = st.builds(
    DomainOrder,
    st.lists(_records, max_size=3).map(tuple),
    st.lists(st.builds(OrderedLoop, names, st.sampled_from(LoopKind)), max_size=4).map(tuple),
    st.lists(_partitions, max_size=2).map(tuple),
    st.lists(_prefetches, max_size=2).map(tuple),
    st.lists(st.builds(Lanes, names), max_size=2).map(tuple),
)


_dimensions = st.lists(names, min_size=1, max_size=3).map(tuple)
_maybe = st.one_of(st.none(), wholes)
_bounds = st.one_of(
    st.builds(Bound, names, _maybe, wholes), st.builds(Alignment, names, wholes, _maybe)
)


# Strategies are made once: each one made anew would be validated anew.
_folds = st.lists(st.builds(Fold, names, factors, st.booleans()), max_size=2)
_orders = st.lists(_dimensions, max_size=2)
_pads = st.lists(st.builds(Pad, names, wholes), max_size=2)
_storage_bounds = st.lists(st.builds(StorageBound, names, wholes), max_size=2)
_all_bounds = st.lists(_bounds, max_size=2)
_all_companions = st.lists(_companions, max_size=2)


@cache
def _levels(pipeline: Pipeline) -> st.SearchStrategy[LoopLevel]:
    return st.builds(LoopLevel, st.sampled_from([*(f.name for f in pipeline.functions), ""]), names)


@cache
def _specializations(pipeline: Pipeline, func: Function) -> st.SearchStrategy[list[Specialization]]:
    """Specializations of stages of a Func by the size of an output."""
    width = size_variable(pipeline.outputs[0], "extent", 0)
    conditions = st.builds(lambda n: width * 3 - n > 7, st.integers(-3, 3))
    stages = st.integers(0, len(func.stages) - 1)
    failing = st.builds(Specialization, stages, st.just(constant(True, Bool)), domain_orders, names)
    one = st.one_of(failing, st.builds(Specialization, stages, conditions, domain_orders))
    return st.lists(one, max_size=2)


@st.composite
def schedules(draw: st.DrawFn, pipeline: Pipeline) -> Schedule:
    """Any record with the Funcs and stages of ``pipeline``, however senseless."""
    levels = _levels(pipeline)
    return Schedule(
        tuple(
            FuncSchedule(
                function.name,
                tuple(draw(domain_orders) for _ in function.stages),
                draw(levels),
                draw(levels),
                draw(st.sampled_from(MemoryType)),
                tuple(draw(_folds)),
                tuple(draw(_orders)),
                tuple(draw(_pads)),
                tuple(draw(_storage_bounds)),
                tuple(draw(_all_bounds)),
                draw(levels),
                tuple(draw(_specializations(pipeline, function))),
                companions=tuple(
                    evolve(one, stage=draw(st.integers(0, len(function.stages) - 1)))
                    for one in draw(_all_companions)
                ),
            )
            for function in pipeline.functions
        )
    )
