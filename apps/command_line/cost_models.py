"""The cost model that a command line names."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from spaces.apps.command_line.completion import model_names
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.user_functions import brief, is_function_name, load_function
from spaces.constraints.devices.device import Device
from spaces.cost.batch import Batch, BatchError
from spaces.cost.model import CostFunction, CostModel
from spaces.cost.registry import cost_model
from spaces.tuning.fitted_models import load_model_here
from spaces.tuning.schema import StoreError

Cost = Annotated[
    str,
    typer.Option(
        "--cost",
        help="A cost model, or file.py:function that takes a batch.",
        autocompletion=model_names,
        show_default="reuse on a CPU, occupancy on a GPU",
    ),
]


def given_model(name: str, device: Device) -> CostModel:
    """The cost model of a name, with the prices that fit this machine if the default store has
    some; or the user's function ``file.py:function``.

    Raises:
        WrongUsage: there is no such model or function, or the model does not model the device.
    """
    own = _own_model(name) if is_function_name(name) else None
    try:
        return load_model_here(name, device) if own is None else cost_model(own, device)
    except (StoreError, ValueError) as error:
        raise WrongUsage(str(error)) from None


def json_cost(cost: float) -> float | None:
    """JSON has no infinity: null for a schedule without a cost."""
    return cost if math.isfinite(cost) else None


def _own_model(name: str) -> CostFunction:
    """The user's function called ``name``; its errors become a sentence that names it."""
    function = load_function(name)

    def cost(batch: Batch) -> NDArray[np.float64]:
        try:
            return batch.full(function(batch))
        except BatchError as error:
            raise CommandError(f"{name}: {error}") from None
        except Exception as error:
            raise CommandError(f"{name} failed: {brief(error)}") from error

    return cost
