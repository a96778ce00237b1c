"""The colours of charts: of medium lightness, so that they stand on white and on black."""

from __future__ import annotations

BLUE, GREEN, ORANGE, RED, GRAY = "#4c82d9", "#2f9e6b", "#c9772b", "#d9534f", "#7a8794"
