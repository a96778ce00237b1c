"""Limits of polynomials over integer variables with ranges, and proofs by these limits.

Every limit found here holds; a missing limit means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field

from spaces.model.expressions.expr import Const, Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.extremes import EXTREMES, operands
from spaces.model.formulas.number_ranges import NumberRanges
from spaces.model.formulas.polynomial import Monomial, Polynomial, multiples

_MOST_PAIRS = 16
"""Compare the operands of two extremes only up to this many pairs."""

_FEW = 4
"""Try all operands of an extreme for its limit only up to this many."""


_ONE = Polynomial.of(1)

_NO_LIMITS = (None, None)

_LIMITED = ("div", *EXTREMES)
"""The operators that have limits in terms of their operands."""


@define
class VariableRanges(NumberRanges):
    """Limits of polynomials over variables with ranges, as numbers and as polynomials; proofs."""

    _lowers: dict[tuple[frozenset[tuple[Monomial, int]], int], int | None] = field(
        init=False, factory=dict
    )
    _deciders: dict[Expr, tuple[Expr, ...]] = field(init=False, factory=dict)

    def _forget(self) -> None:
        super()._forget()
        self._lowers.clear()
        self._deciders.clear()

    def proves_positive(self, p: Polynomial) -> bool:
        """Whether ``p >= 1`` follows from the known ranges."""
        return self.proves_at_most(_ONE, p)

    def _is_refuted(self, p: Polynomial) -> bool:
        """Whether ``p >= 0`` is false for an assignment within the known ranges."""
        # Where images begin has no limit, so the lowest assignment refutes most often.
        first = self._lowest.of(p) or 0
        return first < 0 or any((sample.of(p) or 0) < 0 for sample in self._samples)

    def proves_at_most(self, p: Polynomial, q: Polynomial) -> bool:
        """Whether ``p <= q`` follows from the known ranges."""
        difference = q - p
        if difference.constant is not None:
            return difference.constant >= 0
        if self._is_refuted(difference):
            return False
        if self._operandwise(difference):
            return True
        low = self.lower(difference)
        return low is not None and low >= 0

    def _operandwise(self, difference: Polynomial) -> bool:
        """Proves ``max(a, b) <= max(c, d) + r`` by proving that ``a`` is at most ``c + r`` or
        ``d + r``, and ``b`` too; likewise for min. It orders the overlapping clamps of a stencil at
        a border.
        """
        pair = self._pair(difference, EXTREMES)
        if pair is None or pair[0].name != pair[1].name or pair[2] != 1:
            return False
        larger, smaller, _ = pair
        rest = difference - Polynomial.of(larger) + Polynomial.of(smaller)
        below, above = operands(smaller), operands(larger)
        if len(below) * len(above) > _MOST_PAIRS:
            return False
        lows = [self.polynomial(x) for x in below]
        highs = [self.polynomial(x) + rest for x in above]
        if smaller.name == "max":
            return all(any(self.proves_at_most(a, c) for c in highs) for a in lows)
        return all(any(self.proves_at_most(a, c) for a in lows) for c in highs)

    def at_most(self, a: Expr, b: Expr) -> bool:
        """Whether ``a <= b`` follows from the known ranges, for expressions."""
        return self.proves_at_most(self.polynomial(a), self.polynomial(b))

    def lower(self, p: Polynomial, depth: int = 3) -> int | None:
        """A lower limit of ``p`` as a number; None if the search finds no limit."""
        if p.constant is not None:
            return p.constant
        key = (frozenset(p.terms.items()), depth)
        if key not in self._lowers:
            if self._outer is not None and self._own not in p.names:
                return self._outer.lower(p, depth)
            self._lowers[key] = None  # for a range that refers to itself
            self._lowers[key] = self._find_lower(p, depth)
        return self._lowers[key]

    def _find_lower(self, p: Polynomial, depth: int) -> int | None:
        if depth == 0:
            return self._termwise(p)
        paired = self._without_quotients(p, depth)
        low = None if paired is None else self.lower(paired, depth - 1)
        direct = (self._termwise(p), self._extremes(p, depth), low)
        found = [limit for limit in direct if limit is not None]
        if found:
            return max(found)
        tried = 0
        for atom in sorted(filter(self._is_limited, p.atoms), key=self._replacement_order):
            bounds = self._replaced(p, atom)
            for bound in bounds:
                low = self.lower(bound, depth - 1)
                if low is not None:
                    return low
            tried += bool(bounds)
            # The order of replacements seldom matters; trying all orders is exponential.
            if tried == 2:
                break
        return self._by_numerators(p, depth) if tried == 0 else None

    def _by_numerators(self, p: Polynomial, depth: int) -> int | None:
        """A lower limit of ``p`` by the limits of ``a`` in a quotient ``a / c``. It proves, for
        instance, that no tile lies beyond the last of ``extent / c`` tiles.
        """
        for atom in p.atoms:
            if not (isinstance(atom, Op) and atom.name == "div"):
                continue
            parts = p.split(atom)
            if parts is None:
                continue
            sign = self._sign(parts[0])
            for end in self._quotient_ends(atom, sign):
                low = self.lower(parts[0] * self.polynomial(end) + parts[1], depth - 1)
                if low is not None:
                    return low
        return None

    def _quotient_ends(self, atom: Op, sign: int) -> Iterator[Expr]:
        """Yields lower limits (``sign`` 1) or upper limits (-1) of ``a / c``; each is a quotient
        with one variable less than ``a``.
        """
        form, divisor = self.polynomial(atom.args[0]), atom.args[1]
        if sign == 0 or not isinstance(divisor, Const) or divisor.value < 1:
            return
        variables = [a for a in form.atoms if isinstance(a, Variable) and self._is_limited(a)]
        signed = form.scaled(sign)
        for variable in sorted(variables, key=self._replacement_order):
            for end in self._replaced(signed, variable):
                yield Op(Int32, "div", (end.scaled(sign).expr(), divisor))

    def _without_quotients(self, p: Polynomial, depth: int) -> Polynomial | None:
        """``p`` with a lower limit, a number, in place of ``a / c - b / c``, which is at least
        ``(a - b) / c``, or of a multiple of it. It orders neighbors in an image of half the size,
        such as ``x / 2`` and ``(x + 1) / 2``. The rest of ``p`` may join the quotients:
        ``x / 2 + y`` is ``(x + 2 * y) / 2``.
        """
        pair = self._pair(p, ("div",))
        if pair is None or pair[0].args[1] is not pair[1].args[1]:
            return None
        added, taken, times = pair
        a, b = self.polynomial(added.args[0]), self.polynomial(taken.args[0])
        divisor, low = self.polynomial(added.args[1]).constant, self.lower(a - b, 1)
        if divisor is None or divisor < 1:
            return None
        rest = p - (Polynomial.of(added) - Polynomial.of(taken)).scaled(times)
        if low is not None:
            return rest + Polynomial.of(low // divisor * times)
        low = self.lower((a - b).scaled(times) + rest.scaled(divisor), depth - 1)
        if low is None:
            return None
        # Rounding down takes at most (c - 1) / c from each of the multiples of (a - b) / c.
        return Polynomial.of(-((times * (divisor - 1) - low) // divisor))

    def _extremes(self, p: Polynomial, depth: int) -> int | None:
        """A lower limit by ``max(a, b) - max(c, d) >= min(max(a - c, b - c), max(a - d, b - d))``;
        likewise for min. It proves that clamping does not move the neighbors that a stencil reads
        further apart.
        """
        pair = self._pair(p, EXTREMES)
        if pair is None or pair[0].name != pair[1].name or pair[2] != 1:
            return None
        added, taken = (operands(extreme) for extreme in pair[:2])
        if len(added) * len(taken) > _MOST_PAIRS:
            return None
        rest = p - Polynomial.of(pair[0]) + Polynomial.of(pair[1])
        least = [
            [self.lower(rest + self.polynomial(a) - self.polynomial(c), depth - 1) for a in added]
            for c in taken
        ]
        rows = least if pair[0].name == "max" else zip(*least, strict=True)
        found = [max((x for x in row if x is not None), default=None) for row in rows]
        known = [low for low in found if low is not None]
        return min(known) if len(known) == len(found) else None

    @staticmethod
    def _pair(p: Polynomial, names: tuple[str, ...]) -> tuple[Op, Op, int] | None:
        """The only operator of ``names`` that ``p`` adds and the only one that it subtracts, if it
        does so equally often, and how often.
        """
        signed: dict[int, Op] = {}
        for monomial, coefficient in p.terms.items():
            for atom in monomial:
                if isinstance(atom, Op) and atom.name in names:
                    if len(monomial) > 1 or len(signed) == 2 or coefficient in signed:
                        return None
                    signed[coefficient] = atom
        times = max(signed, default=0)
        return (signed[times], signed[-times], times) if {times, -times} == set(signed) else None

    def _replacement_order(self, atom: Expr) -> tuple[int, int]:
        """Compound atoms first, then variables, later ones before earlier ones."""
        if isinstance(atom, Variable):
            rank = self._ranks.get(atom.name)
            return (2, 0) if rank is None else (1, -rank)
        return (0, atom.digest)

    def _termwise(self, p: Polynomial) -> int | None:
        total = 0
        for monomial, coefficient in p.terms.items():
            low, high = 1, 1
            for atom in monomial:
                a, b = self._number_range(atom)
                if (a is None or a < 0) and (len(monomial) > 1 or (a is None and coefficient > 0)):
                    return None
                if b is None and coefficient < 0:
                    return None
                low *= a if a is not None else 0
                high *= b if b is not None else 0
            total += coefficient * (low if coefficient > 0 else high)
        return total

    def _is_limited(self, atom: Expr) -> bool:
        """Whether ``atom`` may have a limit to put in its place."""
        if isinstance(atom, Variable):
            self._consulted.add(atom.name)
            low, high = self._ranges.get(atom.name, _NO_LIMITS)
            return low is not None or high is not None
        return isinstance(atom, Op) and atom.name in _LIMITED

    def _replaced(self, p: Polynomial, atom: Expr) -> list[Polynomial]:
        """Lower limits of ``p``, as polynomials without ``atom``."""
        alone = p.alone(atom)
        if alone is not None:
            return self._replaced_alone(atom, *alone)
        parts = p.split(atom)
        if parts is None:
            return []
        factor, rest = parts
        sign = self._sign(factor)
        if sign == 0:
            return []
        if isinstance(atom, Op) and atom.name == "div":
            return self._without_division(atom, factor, rest, sign)
        lows, highs = self._symbolic_range(atom)
        return [factor * self.polynomial(bound) + rest for bound in (lows if sign > 0 else highs)]

    def _replaced_alone(self, atom: Expr, times: int, rest: Polynomial) -> list[Polynomial]:
        """Lower limits of ``times * atom + rest``; for a number as factor fewer polynomials are
        made.
        """
        if isinstance(atom, Op) and atom.name == "div":
            sign = 1 if times > 0 else -1
            return self._without_division(atom, Polynomial.of(times), rest, sign)
        limits = self._symbolic_range(atom)[0 if times > 0 else 1]
        return [self.polynomial(bound).scaled(times) + rest for bound in limits]

    def _without_division(
        self, atom: Op, factor: Polynomial, rest: Polynomial, sign: int
    ) -> list[Polynomial]:
        """The lower limit by ``a - c < c * (a / c) <= a``, if the factor of ``a / c`` is a multiple
        of ``c >= 1``.
        """
        a, c = self.polynomial(atom.args[0]), self.polynomial(atom.args[1])
        times, over = multiples(factor, c)
        if over.terms or not self.proves_positive(c):
            return []
        return [times * (a - c + _ONE if sign > 0 else a) + rest]

    def _sign(self, p: Polynomial) -> int:
        if p.constant is not None:
            return 1 if p.constant >= 0 else -1
        low = self._termwise(p)
        if low is not None and low >= 0:
            return 1
        low = self._termwise(p.scaled(-1))
        return -1 if low is not None and low >= 0 else 0

    def _symbolic_range(self, atom: Expr) -> tuple[Sequence[Expr], Sequence[Expr]]:
        """Lower limits and upper limits of an atom; each of them holds."""
        if isinstance(atom, Variable):
            self._consulted.add(atom.name)
            low, high = self._ranges.get(atom.name, (None, None))
            return ([low] if low is not None else [], [high] if high is not None else [])
        if isinstance(atom, Op) and atom.name == "min":
            return [], self._deciding(atom)
        if isinstance(atom, Op) and atom.name == "max":
            return self._deciding(atom), []
        return [], []

    def _deciding(self, extreme: Op) -> tuple[Expr, ...]:
        """The operands of a min or max; if there are many, only the deciding one of each
        assignment.
        """
        values = operands(extreme)
        if len(values) <= _FEW:
            return values
        if extreme not in self._deciders:
            pick = min if extreme.name == "min" else max
            found: dict[Expr, None] = {}
            for sample in self._samples:
                seen = {v: sample.of(self.polynomial(v)) for v in values}
                known = {v: number for v, number in seen.items() if number is not None}
                if known:
                    found[pick(known, key=known.__getitem__)] = None
            self._deciders[extreme] = tuple(found)
        return self._deciders[extreme]
