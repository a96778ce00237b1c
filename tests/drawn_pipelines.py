"""Hypothesis strategies that draw small pipelines and well-formed schedules for them."""

from __future__ import annotations

from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.levels import Levels, Path
from spaces.model.schedules.schedule import ROOT, LoopLevel, Schedule

X, Y = Var("x"), Var("y")


@st.composite
def coordinates(draw: st.DrawFn, var: Expr) -> Expr:
    """A coordinate that a stage reads: shifted, scaled up or down, or clamped."""
    shift = draw(st.integers(-2, 2))
    form = draw(st.sampled_from(["shift", "shift", "shift", "double", "halve", "clamp"]))
    if form == "double":
        return var * 2 + shift
    if form == "halve":
        return var / 2 + shift
    if form == "clamp":
        return fn.clamp(var + shift, 0, 5)
    return var + shift


@st.composite
def stencil_pipelines(draw: st.DrawFn, max_stages: int = 4) -> Pipeline:
    """A chain or small graph of two-dimensional int32 stencils over one image."""
    image = ImageParam(Int32, 2, "input")
    sources: list[ImageParam | Func] = [image]
    for index in range(draw(st.integers(2, max_stages))):
        func = Func(f"f{index}")
        value: Expr | None = None
        # The previous stage is always read, so that every stage matters.
        readable = [sources[-1], *draw(st.lists(st.sampled_from(sources), max_size=1))]
        for source in readable:
            for _ in range(draw(st.integers(1, 2))):
                tap = source[draw(coordinates(X)), draw(coordinates(Y))]
                term = tap * draw(st.integers(1, 3))
                value = term if value is None else value + term
        assert value is not None
        func[X, Y] = value + X - Y
        sources.append(func)
    last = sources[-1]
    assert isinstance(last, Func)
    return pipeline(last)


@st.composite
def schedules(draw: st.DrawFn, algorithm: Pipeline, kinds: bool = True) -> Schedule:
    """A well-formed serial schedule with splits, orders, levels, and (``kinds``) unrolled loops."""
    directives = schedule(algorithm)
    for function in reversed(algorithm.functions):
        directives = directives.func(function.name)
        is_output = function.name in algorithm.outputs
        if not is_output:
            directives = draw(_levels(algorithm, directives, function.name))
        if directives.schedule.of(function.name).compute.is_inline:
            continue
        directives = draw(_order(directives, function.args, is_output, kinds))
    return directives.schedule


@st.composite
def _levels(draw: st.DrawFn, algorithm: Pipeline, directives: Directives, name: str) -> Directives:
    # Computed at root for the moment, so that its uses are found.
    probe = directives.func(name).compute_root()
    legal: Path = Levels(algorithm, probe.schedule).enclosing(name)
    choices: list[LoopLevel | None] = [None, ROOT, *(place.level for place in legal)]
    compute = draw(st.sampled_from(choices))
    if compute is None:
        return directives.compute_inline()
    if compute == ROOT:
        return directives.compute_root()
    depth = [place.level for place in legal].index(compute)
    store = draw(st.sampled_from([ROOT, *(p.level for p in legal[: depth + 1])]))
    placed = directives.compute_at(compute.func, compute.loop)
    return placed.store_root() if store == ROOT else placed.store_at(store.func, store.loop)


@st.composite
def _order(
    draw: st.DrawFn, directives: Directives, args: tuple[str, ...], is_output: bool, kinds: bool
) -> Directives:
    loops = list(args)
    for number in range(draw(st.integers(0, 2))):
        old = draw(st.sampled_from(loops))
        inner = f"i{number}"
        factor = draw(st.integers(1, 4))
        tails = [t for t in Tail if t is not Tail.PREDICATE_LOADS or number == 0]
        directives = directives.split(old, old, inner, factor, draw(st.sampled_from(tails)))
        loops.append(inner)
        if kinds and draw(st.booleans()):
            directives = directives.unroll(inner)
    if draw(st.booleans()):
        directives = directives.reorder(*draw(st.permutations(loops)))
    return directives
