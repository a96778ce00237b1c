"""Random stencil pipelines under random GPU schedules, and the rules on their kernels."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.backend.lowering.gpu.passes import lower_gpu
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.sizes.kernels import kernels
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.schedules.schedule import Schedule
from tests.backend.cuda.gpu_strategies import gpu_schedules, stencil_chains
from tests.draw_counts import examples

IMAGE = np.random.default_rng(0).integers(-1000, 1000, (60, 220), dtype=np.int32)
PLACE = ((-70, 220), (-30, 60))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Pipeline, Schedule]:
    algorithm = draw(stencil_chains())
    return algorithm, draw(gpu_schedules(algorithm))


@settings(max_examples=examples(15, fewest=5))
@given(cases(), st.data())
def test_random_schedules_compute_the_pipeline(
    case: tuple[Pipeline, Schedule], data: st.DataObject
) -> None:
    algorithm, schedule = case
    try:
        compiled = compile_gpu_unchecked(algorithm, schedule)
    except GpuLoweringError:
        assume(False)  # sizes that vary without a limit; the rules refuse them, see below
    output = algorithm.outputs[0]
    extents = data.draw(st.tuples(st.integers(3, 14), st.integers(3, 14)))
    mins = data.draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
    sizes = {output: tuple(zip(mins, extents, strict=True)), "input": PLACE}
    executor = Emulator(data.draw(st.sampled_from(["forward", "reverse", "shuffled"])))
    try:
        outputs = compiled.run({"input": IMAGE}, sizes=sizes, executor=executor)
    except SizeError:
        assume(False)
    expected = evaluate(algorithm, {"input": IMAGE}, sizes=sizes)
    np.testing.assert_array_equal(outputs[output], expected[output])


@settings(max_examples=examples(60))
@given(cases())
def test_kernels_are_those_that_the_rules_judged(case: tuple[Pipeline, Schedule]) -> None:
    algorithm, schedule = case
    verdict = verify(algorithm, schedule, device("sm_80"))
    assume(isinstance(verdict, CheckedSchedule))
    assert isinstance(verdict, CheckedSchedule)
    lowered = lower_gpu(verdict.nest)  # a legal schedule lowers
    judged = kernels(verdict.bounds)
    assert len(judged) == len(lowered.kernels)
    for kernel, function in zip(judged, lowered.kernels, strict=True):
        assert tuple(number(extent, {}) for extent in kernel.block) == function.block
        assert number(kernel.shared_bytes, {}) == function.shared_bytes
