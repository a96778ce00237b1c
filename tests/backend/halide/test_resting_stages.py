"""Fused loops compute producers only for the stages that run: counted by hand, and equal to
Halide's counts.

Halide's trace gives its stores; a run of the loop nest gives the library's stores.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections import Counter

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu_unchecked
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Schedule
from tests.backend.cpu_runs import check_values
from tests.backend.halide.peer import assert_agrees, bridge, legal
from tests.model.nest.nest_interpreter import count_stores

X, Y = Var("x"), Var("y")
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 60), np.int32)
SIZES = {"out": ((0, 9), (0, 9))}
PLACE = {"out.min.0": 0, "out.min.1": 0, "out.extent.0": 9, "out.extent.1": 9}
ROOT = "f.compute_root()\ng.compute_root()\n"


def readers() -> Pipeline:
    """The required region of f is columns 0 to 11 of rows 0 to 9, and of g columns 0 to 8 of rows 0
    to 12. Both read p: f two rows of it, g one. Only g reads q, and q reads s.
    """
    image = ImageParam(Int32, 2, "image")
    p, q, s, f, g, out = (Func(name) for name in ("p", "q", "s", "f", "g", "out"))
    p[X, Y] = image[X, Y] * 3
    s[X, Y] = image[X, Y] + 5
    q[X, Y] = s[X, Y] + X
    q[X, Y] += s[X + 1, Y]
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    g[X, Y] = p[X + 1, Y + 2] - q[X, Y]
    out[X, Y] = f[X, Y] + f[X + 3, Y + 1] * g[X, Y] - g[X, Y + 4]
    return pipeline(out)


READERS = readers()


def counted(func: str, chosen: Schedule) -> int:
    """The number of values that Halide stores by the definition of a Func."""
    peer = bridge.build(READERS, chosen)
    peer.algorithm.funcs[func].trace_stores()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        peer.realize({"image": IMAGE}, sizes=SIZES)
    return len(re.findall(rf"^Store {func}\b", printed.getvalue(), re.MULTILINE))


# In rows 0 to 9 f and g run, in rows 10 to 12 only g; in columns 9 to 11 only f.
Q = "\ns.compute_root()\nq.compute_root()"
ROOTS = "s.compute_root()\np.compute_root()\n"
CASES = (
    # q is computed where g is, and twice there, because it has an update.
    ("q", "f.compute_with(g, x)\n" + ROOTS + "q.compute_at(g, x)", 2 * 117),
    ("q", "g.compute_with(f, x)\n" + ROOTS + "q.compute_at(f, x)", 2 * 117),
    ("q", "g.compute_with(f, y)\n" + ROOTS + "q.compute_at(f, y)", 2 * 117),
    # s is computed where q is, for two columns, although it does not depend on the loops of f and
    # g.
    ("s", "g.compute_with(f, x)\ns.compute_at(f, x)\np.compute_root()\nq.compute_at(f, x)", 234),
    # Rows y to y + 2 of all twelve columns for both, and row y + 2 of nine for g alone.
    ("p", f"g.compute_with(f, y)\np.compute_at(f, y){Q}", 10 * 36 + 3 * 9),
    ("p", f"f.compute_with(g, y)\np.compute_at(g, y){Q}", 10 * 36 + 3 * 9),
    # Two columns of three rows for both, two rows for f alone, one value for g alone.
    ("p", f"g.compute_with(f, x)\np.compute_at(f, x){Q}", 10 * 9 * 6 + 10 * 3 * 2 + 3 * 9),
    # A sliding window continues, whichever stage runs.
    ("p", f"g.compute_with(f, y)\np.compute_at(f, y).store_root(){Q}", 15 * 12),
)  # fmt: skip


@pytest.mark.parametrize(("func", "text", "wanted"), CASES)
def test_only_what_running_stages_ask_for_is_computed(func: str, text: str, wanted: int) -> None:
    verdict = legal(READERS, ROOT + text)
    nest = loop_nest(READERS, verdict.schedule)
    stores: Counter[str] = count_stores(nest, PLACE, lambda _, at: at[0] + at[1])
    assert stores[func] == wanted
    assert stores[func] <= counted(func, verdict.schedule)
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    compiled = compile_cpu_unchecked(READERS, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (0, height)]})
    assert_agrees(READERS, verdict.schedule, {"image": IMAGE}, SIZES)


@pytest.mark.parametrize(
    "text",
    [
        f"f.parallel(y)\ng.parallel(y).compute_with(f, y)\np.compute_at(f, y).vectorize(x, 4){Q}",
        "g.compute_with(f, y)\np.compute_root()\nq.compute_at(f, y).vectorize(x, 4)\n"
        "q.update(0).vectorize(x, 8)\ns.compute_at(f, y).unroll(x, 2)",
        "g.split(y, y, yi, 2, GuardWithIf)\nf.split(y, y, yi, 2, GuardWithIf).compute_with(g, yi)\n"
        "p.compute_at(g, yi)\nq.compute_at(g, y)\ns.compute_at(g, y)",
        "f.compute_with(g, x)\np.compute_at(g, x).store_at(g, y)\nq.compute_at(g, x)\n"
        "s.compute_at(g, x).hoist_storage_root()",
    ],
)
def test_resting_stages_change_no_values(text: str) -> None:
    verdict = legal(READERS, ROOT + text)
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    compiled = compile_cpu_unchecked(READERS, verdict.schedule, threads=2)
    for width, height in ((19, 12), (33, 5)):
        check_values(compiled, {"out": [(1, width), (0, height)]})
