"""The occupancy calculation against the vendor's own, and against published points."""

import itertools
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import attrs
import numpy as np
import pytest
from attrs import astuple
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces.constraints.devices.device import GpuDevice, device, device_names
from spaces.constraints.devices.occupancy import (
    block_limits,
    blocks_per_sm,
    occupancy,
    occupancy_fractions,
)

GPUS = [name for name in device_names() if name != "cpu"]

# The bits of cudaOccLimitingFactor, in the order of BlockLimits.
LIMITER_BITS = np.array([1, 2, 4, 8])

POINTS = 50_000
UNKNOWN_DEVICE = 2
ANY_CARVEOUT, ALL_SHARED = -1, 100


def gpu(name: str) -> GpuDevice:
    found = device(name)
    assert isinstance(found, GpuDevice)
    return found


# Hand-checked with the vendor's calculator.
@pytest.mark.parametrize("name", GPUS)
def test_two_blocks_of_512_threads_and_64_registers_fit_everywhere(name):
    assert occupancy(gpu(name), 512, 64, 2048).blocks_per_sm == 2


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("sm_70", 8),
        ("sm_75", 5),
        ("sm_80", 8),
        ("sm_86", 7),
        ("sm_89", 7),
        ("sm_90", 8),
        ("sm_120", 7),
    ],
)
def test_the_scarce_resource_differs_between_devices(name, blocks):
    assert occupancy(gpu(name), 192, 33, 12000).blocks_per_sm == blocks


@pytest.mark.parametrize("name", GPUS)
def test_1024_threads_of_65_registers_fit_nowhere(name):
    result = occupancy(gpu(name), 1024, 65, 0)
    assert (result.blocks_per_sm, result.fraction, result.limiter) == (0, 0.0, "registers")


def test_the_example_of_s20():
    # Section 2.2: a 32x12 tile widened to a 32x16 block of 4-byte pixels, compute capability 7.5.
    result = occupancy(gpu("sm_75"), 32 * 16, 64, 2048)
    assert result.active_warps == 32
    assert result.fraction == 1.0


def test_the_first_illegal_value_admits_no_block():
    sm_80 = gpu("sm_80")
    assert occupancy(sm_80, 1024, 32, 0).blocks_per_sm == 2
    assert occupancy(sm_80, 1025, 32, 0) == occupancy(sm_80, 1056, 32, 0)
    assert occupancy(sm_80, 1025, 32, 0).limiter == "warps"
    assert occupancy(sm_80, 32, 255, 0).blocks_per_sm == 8
    assert occupancy(sm_80, 32, 256, 0).blocks_per_sm == 0
    assert occupancy(sm_80, 32, 32, 163 * 1024).blocks_per_sm == 1
    assert occupancy(sm_80, 32, 32, 163 * 1024 + 1).blocks_per_sm == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, 32, 0), "at least one thread; 0"), ((32, -1, 0), "-1 registers"), ((32, 1, -5), "-5")],
)
def test_impossible_requests_raise(arguments, words):
    with pytest.raises(ValueError, match=words):
        occupancy(gpu("sm_80"), *arguments)


@given(
    name=st.sampled_from(GPUS),
    threads=st.lists(st.integers(1, 1100), min_size=1, max_size=8),
    registers=st.integers(0, 260),
    shared_bytes=st.integers(0, 240_000),
)
def test_arrays_and_ints_agree(name, threads, registers, shared_bytes):
    fractions = occupancy_fractions(gpu(name), np.array(threads), registers, shared_bytes)
    expected = [occupancy(gpu(name), n, registers, shared_bytes).fraction for n in threads]
    assert fractions.tolist() == expected


@pytest.fixture(scope="module")
def calculator(tmp_path_factory) -> Path:
    """The vendor's calculator, built from the header in the wheel of the CUDA runtime."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    try:
        files = metadata.files("nvidia-cuda-runtime") or []
    except metadata.PackageNotFoundError:
        files = []
    headers = [file.locate() for file in files if file.name == "cuda_occupancy.h"]
    if not headers:
        pytest.skip("cuda_occupancy.h is not installed (extra cuda-check)")
    binary = tmp_path_factory.mktemp("occupancy") / "calculator"
    source = Path(__file__).with_name("occupancy_oracle.cpp")
    include = f"-I{Path(str(headers[0])).parent}"
    subprocess.run([compiler, "-w", include, str(source), "-o", str(binary)], check=True)
    return binary


def ask(calculator: Path, gpu: GpuDevice, kernels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Blocks, limiting factors and the device's limit of blocks, one row a kernel."""
    limits = (
        *gpu.compute_capability,
        gpu.max_threads_per_block,
        gpu.max_threads_per_sm,
        gpu.registers_per_block,
        gpu.registers_per_sm,
        gpu.warp_threads,
        gpu.static_shared_bytes_per_block,
        gpu.shared_bytes_per_sm,
        gpu.max_shared_bytes_per_block,
        gpu.reserved_shared_bytes_per_block,
    )
    asked = np.array(limits, np.int32).tobytes() + np.ascontiguousarray(kernels).tobytes()
    done = subprocess.run([calculator], input=asked, capture_output=True, check=False)
    assert done.returncode != UNKNOWN_DEVICE, f"the vendor's calculator does not know {gpu.name}"
    assert done.returncode == 0
    return np.frombuffer(done.stdout, np.int32).reshape(len(kernels), 3)


def random_kernels(gpu: GpuDevice) -> NDArray[np.int32]:
    """Threads, registers, static and dynamic bytes; round numbers and their neighbours often."""
    draw = np.random.default_rng(20_240_501)
    turn = np.arange(POINTS)
    threads = draw.integers(1, 1100, POINTS)
    threads[::2] = np.clip(32 * draw.integers(1, 34, threads[::2].size), 1, 1100)
    threads[:1024] = np.arange(1, 1025)  # every block size there is
    registers = draw.integers(0, 256, POINTS)
    registers[::3] = 8 * draw.integers(0, 32, registers[::3].size)
    # Half of the kernels ask for little, where every multiple of the allocation unit counts.
    static = draw.integers(0, np.where(turn % 2, 8_000, gpu.static_shared_bytes_per_block + 1))
    dynamic = draw.integers(0, np.where(turn % 4 < 2, 2, 200_000))
    edges = 1024 * draw.integers(0, 230, POINTS) + draw.integers(-130, 131, POINTS)
    dynamic = np.where(turn % 5 == 0, np.maximum(edges - static, 0), dynamic)
    return np.stack([threads, registers, static, dynamic], axis=1).astype(np.int32)


def corners(gpu: GpuDevice) -> NDArray[np.int32]:
    """The last legal values, the first illegal ones, and the shares of 1 to 32 blocks."""
    most, reserve = gpu.max_shared_bytes_per_block, gpu.reserved_shared_bytes_per_block
    shares = [gpu.shared_bytes_per_sm // n - reserve for n in range(1, 33)]
    bytes_asked = {0, 1, 127, 128, 129, 255, 256, 257, most - 1, most, most + 1}
    bytes_asked |= {max(share + by, 0) for share in shares for by in (-128, 0, 1)}
    limit = gpu.static_shared_bytes_per_block
    split = [
        (static, total - static)
        for total in sorted(bytes_asked)
        for static in {0, min(total, limit), min(total // 2, limit)}
    ]
    threads = (1, 31, 32, 33, 64, 128, 1023, 1024, 1025)
    registers = (0, 1, 8, 9, 32, 64, 65, 128, 254, 255)
    rows = [(n, r, *s) for n, r, s in itertools.product(threads, registers, split)]
    return np.array(rows, np.int32)


def with_carveout(kernels: NDArray[np.int32], carveout: int) -> NDArray[np.int32]:
    column = np.full((len(kernels), 1), carveout, np.int32)
    return np.concatenate([kernels, column], axis=1)


def resources(kernels: NDArray[np.int32]) -> tuple[NDArray[np.int64], ...]:
    threads, registers, static, dynamic = kernels.astype(np.int64).T
    return threads, registers, static + dynamic


def assert_agreement(calculator: Path, gpu: GpuDevice) -> None:
    kernels = np.concatenate([corners(gpu), random_kernels(gpu)])
    limits = np.stack(astuple(block_limits(gpu, *resources(kernels))), axis=1)
    ours = limits.min(axis=1)
    limiters = LIMITER_BITS[limits.argmin(axis=1)]
    for carveout in (ANY_CARVEOUT, ALL_SHARED):
        blocks, factors, block_limit = ask(calculator, gpu, with_carveout(kernels, carveout)).T
        assert len(set(blocks.tolist())) > 8  # the points distinguish kernels
        assert kernels[blocks != ours].tolist() == []
        assert kernels[limiters & factors == 0].tolist() == []
        assert set(block_limit.tolist()) == {gpu.max_blocks_per_sm}


@pytest.mark.parametrize("name", GPUS)
def test_the_vendors_calculator_agrees(calculator, name):
    assert_agreement(calculator, gpu(name))


def test_the_vendors_calculator_agrees_where_a_block_may_take_half_of_the_registers(calculator):
    # On the devices of the table the check at launch never decides; here it does.
    assert_agreement(calculator, attrs.evolve(gpu("sm_80"), registers_per_block=32_768))


@pytest.mark.parametrize("name", GPUS)
@pytest.mark.parametrize("carveout", [0, 25, 50, 75])
def test_a_smaller_share_of_shared_memory_never_holds_more(calculator, name, carveout):
    kernels = random_kernels(gpu(name))[::10]
    ours = blocks_per_sm(gpu(name), *resources(kernels))
    blocks = ask(calculator, gpu(name), with_carveout(kernels, carveout))[:, 0]
    assert (blocks <= ours).all()
    assert (blocks < ours).any() or carveout


def test_a_device_that_the_calculator_does_not_know_is_named(calculator):
    unknown = attrs.evolve(gpu("sm_80"), compute_capability=(99, 0), name="sm_990")
    with pytest.raises(AssertionError, match="does not know sm_990"):
        assert_agreement(calculator, unknown)


@pytest.mark.parametrize(
    "wrong",
    [
        {"register_allocation_unit_per_warp": 512},
        {"shared_allocation_unit_bytes": 64},
        {"sub_partitions_per_sm": 2},
        {"max_blocks_per_sm": 31},
    ],
)
def test_a_wrong_unit_is_noticed(calculator, wrong):
    with pytest.raises(AssertionError):
        assert_agreement(calculator, attrs.evolve(gpu("sm_80"), **wrong))
