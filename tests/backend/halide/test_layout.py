"""Layout of storage and explicit bounds: compiled code, the reference and Halide give the same
bits.
"""

import numpy as np
import pytest

from spaces import prove
from spaces.backend.compile import compile_cpu, compile_cpu_unchecked
from spaces.backend.halide.errors import RealizationError
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.nest.loopnest import Allocate, loop_nest, walk_nest
from spaces.model.writing.text import parse_schedule
from tests.backend.halide.peer import assert_peer_agrees, bridge, legal

X, Y, C = Var("x"), Var("y"), Var("c")
IMAGE = np.random.default_rng(1).integers(0, 256, (3, 64, 80), np.uint8)
LARGE = {"im": [(-16, 80), (-16, 64), (0, 3)]}


def colors() -> Pipeline:
    """A stencil over colors, which wrap around, and a sum of a few of its values."""
    image, r = ImageParam(UInt8, 3, "im"), RDom([(0, 3)], "r")
    f, s, g = Func("f"), Func("s"), Func("g")
    f[X, Y, C] = cast(Int32, image[X, Y, C]) * 3 + C
    s[X, Y, C] = f[X, Y, (C + 1) % 3]
    s[X, Y, C] += f[X + r.x, Y, C]
    g[X, Y, C] = s[X, Y, C] + s[X, Y + 1, C] * 2
    return pipeline(g)


SCHEDULES = [
    "s.compute_root().reorder_storage(c, x, y); f.compute_root().reorder_storage(y, x)",
    "s.compute_at(g, y).align_storage(x, 32).align_storage(y, 2)",
    "f.compute_root().align_storage(x, 16).reorder_storage(c, y).vectorize(x, 8); s.compute_root()",
    "g.bound(c, 0, 3).reorder(c, x, y).unroll(c); s.compute_at(g, x).bound(c, 0, 3).unroll(c)",
    "s.compute_at(g, y).align_bounds(x, 8).update().vectorize(x, 8)\nf.compute_at(g, y)",
    "f.compute_at(g, y).align_bounds(x, 4, 3).vectorize(x, 4); s.compute_at(g, y)",
    "s.compute_at(g, y).align_extent(x, 5).bound_extent(y, 2).unroll(y)",
    "g.split(x, x, xi, 8)\ns.compute_at(g, x).bound_extent(x, 8).vectorize(x)\nf.compute_at(g, x)",
    "s.store_root().compute_at(g, y).align_storage(y, 4).reorder_storage(y, x)",
    "s.compute_at(g, x).hoist_storage_root(); f.compute_at(g, x).hoist_storage(g, y)",
    "s.compute_at(g, y).bound_storage(x, 64).bound_storage(y, 2).store_in(Stack)"
    ".hoist_storage_root()",
    "g.split(y, y, yi, 4).parallel(y)\ns.store_at(g, y).compute_at(g, yi).hoist_storage(g, y)\n"
    "f.compute_at(g, yi).hoist_storage(g, y)",
    "s.store_root().compute_at(g, y).align_bounds(y, 2)\nf.store_at(g, y).compute_at(g, y)",
]


PLACES = (((0, 24), (0, 9)), ((-3, 23), (5, 8)))


@pytest.mark.parametrize("text", SCHEDULES)
def test_gives_halides_bits(text: str) -> None:
    built = colors()
    verdict = legal(built, text.replace(";", "\n"))
    report = prove(verdict)
    assert len(report.proven) == len(report.proofs)
    ours, theirs = compile_cpu(verdict), bridge.build(built, verdict.schedule)
    for place in PLACES:
        sizes = {**LARGE, "g": [*place, (0, 3)]}
        wanted = evaluate(built, {"im": IMAGE}, sizes=sizes)["g"]
        assert np.array_equal(ours.run({"im": IMAGE}, sizes=sizes)["g"], wanted)
        assert_peer_agrees(theirs, {"im": IMAGE}, sizes)


def test_extents_are_halides() -> None:
    """``f`` is required from 1 to 11; aligned modulo 4 with remainder 3, this becomes -1 to 14."""
    image = ImageParam(Int32, 1, "im")
    f, g = Func("f"), Func("g")
    f[X] = image[X]
    g[X] = f[X] + f[X + 1]
    built = pipeline(g)
    chosen = parse_schedule("f.compute_root().align_bounds(x, 4, 3).align_storage(x, 10)", built)
    nest = loop_nest(built, chosen)
    (storage,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    at = {"g.min.0": 1, "g.extent.0": 10}
    (reached,) = nest.placements["f"].storage.computed
    assert reached.min is not None
    assert reached.max is not None
    assert [number(reached.min, at), number(reached.max, at)] == [-1, 14]
    assert number(storage.elements, at) == 20
    ours = compile_cpu_unchecked(built, chosen)
    values = {"im": np.arange(16, dtype=np.int32)}
    for low, fits in ((-1, True), (0, False)):
        sizes = {"im": [(low, 16)], "g": [(1, 10)]}
        for run in (ours.run, bridge.build(built, chosen).realize):
            if fits:
                assert run(values, sizes=sizes)["g"][0] == 2 * (1 - low) + 1
            else:
                with pytest.raises((SizeError, RealizationError), match=r"-1|im\.min\.0 is 0"):
                    run(values, sizes=sizes)


@pytest.mark.parametrize("checked", [True, False])
def test_a_bound_is_a_precondition(checked: bool) -> None:
    built = colors()
    verdict = legal(built, "s.compute_root().bound(x, 0, 20)")
    if checked:
        ours = compile_cpu(verdict)
    else:
        ours = compile_cpu_unchecked(built, verdict.schedule)
    for width in (20, 12):
        sizes = {**LARGE, "g": [width, 4, 3]}
        wanted = evaluate(built, {"im": IMAGE}, sizes=sizes)["g"]
        assert np.array_equal(ours.run({"im": IMAGE}, sizes=sizes)["g"], wanted)
    for low, width in ((0, 21), (-1, 12)):
        with pytest.raises(SizeError, match=r"bound|required outside"):
            ours.run({"im": IMAGE}, sizes={**LARGE, "g": [(low, width), 4, 3]})


@pytest.mark.parametrize("width", [8, 9, 7])
def test_a_bound_of_an_output_is_its_extent(width: int) -> None:
    built = colors()
    sizes = {**LARGE, "g": [width, 4, 3]}
    ours = compile_cpu(legal(built, "g.bound(x, 0, 8).vectorize(x)"))
    if width == 8:
        wanted = evaluate(built, {"im": IMAGE}, sizes=sizes)["g"]
        assert np.array_equal(ours.run({"im": IMAGE}, sizes=sizes)["g"], wanted)
    else:
        with pytest.raises(SizeError, match=r"g\.bound\(x, 0, 8\)"):
            ours.run({"im": IMAGE}, sizes=sizes)
