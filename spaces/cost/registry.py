"""Cost models by name: those of the library, and those that users register."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from spaces.constraints.devices.device import Device
from spaces.cost.model import CostFunction, CostModel, FunctionModel
from spaces.cost.occupancy import OccupancyModel
from spaces.cost.reuse import Reuse
from spaces.cost.weighted import Weighted
from spaces.model.suggestions import suggestion

Factory: TypeAlias = Callable[[Device], CostModel]
"""Makes the cost model for one device; raises ValueError where it knows nothing of such devices."""


class UnknownModelError(ValueError):
    """No cost model has that name."""


def _weighted(device: Device) -> CostModel:
    return Weighted()


_factories: dict[str, Factory] = {
    "weighted": _weighted,
    "reuse": Reuse.of,
    "occupancy": OccupancyModel.of,
}


def register_cost_model(name: str, factory: Factory) -> None:
    """Make a cost model known by name; the last registration of a name counts."""
    _factories[name] = factory


def cost_model_names() -> tuple[str, ...]:
    """The names that :func:`cost_model` knows."""
    return tuple(sorted(_factories))


def cost_model(model: str | CostModel | CostFunction, device: Device) -> CostModel:
    """The cost model meant by a name, by an object with a method ``cost``, or by a function.

    Raises:
        UnknownModelError: there is no model of that name.
        ValueError: the model of that name is not for such a device.
        TypeError: ``model`` is none of the three.
    """
    if isinstance(model, str):
        if model not in _factories:
            raise UnknownModelError(
                f"No cost model is called {model!r}{suggestion(model, cost_model_names())}; "
                f"there are {', '.join(cost_model_names())}."
            )
        return _factories[model](device)
    if isinstance(model, CostModel):
        return model
    if callable(model):
        return FunctionModel(model)
    raise TypeError(
        f"{model!r} is no cost model: give a name, an object with a method cost(batch), "
        "or a function of a batch."
    )
