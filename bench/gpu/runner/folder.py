"""The records of a bundle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
"""Of the records; a runner reads only its own."""

SMALL, FULL = "small", "full"
"""The two sizes of an app: one for which every tile has a tail, and that of its paper."""


def about(folder: Path) -> dict[str, Any]:
    """What the bundle says of itself, and the names of its apps.

    Raises:
        ValueError: the folder holds no bundle of this format.
    """
    file = folder / "bundle.json"
    if not file.exists():
        raise ValueError(f"{folder} holds no bundle: there is no bundle.json in it.")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    if found["format"] != FORMAT:
        raise ValueError(
            f"The bundle in {folder} has format {found['format']}, but this runner reads {FORMAT}."
        )
    return found


def subject(folder: Path, app: str) -> dict[str, Any]:
    """The record of an app."""
    found: dict[str, Any] = json.loads((folder / "apps" / f"{app}.json").read_text("utf-8"))
    return found


def write(file: Path, record: object) -> None:
    """Writes a record as a whole file, or leaves the file as it was."""
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, file)


def write_arrays(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes arrays by their names, compressed."""
    named: Mapping[str, Any] = arrays
    np.savez_compressed(file, **named)
