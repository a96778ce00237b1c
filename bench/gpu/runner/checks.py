"""Whether the outputs of a program are those of the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.runner.inputs import Array, digest
from spaces.backend.measuring.agreement import Tolerance, disagreement


def verdict(
    folder: Path, outputs: Mapping[str, Any], found: Mapping[str, Array], allowed: Tolerance
) -> dict[str, Any]:
    """Whether results are right, whether all bits are those of the reference, and what is wrong.

    A reference is a whole array, or the hash of one with values at some places of it.
    """
    wrong, same_bits = [], True
    for name, record in outputs.items():
        same = digest(found[name]) == record["sha256"]
        same_bits = same_bits and same
        if not same:
            wrong.append(_difference(folder, name, record, found[name], allowed))
    sentence = " ".join(filter(None, wrong))
    return {
        "right": not sentence,
        "same_bits": same_bits,
        **({"why": sentence} if sentence else {}),
    }


def sampled(shape: tuple[int, ...], count: int, seed: int) -> Array:
    """Places of an array in C order, drawn at random; the same on every machine."""
    places = np.random.PCG64(seed).random_raw(count) % np.uint64(math.prod(shape))
    return places.astype(np.int64)


def _difference(
    folder: Path, name: str, record: Mapping[str, Any], found: Array, allowed: Tolerance
) -> str:
    with np.load(folder / record["file"]) as arrays:
        wanted = arrays[name]
    if "seed" in record:
        found = found.reshape(-1)[sampled(found.shape, wanted.size, record["seed"])]
        # A sample of so many values may well hold more of them than its share.
        spread = 3 * math.sqrt(allowed.any / wanted.size)
        allowed = Tolerance(allowed.near, allowed.any + spread)
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{name} is {found.dtype} {found.shape}, not {wanted.dtype} {wanted.shape}."
    return disagreement(name, found, wanted, allowed)
