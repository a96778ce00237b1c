"""Peak rates of processors: tables with their sources, ``peaks.toml`` and ``gpu_products.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.devices.products import gpu_products


@frozen(kw_only=True)
class Peaks:
    """The rates that a processor cannot exceed.

    Attributes:
        product: the product that has these rates.
        operations_per_second: operations on floats of 32 bits, of one core of a CPU or of a whole
            GPU; a fused multiply and add counts as two.
        bytes_per_second: between memory and the chip.
    """

    product: str
    operations_per_second: float
    bytes_per_second: float


def peaks_of(device: Device) -> Peaks:
    """The rates of a device: for a GPU by its product, for a CPU by its model.

    Raises:
        ValueError: the table lacks the device; the message lists those that it has.
    """
    name = device.model if isinstance(device, CpuDevice) else device.product
    known = _table()
    if name not in known:
        raise ValueError(
            f"No peak rates are known of {name}, only of {', '.join(known)}; name one of these, or "
            "give those of your "
            "data sheet, as in Roofline(device, Peaks(product=..., operations_per_second=..., "
            "bytes_per_second=...))."
        )
    return known[name]


@cache
def _table() -> dict[str, Peaks]:
    text = resources.files("spaces.constraints.devices").joinpath("peaks.toml").read_text("utf-8")
    cpus = {name: Peaks(**rates) for name, rates in tomllib.loads(text).items()}
    return cpus | {
        gpu.product: Peaks(
            product=gpu.product,
            operations_per_second=gpu.operations_per_second,
            bytes_per_second=gpu.bytes_per_second,
        )
        for gpu in gpu_products().values()
    }
