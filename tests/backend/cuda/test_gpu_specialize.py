"""Specializations on a GPU: each case has its own kernels, and the host launches the kernels of one
case.

The values must equal the reference, which knows no schedule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spaces import (
    CheckedSchedule,
    Float32,
    Func,
    ImageParam,
    Int32,
    Param,
    RDom,
    Var,
    cast,
    device,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.apps.command_line.proving import all_obligations, prove_schedule
from spaces.backend.arguments import ArgumentError
from spaces.backend.compile_gpu import compile_gpu, compile_gpu_unchecked
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.kernel import AllocStep, CudaModule
from spaces.backend.cuda.plan import Plan
from spaces.backend.cuda.program import CudaExecutor, Session
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.proofs import barrier_obligations
from spaces.backend.proofs.launches import launches
from spaces.backend.reference import evaluate
from spaces.constraints.obligations.decide import decide
from spaces.constraints.obligations.records import Proven, Refuted
from spaces.cost.batch import Batch
from spaces.model.nest.nest_text import format_nests
from spaces.model.schedules.cases import followed
from tests.backend.cuda.gpu_runs import ORDERS
from tests.backend.cuda.test_gpu_pipelines import needs_nvrtc
from tests.backend.halide.test_specialize import BLUR, call
from tests.backend.proofs.programs import barrier_places, without

GPU = device("sm_80")

APART = """\
across.compute_root().gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf)
out.specialize(out.width() >= 64 && gain == 3).gpu_tile(x, y, xi, yi, 16, 8).unroll(yi)
out.specialize(out.width() >= 16).gpu_tile(x, y, xi, yi, 16, 2, TailStrategy::GuardWithIf)
out.specialize(out.width() < 3).specialize_fail("at least 3 columns, please")
out.gpu_tile(x, y, xi, yi, 4, 4, TailStrategy::GuardWithIf)
"""
"""Shapes of blocks for wide outputs and for others, and a size that a case refuses."""

INSIDE = """\
across.compute_at(out, x)
out.specialize(out.width() >= 32).gpu_tile(x, y, xi, yi, 16, 8)
out.gpu_tile(x, y, xi, yi, 4, 4)
across.specialize(gain == 2).split(x, x, s, 2).reorder(s, x, y).unroll(s).gpu_threads(x, y)
across.gpu_threads(x, y)
"""
"""For the Func inside the kernel, both the kernel around it and its own loops depend on the
case.
"""

ON_THE_CPU = """\
across.compute_root()
across.specialize(out.width() >= 32).gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf)
out.gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf)
"""
"""Small images are not worth a launch."""

PARTS = """\
across.compute_root()
out.specialize(out.width() >= 32).gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf)
"""
"""In the wide case the CPU computes one Func; in the other case it computes everything."""

TEXTS = {"apart": APART, "inside": INSIDE, "on the CPU": ON_THE_CPU, "in parts": PARTS}


def checked(text: str) -> CheckedSchedule:
    verdict = verify(BLUR, parse_schedule(text, BLUR), GPU)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


@pytest.mark.parametrize(
    ("width", "height", "gain"), [(64, 8, 3), (66, 9, 2), (33, 8, 4), (31, 6, 2), (5, 7, 3)]
)
@pytest.mark.parametrize("name", TEXTS)
def test_every_case_gives_what_the_reference_gives(
    name: str, width: int, height: int, gain: int
) -> None:
    arguments = call(width, height, gain)
    compiled = compile_gpu(checked(TEXTS[name]))
    wanted = evaluate(BLUR, **arguments)["out"]
    for executor in ORDERS:
        np.testing.assert_array_equal(compiled.run(**arguments, executor=executor)["out"], wanted)


def launched(compiled: GpuPipeline, width: int, gain: int) -> dict[str, tuple[int, int, int]]:
    """The kernels that a call launches, with their threads."""
    values = {"out.extent.0": width, "gain": gain}
    return {kernel.name: kernel.block for kernel in compiled.at(values).kernels}


def test_each_case_has_its_own_threads_and_shares_equal_kernels() -> None:
    compiled = compile_gpu(checked(APART))
    assert launched(compiled, 64, 3)["out_kernel"] == (16, 1, 1)
    assert launched(compiled, 64, 2)["out_kernel2"] == (16, 2, 1)
    assert launched(compiled, 15, 2)["out_kernel3"] == (4, 4, 1)
    assert launched(compiled, 2, 2) == {}
    across = [k.name for k in compiled.kernels if k.name.startswith("across")]
    assert len(across) == len(set(across))
    assert {k.name for k in compiled.kernels} == {
        k.name for program in compiled.programs for k in program.kernels
    }


def test_blocks_and_shared_memory_are_counted_case_by_case() -> None:
    kernels = checked(INSIDE).kernels
    # A block of the wide case needs 16 x 9 values of across, a block of the other case 4 x 5.
    sizes = {tuple(int(e.value) for e in kernel.block) for kernel in kernels}
    assert sizes == {(16, 9, 1), (4, 5, 1)}
    printed = compile_gpu(checked(INSIDE)).kernels
    assert {kernel.static_shared_bytes for kernel in printed} == {16 * 9 * 4, 4 * 5 * 4}


@needs_nvrtc
def test_the_compiler_counts_the_resources_of_each_case() -> None:
    compiled = compile_gpu(checked(INSIDE))
    resources = compiled.resources()
    assert len(resources) == len(compiled.kernels) == 4
    for kernel in compiled.kernels:
        assert resources[kernel.name].shared_bytes == kernel.static_shared_bytes


def test_a_limit_of_the_device_is_named_with_its_case() -> None:
    text = INSIDE.replace("16, 8", "64, 32")
    verdict = verify(BLUR, parse_schedule(text, BLUR), GPU)
    (violation,) = [v for v in verdict.violations if v.rule == "gpu.threads-per-block"]
    assert violation.message.endswith("(Where gain == 2 and out.dim(0).extent() >= 32.)")


def test_a_case_that_fails_says_so() -> None:
    legal = checked(APART)
    for compiled in (compile_gpu(legal), compile_gpu_unchecked(BLUR, legal.schedule)):
        with pytest.raises(ArgumentError, match="at least 3 columns, please"):
            compiled.run(**call(2, 5, 3))


def test_conditions_may_ask_for_floats() -> None:
    image, scale = ImageParam(Int32, 1, "image"), Param(Float32, "scale", 1.0)
    x, out = Var("x"), Func("out")
    out[x] = cast(Int32, cast(Float32, image[x]) * scale)
    made = pipeline(out)
    text = "out.specialize(scale > 0.5).gpu_tile(x, xi, 8)\nout.gpu_tile(x, xi, 4)"
    verdict = verify(made, parse_schedule(text, made), GPU)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    compiled = compile_gpu(verdict)
    data = np.arange(9, dtype=np.int32) * 8
    for value, threads in ((0.75, 8), (0.5, 4), (0.25, 4), (float("nan"), 4)):
        at = compiled.at({"scale": value, "out.extent.0": 9})
        assert [kernel.block for kernel in at.kernels] == [(threads, 1, 1)]
        if value == value:
            found = compiled.run({"image": data}, {"scale": value}, {"out": [9]})["out"]
            np.testing.assert_array_equal(found, (data * value).astype(np.int32))


@pytest.mark.parametrize("name", TEXTS)
def test_all_cases_are_proven_with_their_barriers(name: str) -> None:
    schedule = parse_schedule(TEXTS[name], BLUR)
    findings = prove_schedule(BLUR, schedule, GPU, 60.0)
    assert findings.report is not None
    assert len(findings.report.proven) == len(findings.report.proofs), findings.report
    assert len(all_obligations(BLUR, schedule, GPU)) == len(findings.report.proofs)
    told = " ".join(p.obligation.statement for p in findings.report.proofs)
    shared = [
        k.name for k in compile_gpu_unchecked(BLUR, schedule).kernels if k.static_shared_bytes
    ]
    assert all(f"a block of {name} reach its barrier" in told for name in shared)


def test_the_case_is_known_where_kernels_are_launched() -> None:
    wide, *_, other = compile_gpu(checked(INSIDE)).programs
    for program, width in ((wide, "out.extent.0 >= 32"), (other, "out.extent.0 < 32")):
        assert width in map(str, program.assumptions)
        (launch,) = launches(program)
        assert width in map(str, launch.known)


def test_conditions_on_floats_are_no_formulas_of_barriers() -> None:
    image, scale = ImageParam(Int32, 1, "image"), Param(Float32, "scale", 1.0)
    x, near, out = Var("x"), Func("near"), Func("out")
    near[x] = image[x] * 2
    out[x] = cast(Int32, cast(Float32, near[x] + near[x + 1]) * scale)
    made = pipeline(out)
    text = "near.compute_at(out, x).gpu_threads(x)\nout.specialize(scale > 0.5)"
    text += ".gpu_tile(x, xi, 8)\nout.gpu_tile(x, xi, 4)"
    for program in compile_gpu_unchecked(made, parse_schedule(text, made)).programs:
        (place,) = barrier_places(program)
        assert all(isinstance(decide(o), Proven) for o in barrier_obligations(program))
        bare = without(program, *place)
        assert any(isinstance(decide(o), Refuted) for o in barrier_obligations(bare))


RACING = """\
out.gpu_tile(x, y, xi, yi, 4, 4, TailStrategy::GuardWithIf)
total.compute_root().gpu_tile(x, xi, 4, TailStrategy::GuardWithIf)
total.update(0).specialize(gain == 3).gpu_tile(r, ri, 4, TailStrategy::GuardWithIf)
total.update(0).gpu_tile(x, xi, 4, TailStrategy::GuardWithIf)
"""


def test_a_race_in_one_case_is_found_there_and_run() -> None:
    image, gain = ImageParam(Int32, 2, "image"), Param(Int32, "gain", 1)
    x, y, r = Var("x"), Var("y"), RDom([(0, 8)], "r")
    total, out = Func("total"), Func("out")
    total[x] = 0
    total[x] += image[x, r.x] * gain
    out[x, y] = total[x] + y
    made = pipeline(out)
    schedule = parse_schedule(RACING, made)
    verdict = verify(made, schedule, GPU)
    assert {v.rule for v in verdict.violations} == {"race.update"}
    assert all("(Where gain == 3.)" in v.message for v in verdict.violations)
    findings = prove_schedule(made, schedule, GPU, 60.0)
    assert findings.report is not None
    assert {p.obligation.kind for p in findings.report.refuted} >= {"race"}
    assert any(run.shows_a_mistake for run in findings.replays)
    assert {run.sizes["gain"] for run in findings.replays} == {3}


def test_costs_are_those_of_the_case_at_the_sizes() -> None:
    schedule = checked(INSIDE).schedule
    for width, side in ((64, 16), (16, 4)):
        sizes = {"out.extent.0": width, "out.extent.1": 64, "out.min.0": 0, "out.min.1": 0}
        sizes |= {
            f"image.{part}.{d}": v for d in (0, 1) for part, v in (("min", 0), ("extent", 65))
        }
        batch = Batch.of(BLUR, schedule, sizes={**sizes, "gain": 3})
        assert batch.schedule == followed(schedule, {**sizes, "gain": 3})
        (kernel,) = batch.features.kernels
        assert int(kernel.block[0]) == side


def test_the_first_condition_that_holds_is_followed() -> None:
    schedule = checked(APART).schedule
    wide, other, failing = schedule.of("out").specializations
    assert failing.failure
    plain = schedule.of("out").stages[0]
    for width, gain, order in (
        (64, 3, wide.order), (64, 2, other.order), (16, 3, other.order), (2, 3, plain)
    ):  # fmt: skip
        found = followed(schedule, {"out.extent.0": width, "gain": gain}).of("out")
        assert found.stages[0] == order
        assert not found.specializations


class Recording(CudaExecutor):
    """Runs programs on the CPU and records the names of the arrays that a call obtains."""

    def __init__(self) -> None:
        self.allocated: list[str] = []

    def session(self, *given: Any) -> Session[Any]:
        """On an emulator."""
        return Emulator().session(*given)

    def follow(self, module: CudaModule, planned: Plan, *rest: Any) -> None:
        """Runs the program on an emulator."""
        self.allocated = [step.buffer for step in planned.steps if isinstance(step, AllocStep)]
        Emulator().follow(module, planned, *rest)


def test_memory_lies_on_the_host_in_the_case_in_which_it_computes() -> None:
    compiled, executor = compile_gpu(checked(ON_THE_CPU)), Recording()
    for width, allocated in ((33, ["across"]), (31, [])):
        compiled.run(**call(width, 8, 3), executor=executor)
        assert executor.allocated == allocated


def test_nothing_is_accessed_outside_of_its_buffer() -> None:
    arguments = call(33, 9, 2)
    guarded = SanitizedEmulator("address,undefined", "shuffled", seed=3)
    found = compile_gpu(checked(INSIDE)).run(**arguments, executor=guarded)["out"]
    np.testing.assert_array_equal(found, evaluate(BLUR, **arguments)["out"])


def test_the_nest_of_each_case_is_written_below_its_conditions() -> None:
    lines = format_nests(BLUR, checked(APART).schedule).splitlines()
    heads = [line for line in lines if not line.startswith(" ")]
    assert heads == [
        "where (out.dim(0).extent() >= 64) && (gain == 3):",
        "where !((out.dim(0).extent() >= 64) && (gain == 3)) and out.dim(0).extent() >= 16:",
        "where !((out.dim(0).extent() >= 64) && (gain == 3)) and out.dim(0).extent() < 16"
        " and out.dim(0).extent() < 3:",
        "where !((out.dim(0).extent() >= 64) && (gain == 3)) and out.dim(0).extent() < 16"
        " and out.dim(0).extent() >= 3:",
    ]
    assert lines[lines.index(heads[2]) + 1] == "  assert false, at least 3 columns, please"


def test_conditions_may_ask_for_strides() -> None:
    text = "out.specialize(out.dim(1).stride() == 20).gpu_tile(x, y, xi, yi, 16, 8)\n"
    text += "out.gpu_tile(x, y, xi, yi, 4, 4, TailStrategy::GuardWithIf)"
    compiled = compile_gpu(checked(text))
    for width in (19, 20):
        arguments = call(width, 8, 3)
        wanted = evaluate(BLUR, **arguments)["out"]
        np.testing.assert_array_equal(compiled.run(**arguments)["out"], wanted)
    with pytest.raises(ArgumentError, match="dimension 1 of output out must have at least 8"):
        compiled.run(**call(20, 4, 3))
    compiled.run(**call(19, 4, 3))
