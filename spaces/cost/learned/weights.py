"""Trained networks as files: NumPy's archives without pickled objects, and those of the package."""

from __future__ import annotations

import zipfile
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np

from spaces.cost.learned.network import LAYERS, Network

VERSION = 1
"""The version of the format."""

_NAMES = ("algorithm", "schedule", "terms")
_SCALES = (
    "algorithm_mean",
    "algorithm_spread",
    "schedule_mean",
    "schedule_spread",
    "prices",
)
_WEIGHTS = tuple(name for layer in LAYERS for name in (layer, f"{layer}_offset"))


class WeightsError(ValueError):
    """A file holds no network that this version of the library can use."""


def write_network(network: Network, path: Path) -> None:
    """Writes a network to a file."""
    arrays = {f"names_{name}": np.array(getattr(network, name)) for name in _NAMES}
    arrays |= {f"scale_{name}": network.scales[name] for name in _SCALES}
    arrays |= {f"weight_{name}": network.weights[name] for name in _WEIGHTS}
    with path.open("wb") as file:
        np.savez(file, version=np.array(VERSION), kind=np.array(network.kind), **arrays)  # type: ignore[arg-type]  # NumPy types **kwds as a bool


def read_network(path: Path) -> Network:
    """The network of a file that :func:`write_network` wrote.

    Raises:
        WeightsError: the file is missing, or is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as found:
            arrays = dict(found)
    except FileNotFoundError:
        raise WeightsError(f"There is no file {path} with the weights of a network.") from None
    except (OSError, ValueError, zipfile.BadZipFile):
        raise WeightsError(f"{path} does not hold the weights of a network.") from None
    missing = {"version", "kind", *(f"names_{name}" for name in _NAMES)} - set(arrays)
    missing |= {f"scale_{name}" for name in _SCALES} - set(arrays)
    missing |= {f"weight_{name}" for name in _WEIGHTS} - set(arrays)
    if missing or int(arrays["version"]) != VERSION:
        raise WeightsError(
            f"{path} does not hold the weights of a network in version {VERSION} of the format; "
            "train it again with 'spaces train'."
        )
    algorithm, schedule, terms = (tuple(map(str, arrays[f"names_{name}"])) for name in _NAMES)
    return Network(
        str(arrays["kind"]),
        algorithm,
        schedule,
        terms,
        scales={name: arrays[f"scale_{name}"] for name in _SCALES},
        weights={name: arrays[f"weight_{name}"] for name in _WEIGHTS},
    )


@lru_cache(maxsize=8)
def shipped_network(kind: str) -> Network:
    """The network of this kind that comes with the library, read when it is first asked for.

    Raises:
        WeightsError: the library has no such network.
    """
    with resources.as_file(resources.files(__package__) / f"{kind}.npz") as path:
        return read_network(path)
