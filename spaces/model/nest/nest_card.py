"""The card of a loop nest: a tree with the sizes of its loops, boxes and storage.

Its rows are short: where :func:`~spaces.model.nest.nest_text.format_nest` writes intervals, the
card has their sizes at the estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from spaces.markup.card import Card, Phrase, Style, Styled, Tree, TreeRow, brief, card, more
from spaces.markup.quantities import shown_bytes
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.rewrite import Substitution
from spaces.model.expressions.types import Int32, Type
from spaces.model.formulas.interval import Interval
from spaces.model.nest.kind_styles import KIND_STYLES
from spaces.model.nest.largest import largest
from spaces.model.nest.loopnest import (
    Allocate,
    Compute,
    HoistedStorage,
    Loop,
    LoopNest,
    NestNode,
    Produce,
)
from spaces.model.nest.nest_text import nodes_by_depth
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.showing import MOST_LINES, shown_card

_FORMULA = 40
"""The most characters of a size that is no number."""


@shown_card.register
def _(nest: LoopNest) -> Card:
    every = list(nodes_by_depth(nest.body))
    sizes = {name: constant(size, Int32) for name, size in nest.pipeline.sizes().items()}
    known = _Known(nest, Substitution(sizes))
    rows: list[TreeRow] = []
    around: list[tuple[int, LoopVar]] = []
    for depth, node in every[: MOST_LINES - 1]:
        while around and around[-1][0] >= depth:
            around.pop()
        rows.append(TreeRow(depth, known.row(node, tuple(var for _, var in around))))
        if isinstance(node, Loop):
            around.append((depth, node.var))
    left = more(len(every), MOST_LINES - 1, "lines (format_nest has all)")
    return card(f"Loop nest of {nest.pipeline.name}", "at the estimates", Tree(tuple(rows)), left)


_STYLES: Mapping[str, Style] = {
    "produce": "strong",
    "store": "store",
    "memory": "store",
    **{str(kind): style for kind, style in KIND_STYLES.items()},
}
"""The styles of the first words of lines."""


def nest_tree(text: str) -> Tree:
    """The text of a nest (:func:`~spaces.model.nest.nest_text.format_nests`) as a tree whose first
    words have the styles of a card.
    """
    rows = []
    for line in text.splitlines():
        told = line.lstrip(" ")
        word, space, rest = told.partition(" ")
        style = _STYLES.get(word)
        phrase: Phrase = (told,) if style is None else (Styled(style, word), space + rest)
        rows.append(TreeRow((len(line) - len(told)) // 2, phrase))
    return Tree(tuple(rows))


@frozen
class _Size:
    """A size: its number, or the most that it is while loops change it, or a formula."""

    most: int | None
    is_exact: bool
    formula: str = ""

    def __str__(self) -> str:
        if self.most is None:
            return f"({brief(self.formula, _FORMULA)})"
        return f"{self.most:,}" if self.is_exact else f"≤ {self.most:,}"


@frozen
class _Known:
    """Writes the nodes of a nest where some sizes are known."""

    nest: LoopNest
    sizes: Substitution

    def row(self, node: NestNode, around: tuple[LoopVar, ...]) -> Phrase:
        """A node; its first word shows what it is. ``around`` are the loops around it."""
        match node:
            case Loop(var=var):
                verb = "for" if var.kind is LoopKind.SERIAL else str(var.kind)
                trips = self.size(var.extent, around)
                return Styled(KIND_STYLES[var.kind], verb), f" {var.func}.{var.loop}  {trips}×"
            case Produce(func=func, box=box, key=key):
                extent = " × ".join(self.side(one, around) for one in box) or "one value"
                kept = "" if key is None else ", memoized"
                return Styled("strong", "produce"), f" {func}  {extent}{kept}"
            case Allocate(folds=folds):
                extents = [self.size(one, around) for one in node.extents]
                sides = [
                    str(one) if fold is None else f"{one} folded"
                    for one, fold in zip(extents, folds, strict=True)
                ]
                return Styled("store", "store"), _storage(node, extents, sides)
            case HoistedStorage():
                extents = [self.size(one, around) for one in node.extents]
                return Styled("store", "memory for"), _storage(node, extents, map(str, extents))
            case Compute(func=func, stage=stage):
                update = f" (update {stage - 1})" if stage else ""
                guarded = " where guards hold" if node.guards or node.predicates else ""
                return (f"compute {func}{update}{guarded}",)

    def size(self, size: Expr, around: tuple[LoopVar, ...]) -> _Size:
        """A size at the estimates, or the most that it is while the loops around it run."""
        value = self._at_estimates(size)
        if isinstance(value, Const):
            return _Size(int(value.value), True)
        most = self._at_estimates(largest(value, around, self.nest.simplify))
        if isinstance(most, Const):
            return _Size(int(most.value), False)
        return _Size(None, False, str(value))

    def side(self, side: Interval, around: tuple[LoopVar, ...]) -> str:
        """The size of a side of a box."""
        if side.min is None or side.max is None:
            return "∞"
        return str(self.size(side.max - side.min + 1, around))

    def _at_estimates(self, value: Expr) -> Expr:
        return self.nest.simplify(self.sizes(value))


def _storage(
    node: Allocate | HoistedStorage, extents: Sequence[_Size], sides: Iterable[str]
) -> str:
    """What is allocated, with its bytes if they are known."""
    types = ", ".join(map(str, node.types))
    memory = "" if node.memory == "auto" else f" in {node.memory}"
    return f" {node.func}  {types}[{', '.join(sides)}]{_bytes(node.types, extents)}{memory}"


def _bytes(types: Iterable[Type], extents: Sequence[_Size]) -> str:
    numbers = [one.most for one in extents if one.most is not None]
    if len(numbers) < len(extents):
        return ""
    most = "" if all(one.is_exact for one in extents) else "≤ "
    return f"  {most}{shown_bytes(math.prod(numbers) * sum(one.bytes for one in types))}"
