"""A place for instructions in a function."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from spaces.backend.llvm.memory import AccessEmitter
from spaces.backend.llvm.operators import Operators


@frozen
class InsertionPoint:
    """A builder, and the emitters that use it."""

    builder: Any
    operators: Operators
    memory: AccessEmitter
