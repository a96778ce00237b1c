"""Names of stages and lists in messages."""

from __future__ import annotations

from collections.abc import Iterable


def stage_name(func: str, stage: int) -> str:
    """A stage as a schedule names it: ``f`` or ``f.update(0)``."""
    return func if stage == 0 else f"{func}.update({stage - 1})"


def listed(names: Iterable[str]) -> str:
    """Names separated by commas, or "none"."""
    return ", ".join(names) or "none"
