"""Directives that rewrite the graph of Funcs, as records: wrappers, clones, factored reductions."""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import field, frozen

from spaces.model.schedules.domain_order import Fuse, Split


@frozen
class Wrap:
    """A new Func between ``func``, a Func or an input image, and ``consumers``. It has the same
    values (Halide's ``in``). Without ``consumers``, all readers of ``func`` read the new Func.
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
    """A copy of ``func`` with a schedule of its own; ``consumers`` read the copy (Halide's
    ``clone_in``).
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
    """Reduce in two steps (Halide's ``rfactor``). A new Func holds partial results: it has a Var
    for each loop over RVars in ``preserved``, and reduces along the other RVars. Update ``update``
    of ``func`` then reduces the partial results. ``splits`` are earlier splits of the update's
    RVars.

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
