"""The occupancy calculation against the vendor's own, and against published points."""

import itertools
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.constraints.devices import GpuDevice, device, device_names
from spaces.constraints.occupancy import occupancy, occupancy_fractions

GPUS = [name for name in device_names() if name != "cpu"]

# The bits of cudaOccLimitingFactor.
LIMITER_BITS = {"warps": 1, "registers": 2, "shared memory": 4, "blocks": 8}


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


def ask(calculator: Path, gpu: GpuDevice, kernels: list[tuple[int, int, int, int]]):
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
    text = "".join(" ".join(map(str, (*limits, *kernel))) + "\n" for kernel in kernels)
    answer = subprocess.run(
        [calculator], input=text, capture_output=True, text=True, check=True
    ).stdout
    return [tuple(map(int, line.split())) for line in answer.splitlines()]


def random_kernels(count: int) -> list[tuple[int, int, int, int]]:
    """Threads, registers, static and dynamic bytes; round numbers and their neighbours often."""
    draw = np.random.default_rng(20_240_501)
    threads = draw.integers(1, 1100, count)
    threads[::2] = np.clip(32 * draw.integers(1, 34, threads[::2].size), 1, 1100)
    registers = draw.integers(0, 256, count)
    registers[::3] = 8 * draw.integers(0, 32, registers[::3].size)
    # Half of the kernels ask for little, where every multiple of the allocation unit counts.
    static = draw.integers(0, np.where(np.arange(count) % 2, 8_000, 49_153))
    dynamic = draw.integers(0, np.where(np.arange(count) % 4 < 2, 2, 200_000))
    edges = 1024 * draw.integers(0, 230, count) + draw.integers(-130, 131, count)
    dynamic = np.where(np.arange(count) % 5 == 0, np.maximum(edges - static, 0), dynamic)
    return [
        (int(a), int(b), int(c), int(d))
        for a, b, c, d in zip(threads, registers, static, dynamic, strict=True)
    ]


def assert_agreement(calculator: Path, gpu: GpuDevice) -> None:
    corners = itertools.product((1, 32, 33, 1024, 1025), (0, 1, 255), (0, 49_152), (0, 1, 50_000))
    kernels = [*corners, *random_kernels(4_000)]
    answers = ask(calculator, gpu, kernels)
    assert len(answers) == len(kernels)
    assert len({blocks for blocks, _, _ in answers}) > 8  # the points do tell kernels apart
    for kernel, (blocks, factors, block_limit) in zip(kernels, answers, strict=True):
        threads, registers, static, dynamic = kernel
        ours = occupancy(gpu, threads, registers, static + dynamic)
        assert ours.blocks_per_sm == blocks, kernel
        assert LIMITER_BITS[ours.limiter] & factors, kernel
        assert ours.active_warps == blocks * ((threads + 31) // 32)
        assert gpu.max_blocks_per_sm == block_limit


@pytest.mark.parametrize("name", GPUS)
def test_the_vendors_calculator_agrees(calculator, name):
    assert_agreement(calculator, gpu(name))


def test_the_vendors_calculator_agrees_where_a_block_may_take_half_of_the_registers(calculator):
    # On the devices of the table the check at launch never decides; here it does.
    assert_agreement(calculator, attrs.evolve(gpu("sm_80"), registers_per_block=32_768))
