"""Names of CUDA C text: readable, legal, and never those of a library."""

from __future__ import annotations

import re

from attrs import define, field


@define
class Names:
    """Gives each thing of a program one name that nothing else has.

    Every name that a user chose gets a suffix (``exp_buf``, ``blur_kernel``), which keeps it apart
    from C's library and CUDA's words; dots become underscores.
    """

    _names: dict[tuple[str, str], str] = field(factory=dict)
    _taken: dict[str, int] = field(factory=dict)

    def of(self, thing: str, suffix: str) -> str:
        """The name of ``thing``, with ``suffix`` unless it is empty; always the same one."""
        key = (thing, suffix)
        if key not in self._names:
            self._names[key] = self.fresh(f"{thing}_{suffix}" if suffix else thing)
        return self._names[key]

    def fresh(self, wish: str) -> str:
        """A name that was not given before, ``wish`` or close to it."""
        legal = re.sub(r"\W", "_", wish, flags=re.ASCII)
        # Words that begin with an underscore are the compiler's, with `shim` the emulator's.
        if not legal[0].isalpha() or legal.lower().startswith("shim"):
            legal = f"v{legal}"
        number = self._taken.get(legal, 0) + 1
        while number > 1 and f"{legal}_{number}" in self._taken:
            number += 1
        self._taken[legal] = number
        name = legal if number == 1 else f"{legal}_{number}"
        self._taken.setdefault(name, 1)
        return name
