"""Arguments of directives that Halide names by the members of an enumeration."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Choice(StrEnum):
    """The common base of Halide's enumerations: C++ spells their members alike.

    Attributes:
        halide: the name of the enumeration in Halide.
        called: what a reader expects where one of its members stands.
    """

    halide: ClassVar[str]
    called: ClassVar[str]

    def __init_subclass__(cls, *, halide: str, called: str) -> None:
        cls.halide, cls.called = halide, called

    @property
    def spelled(self) -> str:
        """The name of the member in Halide, such as ``RoundUp``."""
        return "".join("GPU" if p == "gpu" else p.capitalize() for p in self.value.split("_"))

    @property
    def qualified(self) -> str:
        """The C++ name, such as ``TailStrategy::RoundUp``."""
        return f"{self.halide}::{self.spelled}"
