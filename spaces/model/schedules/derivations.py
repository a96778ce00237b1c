"""Directives that rewrite the graph of Funcs, as records: wrappers, clones, factored reductions."""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import field, frozen

from spaces.model.schedules.domain_order import Fuse, Split


@frozen
class Wrap:
    """A new Func that equals ``func``, a Func or an input image, stands between it and
    ``consumers``: all that read it where none are named (Halide's ``in``).
    """

    func: str
    consumers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return "_".join((self.func, "in", *self.consumers))

    def __str__(self) -> str:
        return f"{self.func}.in({', '.join(self.consumers)})"


@frozen
class Clone:
    """A copy of ``func`` with a schedule of its own, which ``consumers`` read in its place
    (Halide's ``clone_in``).
    """

    func: str
    consumers: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return "_".join((self.func, "clone_in", *self.consumers))

    def __str__(self) -> str:
        return f"{self.func}.clone_in({', '.join(self.consumers)})"


@frozen
class RFactor:
    """The update ``update`` of ``func`` reduces what a new Func holds, which has for each loop over
    RVars that is ``preserved`` a Var of the name given, and reduces along the others (Halide's
    ``rfactor``). ``splits`` are those of the RVars of the update, made before.

    Raises:
        ValueError: no loop is preserved.
    """

    func: str
    update: int
    splits: tuple[Split | Fuse, ...]
    preserved: tuple[tuple[str, str], ...] = field()

    @preserved.validator
    def _preserves(self, _: Any, preserved: tuple[tuple[str, str], ...]) -> None:
        if not preserved:
            raise ValueError("an rfactor preserves at least one loop")

    @property
    def name(self) -> str:
        """The name of the new Func."""
        return f"{self.func}_intm" + (f"_{self.update}" if self.update else "")

    def __str__(self) -> str:
        pairs = [f"{loop}, {var}" for loop, var in self.preserved]
        listed = pairs[0] if len(pairs) == 1 else f"{{{', '.join(f'{{{p}}}' for p in pairs)}}}"
        return f"{self.func}.update({self.update}).rfactor({listed})"


Derivation: TypeAlias = Wrap | Clone | RFactor
"""A directive that rewrites the graph of Funcs without changing any result."""
