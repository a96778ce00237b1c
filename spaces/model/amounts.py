"""Numbers with their nouns or names, for messages: ``1,204 structures``, ``width = 640``."""

from __future__ import annotations

from collections.abc import Mapping


def amount(number: int, noun: str, plural: str = "") -> str:
    """A number, with commas between thousands, and its noun in the singular or plural."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def named_numbers(numbers: Mapping[str, int]) -> str:
    """Numbers with their names: ``width = 640, height = 480``."""
    return ", ".join(f"{name} = {number}" for name, number in numbers.items())
