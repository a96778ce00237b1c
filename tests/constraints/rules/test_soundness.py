"""Legal orders of updates give the algorithm's values, in any order of concurrent iterations."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import device, verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.functions import clamp, max, select
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import Loop, LoopNest, loop_nest
from spaces.model.schedules.domain_order import LoopKind, Tail
from spaces.model.schedules.schedule import Schedule
from tests.draw_counts import examples
from tests.model.nest.nest_interpreter import _Machine, value_of

X, Y = Var("x"), Var("y")
IMAGE = ImageParam(Int32, 2, "input")
R = RDom([(0, 4), (0, 3)], "r")
SIZES = {"f.min.0": 0, "f.min.1": 0, "f.extent.0": 5, "f.extent.1": 4}
AT_ONCE = (LoopKind.PARALLEL, LoopKind.VECTORIZED)


def image(name: str, at: tuple[int, ...]) -> int:
    x, y = at
    return (x * 7 + y * 13 + x * y) % 23 - 5


def _sum(f):
    f[X, Y] += IMAGE[X + R.x, Y + R.y]


def _horner(f):
    f[X, Y] = f[X, Y] * 2 + IMAGE[X + R.x, Y + R.y]


def _rows(f):
    f[R.x, Y] = f[R.x, Y] * 3 + IMAGE[R.x, R.y]


def _square(f):
    f[R.x, R.y] += IMAGE[R.y, R.x]


def _scatter(f):
    f[clamp(IMAGE[R.x, R.y], 0, 4), Y] += R.x + 1


def _greatest(f):
    f[X, R.y] = max(IMAGE[X, R.x], f[X, R.y])


def _last(f):
    f[X, R.y] = select(IMAGE[X, R.x] > 0, R.x, f[X, R.y])


def _scan(f):
    f[R.x + 1, Y] = f[R.x, Y] + IMAGE[R.x, R.y]


def _algorithm(update):
    f = Func("f")
    f[X, Y] = X - Y
    update(f)
    return pipeline(f)


ALGORITHMS = [
    _algorithm(u) for u in (_sum, _horner, _rows, _square, _scatter, _greatest, _last, _scan)
]


class _Backwards(_Machine):
    """Runs the iterations of concurrent loops from the last to the first."""

    def step(self, node) -> None:
        if not (isinstance(node, Loop) and node.var.kind in AT_ONCE):
            super().step(node)
            return
        low = value_of(node.var.min, self.env, self.read)
        extent = value_of(node.var.extent, self.env, self.read)
        for i in reversed(range(low, low + extent)):
            self.env[node.var.var.name] = i
            self.run(node.body)


def values(nest: LoopNest) -> dict[tuple[int, ...], int]:
    machine = _Backwards(nest, dict(SIZES), image)
    machine.run(nest.body)
    return machine.storage["f"].values


@st.composite
def orders(draw: st.DrawFn, directives: Directives) -> Directives:
    """Splits, fuses, reorders and kinds of an update stage, most of them well formed."""
    for number in range(draw(st.integers(1, 4))):
        loops = [loop.name for loop in directives.schedule.of("f").stages[1].loops]
        one, two = draw(st.sampled_from(loops)), draw(st.sampled_from(loops))
        tails = st.sampled_from([Tail.AUTO, Tail.AUTO, *Tail])
        match draw(st.sampled_from(["split", "fuse", "reorder", "reorder", "kind", "kind"])):
            case "split":
                factor = draw(st.integers(1, 3))
                directives = directives.split(one, one, f"i{number}", factor, draw(tails))
            case "fuse" if one != two:
                directives = directives.fuse(one, two, f"t{number}")
            case "reorder":
                directives = directives.reorder(*draw(st.permutations(loops)))
            case _:
                kind = draw(st.sampled_from(["parallel", "parallel", "unroll", "vectorize"]))
                directives = getattr(directives, kind)(one)
    return directives


@settings(max_examples=examples(300))
@given(st.sampled_from(ALGORITHMS), st.data())
def test_legal_orders_of_updates_compute_what_is_written(algorithm, data):
    written = data.draw(orders(schedule(algorithm).update(0))).schedule
    verdict = verify(algorithm, written, device("cpu"))
    if not verdict:
        return
    assert all(not r.rule.startswith("race") for r in verdict.size_conditions)
    holds = [value_of(r.condition, SIZES, image) for r in verdict.size_conditions if _known(r)]
    if all(holds):
        expected = values(loop_nest(algorithm, Schedule.default(algorithm)))
        assert values(verdict.nest) == expected


def _known(condition) -> bool:
    """Conditions on the image are met by one that is defined everywhere."""
    return condition.rule != "bounds.image-overrun"
