"""The device table against the vendor's figures, and the description of this machine."""

import os

import pytest

from spaces.constraints.devices.device import CpuDevice, GpuDevice, device, device_names, host_cpu

KB = 1024

# Per multiprocessor: threads, blocks, shared memory; per block: shared memory on request, reserve;
# allocation unit of shared memory.
TABLE = {
    "sm_70": (2048, 32, 96 * KB, 96 * KB, 0, 256),
    "sm_72": (2048, 32, 96 * KB, 48 * KB, 0, 256),
    "sm_75": (1024, 16, 64 * KB, 64 * KB, 0, 256),
    "sm_80": (2048, 32, 164 * KB, 163 * KB, 1 * KB, 128),
    "sm_86": (1536, 16, 100 * KB, 99 * KB, 1 * KB, 128),
    "sm_87": (1536, 16, 164 * KB, 163 * KB, 1 * KB, 128),
    "sm_89": (1536, 24, 100 * KB, 99 * KB, 1 * KB, 128),
    "sm_90": (2048, 32, 228 * KB, 227 * KB, 1 * KB, 128),
    "sm_100": (2048, 32, 228 * KB, 227 * KB, 1 * KB, 128),
    "sm_120": (1536, 24, 100 * KB, 99 * KB, 1 * KB, 128),
}


def test_every_gpu_of_the_table_and_the_cpu_have_a_name():
    assert device_names() == (*TABLE, "cpu")


@pytest.mark.parametrize("name", TABLE)
def test_gpu_limits(name):
    gpu = device(name)
    assert isinstance(gpu, GpuDevice)
    major, minor = gpu.compute_capability
    assert gpu.name == f"sm_{major}{minor}" == name
    assert TABLE[name] == (
        gpu.max_threads_per_sm,
        gpu.max_blocks_per_sm,
        gpu.shared_bytes_per_sm,
        gpu.max_shared_bytes_per_block,
        gpu.reserved_shared_bytes_per_block,
        gpu.shared_allocation_unit_bytes,
    )
    assert gpu.max_warps_per_sm * 32 == gpu.max_threads_per_sm
    assert gpu.max_threads_per_block == 1024
    assert (gpu.max_block_threads_x, gpu.max_block_threads_y, gpu.max_block_threads_z) == (
        1024,
        1024,
        64,
    )
    assert (gpu.max_grid_blocks_x, gpu.max_grid_blocks_y, gpu.max_grid_blocks_z) == (
        2**31 - 1,
        65535,
        65535,
    )
    assert gpu.registers_per_sm == gpu.registers_per_block == 65536
    assert gpu.max_registers_per_thread == 255
    assert gpu.static_shared_bytes_per_block == 48 * KB


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"No device is called 'sm_81'.*sm_80, .*cpu, gpu"
    ) as error:
        device("sm_81")
    assert error.value.__cause__ is None


def test_the_cpu_of_this_machine():
    cpu = device("cpu")
    assert isinstance(cpu, CpuDevice)
    assert cpu.name == "cpu"
    assert 1 <= cpu.cores <= (os.cpu_count() or 1)
    assert cpu.vector_bits in (128, 256, 512)
    assert cpu.cache_line_bytes in (32, 64, 128, 256)
    assert 8 * KB <= cpu.l1_bytes <= cpu.l2_bytes
    assert device("cpu") == cpu


def write_cache(folder, index, **texts):
    (folder / f"index{index}").mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"index{index}" / name).write_text(f"{text}\n")


def test_caches_are_read_as_linux_describes_them(tmp_path):
    write_cache(tmp_path, 0, level=1, type="Data", size="48K", coherency_line_size=128)
    write_cache(tmp_path, 1, level=1, type="Instruction", size="64K", coherency_line_size=128)
    write_cache(tmp_path, 2, level=2, type="Unified", size="2M", coherency_line_size=128)
    write_cache(tmp_path, 3, level=3, type="Unified", size="a lot", coherency_line_size=128)
    cpu = host_cpu(tmp_path)
    assert (cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes) == (48 * KB, 2048 * KB, 0)
    assert cpu.cache_line_bytes == 128


@pytest.mark.parametrize(
    ("size", "sharing", "counts"),
    [
        ("32768K", "00000000,000000ff", 32 << 20),
        ("96M", "ff", 96 << 20),
        ("300M", "3", 32 << 20),  # a virtual machine with two cores of a large host
        ("40M", "1", 16 << 20),
    ],
)
def test_a_third_level_counts_with_what_a_core_may_have_of_it(tmp_path, size, sharing, counts):
    write_cache(
        tmp_path, 3, level=3, type="Unified", size=size, coherency_line_size=64,
        shared_cpu_map=sharing,
    )  # fmt: skip
    assert host_cpu(tmp_path).l3_bytes == counts


def test_where_the_system_says_nothing_modest_caches_are_assumed(tmp_path):
    cpu = host_cpu(tmp_path / "absent")
    assert (cpu.l1_bytes, cpu.l2_bytes, cpu.l3_bytes) == (32 * KB, 256 * KB, 4096 * KB)
    assert cpu.cache_line_bytes == 64
