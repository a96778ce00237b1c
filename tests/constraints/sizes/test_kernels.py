"""The kernels of a schedule: their blocks, their shared memory and registers."""

import pytest
from attrs import evolve

from spaces import CheckedSchedule, Schedule, device, parse_schedule, schedule, verify
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.devices.occupancy import occupancy
from spaces.constraints.examples import algorithms
from spaces.model.formulas.algebra import evaluate
from tests.constraints import pipelines

SM75 = device("sm_75")
BLUR = algorithms.blur(1536, 2560)


def test_registers_count_started_words():
    """Each thread keeps ``height + 1`` bytes: 1020 of them are 255 registers."""
    pipeline = pipelines.column()

    def kept(height: int) -> bool:
        s = schedule(pipeline).split("x", "x", "xi", 32).split("y", "y", "yi", height)
        s = s.reorder("yi", "xi", "x", "y").gpu_blocks("x", "y").gpu_threads("xi").func("p")
        s = s.compute_at("q", "xi").store_in("register")
        verdict = verify(pipeline, s.schedule, SM75)
        assert {v.rule for v in verdict.violations} <= {"gpu.registers"}
        return verdict.legal

    assert kept(1019)
    assert not kept(1020)


def block_and_shared_bytes(text: str) -> tuple[list[int], int]:
    (kernel,) = verify(BLUR, parse_schedule(text, BLUR), SM75).kernels
    return [evaluate(e, {}) for e in kernel.block], evaluate(kernel.shared_bytes, {})


def test_tiles_cut_at_the_end_take_the_block_of_whole_ones():
    text = (
        "by.gpu_tile(x, y, xi, yi, 32, 8, TailStrategy::GuardWithIf)\n"
        "bx.compute_at(by, x).gpu_threads(x, y)"
    )
    assert block_and_shared_bytes(text) == ([32, 10, 1], 32 * 10 * 2)


def test_a_window_that_slides_in_a_kernel_takes_the_block_of_its_first_step():
    text = (
        "by.split(x, x, xi, 32).split(y, y, yi, 8).reorder(xi, yi, x, y)"
        ".gpu_blocks(x, y).gpu_threads(xi)\n"
        "bx.store_at(by, x).compute_at(by, yi).gpu_threads(x, y)"
    )
    assert block_and_shared_bytes(text) == ([32, 3, 1], 32 * 3 * 2)


@pytest.mark.parametrize(
    ("level", "memory", "shared"), [("x", "auto", 4), ("x", "gpu_shared", 4), ("xi", "register", 0)]
)
def test_a_func_without_dimensions_has_one_element(level: str, memory: str, shared: int):
    pipeline = pipelines.offset()
    s = schedule(pipeline).gpu_tile("x", "y", "xi", "yi", 8, 8)
    s = s.func("s").compute_at("out", level).store_in(memory)
    (kernel,) = verify(pipeline, s.schedule, SM75).kernels
    assert evaluate(kernel.shared_bytes, {}) == shared


class TestSegment:
    """[S20] 2.1: a tile of 32 x 12 of Z, whose producer W needs four more lines."""

    pipeline = pipelines.segment()

    @pytest.fixture
    def fused(self) -> Schedule:
        """K nested in W's threads (Fig. 4): only W is shared."""
        s = schedule(self.pipeline).gpu_tile("x", "y", "xi", "yi", 32, 12)
        s = s.func("W").compute_at("Z", "x").gpu_threads("x", "y")
        s = s.func("K").compute_at("W", "x")
        return s.func("E").compute_root().schedule

    def test_block_and_shared_memory_are_those_of_the_paper(self, fused: Schedule):
        verdict = verify(self.pipeline, fused, SM75)
        assert isinstance(verdict, CheckedSchedule)
        (kernel,) = verdict.kernels
        assert [evaluate(e, {}) for e in kernel.block] == [32, 16, 1]
        assert evaluate(kernel.threads_per_block, {}) == 512
        assert evaluate(kernel.shared_bytes, {}) == 2048

    def test_verify_counts_threads(self, fused: Schedule):
        assert isinstance(SM75, GpuDevice)
        smaller = evolve(SM75, max_threads_per_block=511)
        (violation,) = verify(self.pipeline, fused, smaller).violations
        assert violation.values["threads"] == 512
        assert "32 x 16 = 512" in violation.message
        assert "W must cover Z's tile of 32 x 12 plus 4 along y" in violation.message
        assert verify(self.pipeline, fused, evolve(SM75, max_threads_per_block=512))

    def test_verify_counts_shared_bytes(self, fused: Schedule):
        assert isinstance(SM75, GpuDevice)
        smaller = evolve(SM75, max_shared_bytes_per_block=2047)
        (violation,) = verify(self.pipeline, fused, smaller).violations
        assert violation.rule == "gpu.shared-bytes"
        assert violation.values["bytes"] == 2048
        assert "W 32 x 16 x 4" in violation.message
        assert verify(self.pipeline, fused, evolve(SM75, max_shared_bytes_per_block=2048))

    def test_occupancy_is_full(self, fused: Schedule):
        assert isinstance(SM75, GpuDevice)
        (kernel,) = verify(self.pipeline, fused, SM75).kernels
        threads = evaluate(kernel.threads_per_block, {})
        shared = evaluate(kernel.shared_bytes, {})
        assert occupancy(SM75, threads, 64, shared).fraction == 1.0

    def test_overlapping_tiles_share_both_stages(self):
        """Fig. 3: tiles of 4 x 4 make blocks of 4 x 8, and share K[3*4*8] and W[4*8]."""
        s = schedule(self.pipeline).gpu_tile("x", "y", "xi", "yi", 4, 4)
        for func in ("W", "K"):
            s = s.func(func).compute_at("Z", "x").gpu_threads("x", "y")
        verdict = verify(self.pipeline, s.func("E").compute_root().schedule, SM75)
        (kernel,) = verdict.kernels
        assert [evaluate(e, {}) for e in kernel.block] == [4, 8, 1]
        assert {a.func: evaluate(a.elements, {}) for a in kernel.shared} == {
            "K": 3 * 4 * 8,
            "W": 4 * 8,
        }
