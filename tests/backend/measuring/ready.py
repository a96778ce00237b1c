"""What a process that measures imports and compiles before its first task, except threads."""

from spaces.backend.llvm.runtime.helpers import pool_code
from spaces.backend.measuring import worker
from tests.backend.measuring import saboteurs

__all__ = ["saboteurs", "worker"]

pool_code()
