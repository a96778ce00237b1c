"""Directives that add Funcs, here and in Halide: the same loops, the same bits."""

import numpy as np
import pytest

from backend.compile import compile_cpu
from backend.halide.source import halide_source
from spaces import device, format_schedule, parse_schedule, verify
from tests.model.test_derive import TEXTS, diamond

bridge = pytest.importorskip(
    "backend.halide.bridge",
    reason="Halide's Python package, the extra `halide`, is not installed",
    exc_type=ImportError,
)

P = diamond()


@pytest.mark.parametrize("text", TEXTS)
def test_wrappers_and_clones_give_halides_bits(text: str) -> None:
    written = parse_schedule(text, P)
    checked = verify(P, written, device("cpu"))
    assert checked
    image = np.random.default_rng(5).integers(-(2**31), 2**31, (40, 40), np.int32, endpoint=False)
    sizes = {"out": [(2, 29), (1, 33)]}
    theirs = bridge.build(P, written).realize({"input": image}, sizes=sizes)["out"]
    ours = compile_cpu(P, checked).run({"input": image}, sizes=sizes)["out"]
    assert np.array_equal(ours, theirs)


def test_halide_makes_the_same_loops() -> None:
    text = "input.in(f).compute_at(f, y).vectorize(_0, 8)\nf.compute_root()\ng.compute_root()"
    nest = bridge.build(P, parse_schedule(text, P)).loop_nest()
    lines = [line.strip() for line in nest.splitlines()]
    produced = next(i for i, line in enumerate(lines) if line.startswith("produce input"))
    assert lines[produced - 1] == "for y:"
    # Of a single row.
    assert lines[produced + 1] == "for _0._0:"
    assert lines[produced + 2].startswith("vectorized _0.v")


def test_cpp_declares_what_is_added() -> None:
    text = "input.in(f).compute_at(f, y).vectorize(_0, 8)\nf.in({g, h}).compute_root()"
    written = parse_schedule(text, P)
    source = halide_source(P, written)
    assert "Func input_in_f = input.in(f);\n    Func f_in_g_h = f.in({g, h});\n" in source
    # What is printed can be pasted back.
    chains = source[source.index("    Func input_in_f") : source.index("    return")]
    assert format_schedule(parse_schedule(chains, P), P) == format_schedule(
        parse_schedule(f"{text}\ng.compute_root()", P), P
    )
