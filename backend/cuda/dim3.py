"""Sizes of grids and blocks."""

from __future__ import annotations

from typing import TypeAlias

Dim3: TypeAlias = tuple[int, int, int]
"""Sizes along x, y and z."""
