"""Nests that are equal cost the same, however their directives are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from attrs import frozen
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32, UInt16
from spaces.model.writing.text import parse_schedule
from tests.cpus import FOUR_CORES
from tests.draw_counts import examples

WIDTH, HEIGHT, TERMS = 64, 32, 12
ON_CPU, ON_GPU = ("parallel", "vectorize", "unroll"), ("gpu_blocks", "gpu_threads", "unroll")
MODELS = {
    FOUR_CORES: (ON_CPU, ("reuse", "weighted", "learned", "hybrid")),
    device("A100"): (ON_GPU, ("occupancy", "weighted", "roofline")),
}

LoopPart = tuple[int, int]
"""A loop of a stage: the number of its dimension, and its place there, 0 for the innermost part."""


@frozen
class Nest:
    """The loops of a stage.

    Attributes:
        is_fused: whether the first dimension is the loop that ``fuse`` makes of both Vars.
        factors: for each dimension those of its loops, the innermost first.
        loops: the outermost first.
        kinds: the directive of each loop that is not serial.
    """

    is_fused: bool
    factors: tuple[tuple[int, ...], ...]
    loops: tuple[LoopPart, ...]
    kinds: tuple[tuple[LoopPart, str], ...]


def _stencil(x: Var, y: Var) -> Pipeline:
    image, f, out = ImageParam(UInt16, 2, "image"), Func("f"), Func("out")
    f[x, y] = image[x, y] + image[x + 1, y] + image[x + 2, y]
    out[x, y] = (f[x, y] + f[x, y + 1] + f[x, y + 2]) / 9
    return pipeline(out, estimates={out: [WIDTH, HEIGHT], image: [WIDTH + 2, HEIGHT + 2]})


def _sums(x: Var, y: Var) -> Pipeline:
    """Sums of products, as an output; reads that depend on values."""
    image, table, f, out = (
        ImageParam(Float32, 2, "image"),
        ImageParam(UInt16, 2, "table"),
        Func("f"),
        Func("out"),
    )
    r = RDom([(0, TERMS)], "r")
    f[x, y] = image[table[x, y] % WIDTH, table[y, x] % HEIGHT] * 0.5
    out[x, y] = 0.0
    out[x, y] += f[r.x, y] * f[x, r.x]
    sizes = {out: [WIDTH, HEIGHT], image: [WIDTH, HEIGHT], table: [WIDTH, WIDTH]}
    return pipeline(out, estimates=sizes)


PIPELINES: dict[str, Callable[[Var, Var], Pipeline]] = {"stencil": _stencil, "sums": _sums}


@st.composite
def _factors(draw: st.DrawFn, extent: int) -> tuple[int, ...]:
    factors: list[int] = []
    for _ in range(draw(st.integers(0, 3))):
        left = extent // math.prod(factors)
        factors.append(draw(st.sampled_from([n for n in (1, 2, 3, 4, 8, 16) if left % n == 0])))
    return tuple(factors)


@st.composite
def _nest(draw: st.DrawFn, extents: Sequence[int], kinds: Sequence[str], fuses: bool) -> Nest:
    is_fused = fuses and draw(st.booleans())
    own = (WIDTH * HEIGHT, *extents[2:]) if is_fused else extents
    factors = tuple(draw(_factors(extent)) for extent in own)
    loops = [(d, place) for d, own in enumerate(factors) for place in range(len(own) + 1)]
    chosen: dict[LoopPart, str] = {}
    for kind in kinds:
        # Only parts of tiles have a constant number of iterations; terms come one after another.
        is_constant = kind in ("vectorize", "unroll", "gpu_threads")
        may = [
            v
            for v in loops
            if v[0] < 2 - is_fused and not (is_constant and v[1] == len(factors[v[0]]))
        ]
        for loop in draw(st.lists(st.sampled_from(may), max_size=1)) if may else ():
            chosen.setdefault(loop, kind)
    return Nest(is_fused, factors, tuple(draw(st.permutations(loops))), tuple(chosen.items()))


@st.composite
def _directives(
    draw: st.DrawFn, nest: Nest, dimensions: Sequence[str]
) -> tuple[str, dict[LoopPart, str]]:
    """Directives that make a nest, and the names that they give to its loops. A split may cut the
    loops of a dimension anywhere, and those of a dimension may come before those of another.
    """
    names: dict[LoopPart, str] = {}
    splits: list[list[str]] = []
    fuses = [f"fuse({dimensions[0]}, {dimensions[1]}, t)"] if nest.is_fused else []
    dimensions = ["t", *dimensions[2:]] if nest.is_fused else dimensions
    for d, (dimension, factors) in enumerate(zip(dimensions, nest.factors, strict=True)):
        letter = draw(st.sampled_from("abkmz")) + str(d)
        own: list[str] = []
        waiting = [(dimension, 0, len(factors))]
        while waiting:
            name, first, last = waiting.pop()
            if first == last:
                names[d, first] = name
                continue
            cut = draw(st.integers(first, last - 1))
            factor = math.prod(factors[first : cut + 1])
            outer, inner = f"{letter}o{len(own)}", f"{letter}i{len(own)}"
            own.append(f"split({name}, {outer}, {inner}, {factor}, TailStrategy::GuardWithIf)")
            waiting += [(outer, cut + 1, last), (inner, first, cut)]
        splits.append(own)
    made = [split for own in draw(st.permutations(splits)) for split in own]
    order = ", ".join(names[loop] for loop in reversed(nest.loops))
    kinds = draw(st.permutations([f"{kind}({names[loop]})" for loop, kind in nest.kinds]))
    return ".".join([*fuses, *made, f"reorder({order})", *kinds]), names


@st.composite
def _pairs(draw: st.DrawFn, kinds: Sequence[str]) -> tuple[str, list[tuple[tuple[str, str], str]]]:
    """A pipeline, and twice the names of its Vars with a text: both texts make the same nests."""
    name = draw(st.sampled_from(list(PIPELINES)))
    size = (WIDTH, HEIGHT)
    stages = {
        "f": draw(_nest(size, kinds, fuses=False)),
        "out": draw(_nest(size, kinds, fuses=True)),
    }
    if name == "sums":
        stages["out.update()"] = draw(_nest((*size, TERMS), kinds, fuses=True))
    reader = list(stages)[-1]
    level = draw(st.sampled_from([None, *stages[reader].loops]))
    texts = []
    for _ in range(2):
        own = draw(st.sampled_from([("x", "y"), ("v", "u")]))
        made = {
            stage: draw(_directives(nest, (*own, *["r.x"] * (stage == "out.update()"))))
            for stage, nest in stages.items()
        }
        place = "compute_root()" if level is None else f"compute_at(out, {made[reader][1][level]})"
        lines = [f"f.{place}", *(f"{stage}.{text}" for stage, (text, _) in made.items())]
        texts.append((own, "\n".join(lines)))
    return name, texts


@pytest.mark.parametrize("target", MODELS, ids=lambda target: target.name)
def test_equal_nests_cost_the_same(target) -> None:
    kinds, models = MODELS[target]

    # A smaller pair of schedules is no clearer, and takes minutes to find.
    @settings(max_examples=examples(60), deadline=None, phases=[Phase.generate])
    @given(_pairs(kinds))
    def check(pair: tuple[str, list[tuple[tuple[str, str], str]]]) -> None:
        name, written = pair
        batches = []
        for own, text in written:
            pipe = PIPELINES[name](*map(Var, own))
            batches.append(Batch.of(pipe, parse_schedule(text, pipe)))
        for model in models:
            first, second = (float(cost_model(model, target).cost(batch)) for batch in batches)
            assert first == pytest.approx(second, rel=1e-12), model

    check()
