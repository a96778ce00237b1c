"""Names in CUDA C text: readable, legal, and different from all names of libraries."""

from __future__ import annotations

import re

from attrs import define, field


@define
class Names:
    """Gives each thing of a program a unique name.

    Each name that a user chose gets a suffix (``exp_buf``, ``blur_kernel``), so that it differs
    from names of the C library and of CUDA. Dots become underscores.
    """

    _names: dict[tuple[str, str], str] = field(factory=dict)
    _taken: dict[str, int] = field(factory=dict)

    def of(self, thing: str, suffix: str) -> str:
        """The name of ``thing``, with ``suffix`` unless it is empty; each call returns the same
        name.
        """
        key = (thing, suffix)
        if key not in self._names:
            self._names[key] = self.fresh(f"{thing}_{suffix}" if suffix else thing)
        return self._names[key]

    def fresh(self, wish: str) -> str:
        """A new name: ``wish`` or a variant of it."""
        legal = re.sub(r"\W", "_", wish, flags=re.ASCII)
        # Names that begin with an underscore belong to the compiler, those with `shim` to the
        # emulator.
        if not legal[0].isalpha() or legal.lower().startswith("shim"):
            legal = f"v{legal}"
        number = self._taken.get(legal, 0) + 1
        while number > 1 and f"{legal}_{number}" in self._taken:
            number += 1
        self._taken[legal] = number
        name = legal if number == 1 else f"{legal}_{number}"
        self._taken.setdefault(name, 1)
        return name
