"""The error of a space without legal schedules."""

from __future__ import annotations


class EmptySpaceError(ValueError):
    """No schedule of a space is legal, or a search found none."""
