"""What GPU lowering raises on a schedule that no verdict would have let pass."""

from __future__ import annotations


class GpuLoweringError(ValueError):
    """The schedule asks for something that a kernel can't do; the message says what to change."""
