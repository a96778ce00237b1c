"""Hypothesis strategies that draw stencil pipelines and GPU schedules of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.schedules.domain_order import LoopKind, Tail
from spaces.model.schedules.levels import Levels, Path
from spaces.model.schedules.schedule import Schedule

X, Y = Var("x"), Var("y")
TAILS = (Tail.AUTO, Tail.ROUND_UP, Tail.GUARD_WITH_IF, Tail.SHIFT_INWARDS)


@st.composite
def stencil_chains(draw: st.DrawFn, max_stages: int = 3) -> Pipeline:
    """Stages of a few taps each; the later ones may read any earlier one, or the image. Some add a
    sum to each value in an update.
    """
    sources: list[ImageParam | Func] = [ImageParam(Int32, 2, "input")]
    for index in range(draw(st.integers(2, max_stages))):
        func = Func(f"f{index}")
        scale = draw(st.sampled_from([1, 1, 1, 2]))
        value: Expr | None = None
        readable = [sources[-1], *draw(st.lists(st.sampled_from(sources), max_size=1))]
        for source in readable:
            for _ in range(draw(st.integers(1, 3))):
                dx, dy = draw(st.integers(-2, 2)), draw(st.integers(-2, 2))
                term = source[X * scale + dx, Y + dy] * draw(st.integers(1, 3))
                value = term if value is None else value + term
        assert value is not None
        func[X, Y] = value + X * 5 - Y
        if draw(st.integers(0, 3)) == 0:
            r = RDom([(draw(st.integers(-1, 0)), draw(st.integers(1, 4)))], f"r{index}")
            func[X, Y] += sources[-1][X + r, Y] * (r + 2)
        sources.append(func)
    last = sources[-1]
    assert isinstance(last, Func)
    return pipeline(last)


@st.composite
def gpu_schedules(draw: st.DrawFn, algorithm: Pipeline) -> Schedule:
    """The output is on a grid of blocks. The other Funcs are inline, at root (on another grid or on
    the CPU), or inside a kernel: at a block, at a serial loop in it, or in a thread.
    """
    directives = schedule(algorithm)
    for function in reversed(algorithm.functions):
        directives = directives.func(function.name)
        if function.name in algorithm.outputs:
            directives = draw(_stages_on_a_grid(directives, function))
            continue
        probe = Levels(algorithm, directives.compute_root().schedule)
        legal = probe.enclosing(function.name)
        inside = _levels_in_kernels([probe.kind(place) for place in legal])
        level = draw(st.sampled_from(["inline", "grid", "cpu", *(inside * 4)]))
        match level:
            case "inline" if function.is_pure:
                directives = directives.compute_inline()
            case "grid":
                directives = draw(_stages_on_a_grid(directives.compute_root(), function))
            case "cpu" | "inline":
                directives = directives.compute_root()
            case int():
                directives = draw(_inside(directives, function, legal, level, probe))
    return directives.schedule


def _levels_in_kernels(kinds: list[LoopKind]) -> list[int]:
    """The loops at which Funcs may be computed: from the innermost block loop on, but not between
    thread loops.
    """
    levels = []
    for i in range(len(kinds)):
        around, further = kinds[: i + 1], kinds[i + 1 :]
        in_a_block = LoopKind.GPU_BLOCK in around and LoopKind.GPU_BLOCK not in further
        if in_a_block and not (LoopKind.GPU_THREAD in around and LoopKind.GPU_THREAD in further):
            levels.append(i)
    return levels


@st.composite
def _inside(
    draw: st.DrawFn,
    directives: Directives,
    function: Function,
    legal: Path,
    level: int,
    probe: Levels,
) -> Directives:
    kinds = [probe.kind(place) for place in legal]
    in_thread = [LoopKind.GPU_THREAD in kinds[: i + 1] for i in range(len(kinds))]
    stores = [
        i for i in _levels_in_kernels(kinds) if i <= level and in_thread[i] == in_thread[level]
    ]
    store = legal[draw(st.sampled_from(stores))]
    directives = directives.compute_at(legal[level].func, legal[level].loop)
    directives = directives.store_at(store.func, store.loop)
    if in_thread[level]:
        return directives
    directives = draw(_by_threads(directives, function.args, TAILS))
    for index, stage in enumerate(function.stages[1:]):
        directives = directives.update(index)
        tails = (Tail.ROUND_UP, Tail.GUARD_WITH_IF)
        directives = draw(_by_threads(directives, stage.pure_vars, tails))
        directives = draw(_with_sum_outside(directives, stage))
    return directives


@st.composite
def _with_sum_outside(draw: st.DrawFn, directives: Directives, stage: Stage) -> Directives:
    """Moves the loop over the sum to the outside, or leaves it inside."""
    if draw(st.booleans()):
        return directives
    loops = [loop.name for loop in directives.schedule.of(directives.selected).stages[1].loops]
    sums = [rvar.name for rvar in stage.rvars]
    return directives.reorder(*(n for n in reversed(loops) if n not in sums), *sums)


@st.composite
def _stages_on_a_grid(draw: st.DrawFn, directives: Directives, function: Function) -> Directives:
    directives = draw(_on_a_grid(directives, function.args, TAILS))
    for index, stage in enumerate(function.stages[1:]):
        if draw(st.integers(0, 3)):
            tails = (Tail.GUARD_WITH_IF,)
            directives = draw(_on_a_grid(directives.update(index), stage.pure_vars, tails))
    return directives


@st.composite
def _on_a_grid(
    draw: st.DrawFn, directives: Directives, args: tuple[str, ...], tails: Sequence[Tail]
) -> Directives:
    inner = [f"{arg}i" for arg in args]
    for arg, name in zip(args, inner, strict=True):
        factor, tail = draw(st.integers(1, 6)), draw(st.sampled_from(tails))
        directives = directives.split(arg, arg, name, factor, tail)
    directives = directives.reorder(*inner, *args).gpu_blocks(*args)
    match draw(st.sampled_from(["both", "both", "outer", "inner", "unrolled", "vectorized"])):
        case "both":
            return directives.gpu_threads(*inner)
        case "outer":
            return directives.gpu_threads(inner[1])
        case "inner":
            return directives.gpu_threads(inner[0])
        case "unrolled":
            return directives.gpu_threads(inner[0]).unroll(inner[1])
    return directives.vectorize(inner[0]).gpu_threads(inner[1])


@st.composite
def _by_threads(
    draw: st.DrawFn, directives: Directives, args: tuple[str, ...], tails: Sequence[Tail]
) -> Directives:
    """The loops of a Func that the threads of a block compute."""
    x, y = args
    match draw(st.sampled_from(["both", "both", "x", "y", "y outside", "one", "split"])):
        case "both":
            return directives.gpu_threads(x, y)
        case "x":
            return directives.gpu_threads(x)
        case "y":
            return directives.gpu_threads(y)
        case "y outside":
            return directives.reorder(y, x).gpu_threads(y)
        case "one":
            return directives
    split = directives.split(x, x, "s", 2, draw(st.sampled_from(tails)))
    return split.reorder("s", x, y).gpu_threads(x, y).unroll("s")
