"""Cost models by name: those of the library and those of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.cost.learned.model import Learned
from spaces.cost.model import CostFunction, CostModel, FunctionModel
from spaces.cost.simple.roofline import Roofline
from spaces.cost.simple.weighted import Weighted
from spaces.model.articles import shown_kind
from spaces.model.registry import PluginError, Registry
from spaces.model.suggestions import suggestion

Factory: TypeAlias = Callable[[Device], CostModel]
"""Makes the cost model for one device; raises ValueError for a device that it does not model."""


class UnknownModelError(ValueError):
    """No cost model has this name."""


def _make_weighted(device: Device) -> CostModel:
    return Weighted()


def _make_hybrid(device: Device) -> CostModel:
    return Learned.of(device, "hybrid")


_factories = Registry[Factory](
    "spaces.cost_models",
    "Cost model",
    {
        "weighted": _make_weighted,
        "reuse": Reuse.of,
        "occupancy": OccupancyModel.of,
        "roofline": Roofline.of,
        "learned": Learned.of,
        "hybrid": _make_hybrid,
    },
    "a function from a device to a cost model",
)


def register_cost_model(name: str, factory: Factory) -> None:
    """Registers a cost model under a name; a later registration replaces an earlier one.

    Raises:
        TypeError: ``factory`` is not a function.
    """
    if not callable(factory):
        raise TypeError(
            "register_cost_model takes a function from a device to a cost model, not "
            f"{shown_kind(factory)}."
        )
    _factories[name] = factory


def cost_model_names() -> tuple[str, ...]:
    """The names that :func:`cost_model` knows."""
    return tuple(sorted(_factories))


def default_model(device: Device) -> str:
    """The name of the model for those who name none: ``occupancy`` for a GPU, else ``reuse``."""
    return "occupancy" if isinstance(device, GpuDevice) else "reuse"


def cost_model(model: str | CostModel | CostFunction, device: Device) -> CostModel:
    """The cost model for a name, an object with a method ``cost``, or a function of a batch. A name
    that ends with ``.npz`` is the file of weights that ``spaces train`` wrote.

    Raises:
        UnknownModelError: no model has this name.
        ValueError: the model with this name does not model the device.
        WeightsError: the file of weights does not exist, or holds no weights.
        PluginError: the package that has the model cannot be imported, or makes none.
        TypeError: ``model`` is not a name, a cost model or a function.
    """
    if isinstance(model, str):
        if model.endswith(".npz"):
            return Learned.of(device, path=model)
        if model not in _factories:
            raise UnknownModelError(
                f"No cost model is called {model!r}{suggestion(model, cost_model_names())}; "
                f"there are {', '.join(cost_model_names())}."
            )
        made: object = _factories[model](device)
        if not isinstance(made, CostModel):
            raise PluginError(
                f"Cost model {model!r} makes {shown_kind(made)} for {device.name}; it must make an "
                "object with a method cost(batch)."
            )
        return made
    if isinstance(model, CostModel):
        return model
    if callable(model):
        return FunctionModel(model)
    raise TypeError(
        f"{model!r} is not a cost model: give a name, an object with a method cost(batch), "
        "or a function of a batch."
    )
