"""Devices: the limits of GPUs by compute capability, and of the CPU of this machine.

A device is data. ``gpu_devices.toml`` lists the limits of GPUs and ``gpu_products.toml`` the
products; both name their sources. The CPU, and the GPU that is present, describe themselves.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeAlias

import llvmlite.binding
from attrs import Factory, asdict, evolve, field, frozen

from spaces.constraints.devices.host_caches import (
    CACHE_FOLDER,
    MOST_L3_BYTES_A_CORE,
    described_caches,
)
from spaces.constraints.devices.present_gpu import NoGpuError, present_gpu
from spaces.constraints.devices.products import GpuProduct, gpu_products, product_called
from spaces.markup.card import Card, card, facts
from spaces.markup.shows_card import ShowsCard
from spaces.model.suggestions import suggestion


@frozen(kw_only=True)
class GpuDevice(ShowsCard):
    """The limits of one compute capability; SM is a streaming multiprocessor.

    Every number is the largest that is still allowed, or the size of a unit of allocation.
    """

    name: str
    compute_capability: tuple[int, int] = field(converter=tuple)
    #: The product whose number of multiprocessors ``sm_count`` is.
    product: str
    sm_count: int

    warp_threads: int
    max_threads_per_sm: int
    max_blocks_per_sm: int

    max_threads_per_block: int
    max_block_threads_x: int
    max_block_threads_y: int
    max_block_threads_z: int
    max_grid_blocks_x: int
    max_grid_blocks_y: int
    max_grid_blocks_z: int

    registers_per_sm: int
    registers_per_block: int
    max_registers_per_thread: int
    #: Local memory of a thread; values that do not fit its registers go there.
    max_local_bytes_per_thread: int
    #: Registers are handed to warps in multiples of this many.
    register_allocation_unit_per_warp: int
    #: Each sub-partition owns an equal share of the registers; a warp lives in one of them.
    sub_partitions_per_sm: int

    shared_bytes_per_sm: int
    #: The most that a kernel may request by opting in (dynamic shared memory), without the reserve.
    max_shared_bytes_per_block: int
    #: The most that a kernel may declare in its text; the compiler refuses more.
    static_shared_bytes_per_block: int
    #: The driver takes this from every resident block, in addition to the request of the kernel.
    reserved_shared_bytes_per_block: int
    #: Shared memory, reserve included, is handed to blocks in multiples of this many bytes.
    shared_allocation_unit_bytes: int

    def _card(self) -> Card:
        return _limits_card(self, self.product)

    def __str__(self) -> str:
        return f"{self.name}: {self.product}, {self.sm_count} multiprocessors"

    @property
    def max_warps_per_sm(self) -> int:
        """Warps that one multiprocessor can hold: the 100% of occupancy."""
        return self.max_threads_per_sm // self.warp_threads


@frozen(kw_only=True)
class CpuDevice(ShowsCard):
    """One CPU: cores, the caches that one core sees, and the width of its vectors.

    A cache size of 0 means that the CPU has no cache of that level.
    """

    name: str
    #: The processor as LLVM calls it, such as ``znver4``.
    model: str
    #: Logical processors on which this process may run.
    cores: int
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    cache_line_bytes: int
    vector_bits: int
    #: The bits that a unit computes at once; an instruction on a wider vector takes it twice.
    unit_bits: int = field(default=Factory(lambda self: self.vector_bits, takes_self=True))

    def _card(self) -> Card:
        return _limits_card(self, self.model)

    def __str__(self) -> str:
        return f"{self.name}: {self.model}, {self.cores} cores, vectors of {self.vector_bits} bits"


Device: TypeAlias = GpuDevice | CpuDevice

# Widest first. 256-bit integer arithmetic came with AVX2, not with AVX.
_VECTOR_BITS = (("avx512f", 512), ("avx2", 256), ("sse2", 128), ("neon", 128))
_FALLBACK_VECTOR_BITS = 128

# Processors that execute their widest instructions in two halves, as LLVM calls them: AMD,
# Software Optimization Guides for the AMD Family 17h (55723) and for the Zen 4 Microarchitecture
# (57647).
_UNIT_BITS = {"znver1": 128, "znver4": 256}


def _limits_card(device: Device, about: str) -> Card:
    """The limits of a device."""
    limits = {
        name.replace("_", " "): f"{value:,}"
        for name, value in asdict(device).items()
        if isinstance(value, int)
    }
    return card(f"Device {device.name}", about, facts(limits))


def device(name: str) -> Device:
    """The device called ``name``.

    Args:
        name: ``"cpu"`` for the CPU of this machine, or ``"gpu"`` for its GPU. A compute capability,
            ``"sm_70"`` to ``"sm_120"``, stands for its first product. A product has its own name,
            such as ``"h100"``, ``"a100"``, ``"l4"`` or ``"rtx 4090"``.

    Raises:
        ValueError: no device has that name, and the message lists the names; or no GPU is present.
    """
    if not isinstance(name, str):
        raise ValueError(f"The name of a device is a text such as 'sm_80' or 'cpu', not {name!r}.")
    if name == "cpu":
        return _this_cpu()
    if name == "gpu":
        return _this_gpu()
    product = _gpus().get(name) or product_called(name)
    if product is None:
        near = suggestion(name.lower(), known_names(), most=3)
        raise ValueError(
            f"No device is called '{name[:100]}'{near}; the devices are "
            f"{', '.join(device_names())}, gpu (the one present), and the products "
            f"{', '.join(gpu_products())}."
        )
    return product if isinstance(product, GpuDevice) else _product_device(product)


def device_names() -> tuple[str, ...]:
    """The names that `device` knows, the GPUs by compute capability and then the CPU."""
    return (*_gpus(), "cpu")


def known_names() -> tuple[str, ...]:
    """All names that `device` knows: also ``gpu``, and those of products."""
    return (*device_names(), "gpu", *gpu_products())


def host_cpu(cache_folder: Path = CACHE_FOLDER) -> CpuDevice:
    """Describe the CPU on which this process runs.

    Args:
        cache_folder: the folder in which the kernel describes the caches of one core, as Linux
            does. If it is missing, the caches have 32 KiB, 256 KiB and 4 MiB, with lines of 64
            bytes. A third level counts with at most :data:`MOST_L3_BYTES_A_CORE` for each core that
            shares it.
    """
    caches = described_caches(cache_folder)
    features = llvmlite.binding.get_host_cpu_features()
    widths = (bits for feature, bits in _VECTOR_BITS if features.get(feature))
    vector_bits = next(widths, _FALLBACK_VECTOR_BITS)
    model = llvmlite.binding.get_host_cpu_name()
    return CpuDevice(
        name="cpu",
        model=model,
        cores=_allowed_cores(),
        l1_bytes=caches.bytes_of(1),
        l2_bytes=caches.bytes_of(2),
        l3_bytes=min(caches.bytes_of(3), MOST_L3_BYTES_A_CORE * caches.cores_of(3)),
        cache_line_bytes=caches.line_bytes,
        vector_bits=vector_bits,
        unit_bits=min(vector_bits, _UNIT_BITS.get(model, vector_bits)),
    )


@cache
def _this_cpu() -> CpuDevice:
    return host_cpu()


def _this_gpu() -> GpuDevice:
    """The GPU of this machine: the limits of its compute capability, its own multiprocessors.

    Raises:
        ValueError: no GPU is present, or the table lacks its compute capability.
    """
    try:
        present = present_gpu()
    except NoGpuError as error:
        raise ValueError(
            f"No GPU is present: {error}. Name one instead, such as sm_80 or h100."
        ) from None
    limits = _gpus().get(present.capability)
    if limits is None:
        raise ValueError(
            f"The limits of {present.product} ({present.capability}) are not known, only those of "
            f"{', '.join(_gpus())}."
        )
    product = product_called(present.product)
    return evolve(
        limits,
        product=present.product if product is None else product.product,
        sm_count=present.sm_count,
    )


def _product_device(product: GpuProduct) -> GpuDevice:
    limits = _gpus()[product.capability]
    return evolve(limits, product=product.product, sm_count=product.sm_count)


@cache
def _gpus() -> dict[str, GpuDevice]:
    text = (
        resources.files("spaces.constraints.devices")
        .joinpath("gpu_devices.toml")
        .read_text("utf-8")
    )
    table = tomllib.loads(text)
    common = table.pop("common")
    first = {product.capability: product for product in reversed(gpu_products().values())}
    return {
        name: GpuDevice(
            name=name,
            product=first[name].product,
            sm_count=first[name].sm_count,
            **common,
            **limits,
        )
        for name, limits in table.items()
    }


def _allowed_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # absent outside Linux
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
