"""Programs that Halide schedules for a GPU come in with that schedule, and their kernels give what
Halide computes on the CPU.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import (
    CheckedSchedule,
    Emulator,
    apply,
    compile_gpu,
    device,
    format_schedule,
    from_halide,
    parse_schedule,
    read_hlpipe,
    verify,
)
from tests.differential.quick_code import quick_kernels
from tests.halide_programs.case import Case
from tests.halide_programs.kernels import KERNELS

CUDA = hl.Target("x86-64-linux-cuda-cuda_capability_80")


def made(name: str, scheduled: bool) -> Case:
    return KERNELS[name](np.random.default_rng(zlib.crc32(name.encode())), scheduled)


@pytest.mark.parametrize("name", KERNELS)
def test_a_schedule_for_a_gpu_comes_in_and_goes_back(name: str, tmp_path: Path) -> None:
    case = made(name, scheduled=True)
    live = from_halide(case.pipeline())
    assert read_hlpipe(hl.serialize_pipeline(case.pipeline())) == live
    written = format_schedule(live.schedule, live.pipeline)
    assert parse_schedule(written, live.pipeline) == live.schedule
    images = [image for image, _ in case.images]
    lowered = tmp_path / "lowered"
    case.pipeline().compile_to_lowered_stmt(str(lowered), images, hl.StmtOutputFormat.Text, CUDA)
    assert "halide_cuda_run(" in lowered.read_text()
    if name != "parts":  # without its schedule this program lacks the Func that rfactor made
        again = apply(live.schedule, made(name, scheduled=False).pipeline())
        assert again.schedule == live.schedule


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_give_the_values_of_halide(name: str) -> None:
    live = from_halide(made(name, scheduled=True).pipeline())
    checked = verify(live.pipeline, live.schedule, device("sm_80"))
    assert isinstance(checked, CheckedSchedule), str(checked)
    plain = made(name, scheduled=False)
    theirs = plain.in_halide(from_halide(plain.pipeline()))
    images, params, sizes = plain.arguments(live)
    compiled = compile_gpu(checked)
    assert compiled.source.count("__global__") >= 1
    with quick_kernels():
        ours = compiled.run(images, params, sizes, executor=Emulator("shuffled", seed=5))
    assert ours.keys() == theirs.keys()
    for buffer, wanted in theirs.items():
        np.testing.assert_array_equal(ours[buffer], wanted, err_msg=buffer, strict=True)
