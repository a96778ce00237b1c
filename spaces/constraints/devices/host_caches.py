"""The caches of the CPU on which this process runs, as Linux describes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux describes the caches of one core."""

MOST_L3_BYTES_A_CORE = 16 << 20
"""The third level counts with at most this for each core that shares it: hardly a product has more
(AMD's with stacked caches 12 MiB, Intel's up to 5). A virtual machine sees the whole cache of its
host, but few of the cores that use it. Measured with sums in such a machine, of two cores and
300 MiB: 21 GB/s over 8 MiB, 16 over 16 MiB, and from 32 MiB on 11 as from memory.
"""


@frozen
class DescribedCache:
    """A cache of one core.

    Attributes:
        bytes: its size.
        cores: how many logical processors share it.
    """

    bytes: int
    cores: int


@frozen
class HostCaches:
    """The data caches that one core sees.

    Attributes:
        levels: the cache of each level, from 1.
        line_bytes: the size of a cache line.
    """

    levels: Mapping[int, DescribedCache]
    line_bytes: int

    def bytes_of(self, level: int) -> int:
        """The size of the cache of a level; 0 without one."""
        return self.levels[level].bytes if level in self.levels else 0

    def cores_of(self, level: int) -> int:
        """How many logical processors share the cache of a level; 0 without one."""
        return self.levels[level].cores if level in self.levels else 0


# Where the system does not describe its caches: modest sizes for a core of the last decade, since
# a working set that is sized too small costs less than one that overflows.
_MODEST = HostCaches(
    {
        1: DescribedCache(32 << 10, 1),
        2: DescribedCache(256 << 10, 1),
        3: DescribedCache(4 << 20, 1),
    },
    64,
)


def described_caches(folder: Path = CACHE_FOLDER) -> HostCaches:
    """The caches that a folder describes, as Linux does; modest ones if it describes none."""
    levels: dict[int, DescribedCache] = {}
    line_bytes = _MODEST.line_bytes
    for index in sorted(folder.glob("index*")):
        try:
            kind = (index / "type").read_text().strip()
            level = int((index / "level").read_text())
            size = _parse_size((index / "size").read_text().strip())
            line = int((index / "coherency_line_size").read_text())
        except (OSError, ValueError):  # virtual machines may leave single files out
            continue
        if kind in ("Data", "Unified"):
            levels[level] = DescribedCache(size, _sharing_cores(index))
            line_bytes = line
    return HostCaches(levels, line_bytes) if levels else _MODEST


def _sharing_cores(index: Path) -> int:
    """How many logical processors share a cache: the bits of a mask such as ``00000000,0000000f``;
    1 if none is described.
    """
    try:
        mask = (index / "shared_cpu_map").read_text().strip().replace(",", "")
        return max(1, int(mask, 16).bit_count())
    except (OSError, ValueError):
        return 1


def _parse_size(text: str) -> int:
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)
