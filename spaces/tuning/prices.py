"""The prices of the cost model ``reuse`` that fit a machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.cost.reuse import Prices, Reuse
from spaces.tuning.identity import this_machine

if TYPE_CHECKING:
    from spaces.tuning.store import TuningStore

REUSE = "reuse"
"""The name of the cost model that has prices."""


def prices_to_json(prices: Prices) -> str:
    """The prices as JSON."""
    return json.dumps(attrs.asdict(prices))


def prices_from_json(text: str) -> Prices:
    """The prices of :func:`prices_to_json`; a price that the text lacks has its default."""
    known = {one.name for one in attrs.fields(Prices)}
    return Prices(**{name: value for name, value in json.loads(text).items() if name in known})


def priced_model(name: str, device: Device, store: TuningStore) -> CostModel:
    """The cost model of a name; ``reuse`` with the prices that the store has for this machine.

    Raises:
        UnknownModelError, ValueError: as :func:`cost_model` does.
    """
    if name == REUSE and isinstance(device, CpuDevice):
        prices = store.prices(this_machine(device))
        if prices is not None:
            return Reuse(device, prices)
    return cost_model(name, device)
