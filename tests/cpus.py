"""CPUs that are the same on every machine."""

from attrs import evolve

from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.devices.peaks import Peaks

FOUR_CORES = CpuDevice(
    name="cpu",
    model="generic",
    cores=4,
    l1_bytes=32 << 10,
    l2_bytes=512 << 10,
    l3_bytes=8 << 20,
    cache_line_bytes=64,
    vector_bits=256,
)
ROUND_PEAKS = Peaks(product="none", operations_per_second=64e9, bytes_per_second=32e9)
"""Rates with which tests calculate by hand."""

ONE_CORE = evolve(FOUR_CORES, cores=1, l3_bytes=4 << 20)

WIDE_VECTORS = evolve(
    FOUR_CORES, cores=2, l2_bytes=1 << 20, l3_bytes=32 << 20, vector_bits=512, unit_bits=256
)
"""A core that computes its widest vectors in two halves, as Zen 4 does, with the caches of that."""
