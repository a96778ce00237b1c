"""GPUs by the names of people and drivers: a table with its sources, ``gpu_products.toml``."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from attrs import frozen

_VENDOR = re.compile(r"nvidia|geforce|tesla|jetson|agx|gpu|graphics|generation")
"""Words that do not tell one product from another."""

_VARIANT = re.compile(r"sxm\d*|\d+gb|hbm\w*")
"""Words of a driver's name that count only if a product of the table has them, too. Other words,
such as PCIe, tell products with other numbers apart.
"""


@frozen(kw_only=True)
class GpuProduct:
    """A product.

    Attributes:
        name: the name that people use, such as ``rtx 4090``.
        capability: the device of its compute capability, such as ``sm_89``.
        product: the name of the vendor.
        sm_count: the number of multiprocessors.
        operations_per_second: operations on floats of 32 bits.
        bytes_per_second: between memory and the chip.
    """

    name: str
    capability: str
    product: str
    sm_count: int
    operations_per_second: float
    bytes_per_second: float


def product_called(name: str) -> GpuProduct | None:
    """The product that a person or a driver calls ``name``, such as ``RTX-4090`` or ``NVIDIA
    A100-SXM4-80GB``; None if the table has none.
    """
    given = _words(name)
    known = [p for p in gpu_products().values() if _words(p.name) <= given]
    nearest = max(known, key=lambda p: len(_words(p.name)), default=None)
    if nearest is None or any(map(_is_telling, given - _words(nearest.name))):
        return None
    return nearest


def _is_telling(word: str) -> bool:
    return _VARIANT.fullmatch(word) is None


def _words(name: str) -> frozenset[str]:
    """``NVIDIA GeForce RTX4090`` has the words ``rtx`` and ``4090``."""
    words = re.findall(r"rtx|gtx|[a-z0-9]+?(?=rtx|gtx|[^a-z0-9]|$)", name.lower())
    return frozenset(word for word in words if _VENDOR.fullmatch(word) is None)


@cache
def gpu_products() -> dict[str, GpuProduct]:
    """The products by name; the first of a compute capability stands for it."""
    text = resources.files("spaces.constraints.devices").joinpath("gpu_products.toml")
    table = tomllib.loads(text.read_text("utf-8"))
    return {name: GpuProduct(name=name, **data) for name, data in table.items()}
