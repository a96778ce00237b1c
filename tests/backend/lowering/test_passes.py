"""Every pass keeps the values of a program: the tests interpret the program after each pass."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from spaces import Bool, Int32, LoopKind, Pipeline, Schedule, evaluate, loop_nest
from spaces.backend.ir.program import LoopProgram, ScalarParameter
from spaces.backend.ir.statements import EMPTY, For, If, Statement, Store
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.lowering.simplify import simplify
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import evaluate as number
from tests.backend.cpu_pipelines import edge_pipelines
from tests.backend.cpu_runs import Ranges, buffer_sizes
from tests.backend.cpu_schedules import cpu_schedules
from tests.backend.lowering.expression_interpreter import Cells
from tests.backend.lowering.program_interpreter import run_program
from tests.draw_counts import examples
from tests.drawn_pipelines import stencil_pipelines

VAR, N, ZERO = Variable(Int32, "i"), Variable(Int32, "n"), constant(0, Int32)
STORE = Store("out", ZERO, N)
NEVER = If(constant(False, Bool), STORE)

FLAT = ("flatten", "vectorize", "interleave", "hoist", "parallel")


def buffer_cells(ranges: list[tuple[int, int]], array: np.ndarray, flat: bool) -> Cells:
    """An array as cells by coordinate, or by flat index."""
    cells: Cells = {}
    for position, at in enumerate(product(*(range(n) for _, n in reversed(ranges)))):
        coordinates = tuple(low + i for (low, _), i in zip(ranges, reversed(at), strict=True))
        cells[position if flat else coordinates] = int(array[at])
    return cells


def variables(sizes: Ranges) -> dict[str, int]:
    """Sizes and strides of dense buffers."""
    values = {}
    for name, ranges in sizes.items():
        stride = 1
        for d, (low, extent) in enumerate(ranges):
            values |= {f"{name}.min.{d}": low, f"{name}.extent.{d}": extent}
            values[f"{name}.stride.{d}"] = stride
            stride *= extent
    return values


def check_passes(pipeline: Pipeline, schedule: Schedule, outputs: Ranges) -> dict[str, LoopProgram]:
    nest = loop_nest(pipeline, schedule)
    sizes = buffer_sizes(pipeline, nest, outputs, (7, 6))
    values = variables(sizes)
    stages = lower(nest)
    assume(all(number(r.condition, values) for r in stages["start"].size_checks))
    (image,), (out,) = pipeline.images, pipeline.outputs
    shape = tuple(extent for _, extent in reversed(sizes[image.name]))
    array = np.random.default_rng(0).integers(0, 99, shape).astype(image.type.dtype)
    wanted = evaluate(pipeline, {image.name: array}, sizes=sizes)[out]
    for name, program in stages.items():
        flat = name in FLAT
        memory = {image.name: buffer_cells(sizes[image.name], array, flat), out: {}}
        found = run_program(program, values, memory)[out]
        assert found == buffer_cells(sizes[out], wanted, flat), f"after {name}"
    return stages


@pytest.mark.parametrize("family", [stencil_pipelines(max_stages=3), edge_pipelines()])
def test_every_pass_keeps_the_values(family: st.SearchStrategy[Pipeline]) -> None:
    @settings(
        max_examples=examples(25, fewest=5), deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        algorithm = data.draw(family)
        schedule = data.draw(cpu_schedules(algorithm))
        limits = st.tuples(st.integers(-3, 3), st.integers(1, 9))
        outputs = {algorithm.outputs[0]: [data.draw(limits), data.draw(limits)]}
        check_passes(algorithm, schedule, outputs)

    run()


@pytest.mark.parametrize(
    ("body", "otherwise", "left"),
    [
        (NEVER, None, EMPTY),
        (NEVER, NEVER, EMPTY),
        (For(VAR, N, ZERO, LoopKind.SERIAL, STORE), If(N < 3, NEVER), EMPTY),
        (STORE, NEVER, If(N < 5, STORE)),
        (NEVER, STORE, If(N < 5, EMPTY, STORE)),
    ],
)
def test_conditions_around_nothing_are_dropped(
    body: Statement, otherwise: Statement | None, left: Statement
) -> None:
    inside = For(VAR, ZERO, N, LoopKind.SERIAL, If(N < 5, body, otherwise))
    program = LoopProgram("p", (), (ScalarParameter("n", Int32),), (), If(N < 5, body, otherwise))
    assert simplify(program).body == left
    around = simplify(evolve(program, body=inside)).body
    assert (around == EMPTY) is (left == EMPTY)
