"""Cost models with prices that were fitted to this machine."""

from __future__ import annotations

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.tuning.identity import this_machine
from spaces.tuning.store import TuningStore, default_store

REUSE = "reuse"
"""The name of the cost model that has prices."""


def load_model_here(name: str, device: Device) -> CostModel:
    """The cost model of a name; ``reuse`` with the prices that the default store has for this
    machine, if there is such a store.

    Raises:
        StoreError, UnknownModelError, ValueError: as :func:`load_model` does.
    """
    with TuningStore.read(default_store()) as store:
        return load_model(name, device, store)


def load_model(name: str, device: Device, store: TuningStore) -> CostModel:
    """The cost model of a name; ``reuse`` with the prices that the store has for this machine.

    Raises:
        UnknownModelError, ValueError: as :func:`cost_model` does.
    """
    if name == REUSE and isinstance(device, CpuDevice):
        prices = store.prices(this_machine(device))
        if prices is not None:
            return Reuse(device, prices)
    return cost_model(name, device)
