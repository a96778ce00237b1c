"""The largest value of a size while loops run.

A size is mostly the end of a tile less its beginning, and both move with the same loops. Limits of
the two ends hold in different iterations, so their difference is far too large:
``min(8 * i + 8, e) - 8 * i`` is at most 8, whatever ``e``. Here a minimum, maximum or select is
taken apart first, until the moving terms of the rest cancel. What remains has limits term by term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.extremes import EXTREMES, operands
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.traversal import LoopVar, loop_ranges

_MOST_FORMS = 60
"""The most forms of a size that are tried. Nested selects make thousands."""

_MOST_DEPTH = 8
"""The deepest nesting of minima, maxima and selects that is taken apart."""


def largest(expr: Expr, loops: tuple[LoopVar, ...], simplify: Simplifier) -> Expr:
    """The largest value of ``expr`` while ``loops`` run; ``expr`` itself if none is found."""
    names = {loop.var.name for loop in loops}
    if names.isdisjoint(expr.names):
        return expr
    found = _Largest(loops, simplify, lambda value: True).of(expr)
    return expr if found is None else found


def largest_constant(
    expr: Expr,
    loops: tuple[LoopVar, ...],
    simplify: Simplifier,
    is_constant: Callable[[Expr], bool],
) -> Expr:
    """An upper bound of ``expr`` while ``loops`` run that ``is_constant`` accepts. If none is
    found, the largest value of ``expr`` as a formula over sizes, or ``expr`` itself.
    """
    if is_constant(expr):
        return expr
    found = _Largest(loops, simplify, is_constant).of(expr)
    return largest(expr, loops, simplify) if found is None else found


class _Largest:
    """A search for upper bounds that ``is_wanted`` accepts."""

    def __init__(
        self, loops: tuple[LoopVar, ...], simplify: Simplifier, is_wanted: Callable[[Expr], bool]
    ) -> None:
        self._loops = loops
        self._simplify = simplify
        self._is_wanted = is_wanted
        self._ranges = Ranges(simplify, loop_ranges(loops, simplify))
        self._moving_with = _moving_with(loops)
        self._tried: dict[tuple[Expr, int], Expr | None] = {}

    def of(self, expr: Expr) -> Expr | None:
        """The least upper bound found, or None."""
        alone = self._accepted(self._ranges.most(expr))
        if expr.loads:
            return alone  # values that are read may wrap, and forms do not know it
        if alone is not None and not self._is_correlated(expr):
            return alone
        return self._least((alone, self._searched(self._simplify(expr), _MOST_DEPTH)))

    def _searched(self, whole: Expr, depth: int) -> Expr | None:
        """An upper bound of an expression in normal form, or None."""
        key = (whole, depth)
        if key not in self._tried:
            if len(self._tried) >= _MOST_FORMS:
                return self._termwise(whole)
            self._tried[key] = None
            self._tried[key] = self._bound(whole, depth)
        return self._tried[key]

    def _bound(self, whole: Expr, depth: int) -> Expr | None:
        form = self._simplify.polynomial(whole)
        if self._ranges.ranges.keys().isdisjoint(whole.names) and self._is_wanted(whole):
            return whole if Int32.holds(form.offset) else None
        choice = self._choice(form) if depth else None
        if choice is not None:
            return self._least((self._termwise(whole), self._apart(whole, *choice, depth - 1)))
        return self._least((self._termwise(whole), self._inside(form, depth)))

    def _apart(self, whole: Expr, choice: Op, may_pick: bool, depth: int) -> Expr | None:
        """The bound with the operands of ``choice`` in its place: the least of them if any operand
        can only increase ``whole``, else the largest.
        """
        cases = list(self._cases(whole, choice))
        if may_pick:
            return self._least(self._searched(case, depth) for case in cases)
        largest: Expr | None = None
        for case in cases:
            most = self._searched(case, depth)
            if most is None:
                # One operand is enough, too, if it is shown that the whole is no larger otherwise.
                larger = (c for c in cases if self._simplify.at_most(whole, c))
                return self._least(self._searched(c, depth) for c in larger)
            largest = most if largest is None else self._simplify(fn.max(largest, most))
        return largest

    def _cases(self, whole: Expr, choice: Op) -> Iterator[Expr]:
        """``whole`` for each operand of an extreme, or where a condition holds and where not."""
        if choice.name in EXTREMES:
            for value in operands(choice):
                yield self._simplify(_replaced(whole, {choice: value}))
            return
        selects = [n for n in _choices(whole) if n.name == "select" and n.args[0] is choice.args[0]]
        for place in (1, 2):
            yield self._simplify(_replaced(whole, {s: s.args[place] for s in selects}))

    def _choice(self, form: Polynomial) -> tuple[Op, bool] | None:
        """The extreme or select to take apart next, and whether any operand of it gives a bound.

        Outer ones come before their operands, where the terms around them cancel. Those that need a
        bound for every operand come before others, which may then differ from case to case.
        """
        signs: dict[Op, set[int]] = {}
        self._enter(form, 1, signs)
        nodes = [node for node in signs if self._may_help(node)]
        inner = {part for node in nodes for part in _choices(node) if part is not node}
        picked = [
            (node, signs[node] == {1 if node.name == "min" else -1} and node.name in EXTREMES)
            for node in nodes
            if node not in inner
        ]
        return min(picked, key=lambda choice: choice[1], default=None)

    def _may_help(self, node: Op) -> bool:
        """Whether taking ``node`` apart may lead to a bound that is wanted."""
        moves = not self._ranges.ranges.keys().isdisjoint(node.names)
        return moves or not self._is_wanted(node)

    def _enter(self, form: Polynomial, sign: int, signs: dict[Op, set[int]]) -> None:
        """Adds, for each extreme and select in ``sign * form``, the directions in which the whole
        moves with it: 1 up, -1 down, 0 unknown. Outer ones come before their operands.
        """
        for monomial, coefficient in form.terms.items():
            for place, atom in enumerate(monomial):
                others = (*monomial[:place], *monomial[place + 1 :])
                known = all(self._simplify.proves_positive(Polynomial.of(o)) for o in others)
                up = sign if coefficient > 0 else -sign
                self._enter_atom(atom, up if known else 0, signs)

    def _enter_atom(self, atom: Expr, sign: int, signs: dict[Op, set[int]]) -> None:
        if not isinstance(atom, Op):
            for node in _choices(atom):  # a conversion may turn it round
                signs.setdefault(node, set()).add(0)
            return
        if atom.name in EXTREMES:
            signs.setdefault(atom, set()).add(sign)
            for value in operands(atom):
                self._enter(self._simplify.polynomial(value), sign, signs)
        elif atom.name == "select" and atom.type is Int32:
            signs.setdefault(atom, set()).add(sign)
            for node in _choices(atom.args[0]):
                signs.setdefault(node, set()).add(0)
            for value in atom.args[1:]:
                self._enter(self._simplify.polynomial(value), sign, signs)
        elif atom.name == "div" and isinstance(atom.args[1], Const) and atom.args[1].value > 0:
            self._enter(self._simplify.polynomial(atom.args[0]), sign, signs)
        else:
            for node in _choices(atom):
                signs.setdefault(node, set()).add(0)

    def _inside(self, form: Polynomial, depth: int) -> Expr | None:
        """The bound with the limits of the innermost moving loop in its place; outer loops move
        these limits.
        """
        if not depth:
            return None
        for loop in reversed(self._loops):
            if loop.var.name not in form.names:
                continue
            parts = form.split(loop.var)
            factor = None if parts is None else parts[0].constant
            if parts is None or not factor or loop.var.name in parts[1].names:
                return None
            end = self._simplify.polynomial(loop.max if factor > 0 else loop.min)
            whole = self._simplify.normal(parts[1].plus(end, factor))
            return None if loop.var.name in whole.names else self._searched(whole, depth - 1)
        return None

    def _termwise(self, whole: Expr) -> Expr | None:
        """The bound by the limits of each term, or by all that is known of the loops' numbers."""
        most = self._accepted(self._ranges.most(whole))
        _, number = self._simplify.ends(self._simplify.polynomial(whole))
        return self._least((most, None if number is None else constant(number, Int32)))

    def _is_correlated(self, expr: Expr) -> bool:
        """Whether two parts of ``expr`` move with the same loop. Otherwise limits of the parts hold
        at the same time.
        """
        for node in walk(self._simplify(expr)):
            seen: set[str] = set()
            for child in node.children:
                moving = {name for n in child.names for name in self._moving_with.get(n, ())}
                if not seen.isdisjoint(moving):
                    return True
                seen |= moving
        return False

    def _accepted(self, most: Expr | None) -> Expr | None:
        return most if most is not None and self._is_wanted(most) else None

    def _least(self, bounds: Iterable[Expr | None]) -> Expr | None:
        """The least of the bounds that were found."""
        known = list(dict.fromkeys(bound for bound in bounds if bound is not None))
        return self._simplify(reduce(fn.min, known)) if known else None


def _moving_with(loops: tuple[LoopVar, ...]) -> dict[str, set[str]]:
    """For each loop variable itself and those of the outer loops that move its limits."""
    found: dict[str, set[str]] = {}
    for loop in loops:
        names = loop.min.names | loop.max.names
        found[loop.var.name] = {loop.var.name}.union(*(found.get(name, ()) for name in names))
    return found


def _choices(expr: Expr) -> Sequence[Op]:
    """The extremes and selects of int32 in an expression."""
    return [
        node
        for node in walk(expr)
        if isinstance(node, Op) and node.type is Int32 and node.name in (*EXTREMES, "select")
    ]


def _replaced(expr: Expr, values: dict[Op, Expr]) -> Expr:
    return rewrite(expr, lambda node: values.get(node, node) if isinstance(node, Op) else node)
