"""Mutexes in LLVM modules, and a module with one record of state that a mutex guards."""

from __future__ import annotations

from spaces.backend.llvm.runtime.blocks import (
    I32,
    POINTER,
    VOID,
    Body,
    Program,
    RecordLayout,
    Value,
    bytes_type,
)

MUTEX = bytes_type(64)
"""The type of the field ``mutex`` of each layout. All zeros is an open mutex
(PTHREAD_MUTEX_INITIALIZER).
"""


class Mutexes:
    """What locks and unlocks the mutexes of a module."""

    def __init__(self, program: Program) -> None:
        self._lock, self._unlock = (
            program.declare(f"pthread_mutex_{step}", I32, POINTER) for step in ("lock", "unlock")
        )

    def lock(self, body: Body, mutex: Value) -> None:
        """Locks the mutex at an address."""
        body.builder.call(self._lock, [mutex])

    def unlock(self, body: Body, mutex: Value) -> None:
        """Unlocks the mutex at an address."""
        body.builder.call(self._unlock, [mutex])


class GuardedModule:
    """The module under construction.

    Attributes:
        program: its functions.
        state: the address of the record.
        free: the C library's function.
    """

    def __init__(self, name: str, layout: RecordLayout) -> None:
        self.program = Program(name)
        self.state = self.program.variable(name, layout.type, 64)
        self.free = self.program.declare("free", VOID, POINTER)
        self._name, self._layout = name, layout
        self._mutexes = Mutexes(self.program)

    def lock(self, body: Body) -> None:
        """Locks the mutex."""
        self._mutexes.lock(body, self.at(body, "mutex"))

    def unlock(self, body: Body) -> None:
        """Unlocks the mutex."""
        self._mutexes.unlock(body, self.at(body, "mutex"))

    def at(self, body: Body, field: str) -> Value:
        """The address of a field of the record."""
        return body.at(self.state, self._layout, field)

    def get(self, body: Body, field: str) -> Value:
        """The value of a field."""
        return body.get(self.state, self._layout, field)

    def set(self, body: Body, field: str, value: Value) -> None:
        """Stores the value of a field."""
        body.set(self.state, self._layout, field, value)

    def add(self, body: Body, field: str, amount: Value) -> None:
        """Adds to a number of the record; the mutex is held."""
        self.set(body, field, body.builder.add(self.get(body, field), amount))

    def text(self) -> str:
        """The LLVM IR text of the module, with the functions ``spaces_NAME_lock`` and
        ``spaces_NAME_unlock``.
        """
        for step, change in (("lock", self.lock), ("unlock", self.unlock)):
            body = self.program.define(f"spaces_{self._name}_{step}", VOID)
            change(body)
            body.builder.ret_void()
        return self.program.text()
