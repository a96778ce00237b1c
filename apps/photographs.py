"""The photograph that comes with the library, at any size."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from PIL import Image

from spaces.apps.files import read_photograph
from spaces.apps.pictures import Photograph


@functools.lru_cache(maxsize=4)
def photograph(width: int, height: int) -> Photograph:
    """The raccoon of `apps/data`, shrunk or enlarged to ``width`` x ``height`` pixels."""
    pixels = read_photograph(Path(__file__).with_name("data") / "raccoon.jpg")
    if pixels.shape[:2] == (height, width):
        return pixels
    resized = Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS)
    return np.asarray(resized)
