"""The error of GPU lowering for a schedule that ``verify`` does not accept."""

from __future__ import annotations


class GpuLoweringError(ValueError):
    """A kernel cannot do what the schedule asks; the message says what to change."""
