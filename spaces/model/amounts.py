"""Numbers with their nouns, for messages: ``1 structure``, ``1,204 structures``."""

from __future__ import annotations


def amount(number: int, noun: str, plural: str = "") -> str:
    """A number, with commas between thousands, and its noun in the singular or plural."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
