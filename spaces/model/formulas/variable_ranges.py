"""Ranges of integer variables, and their consequences: limits of polynomials, and proofs.

A variable lies between two expressions, which may contain earlier variables. Sizes
(``B.extent.D``) are at least 1. Every limit found here holds; a missing limit means nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from attrs import define, field

from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.corners import CORNERS
from spaces.model.formulas.extremes import EXTREMES, operands
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.polynomial import Monomial, Polynomial, multiples
from spaces.model.formulas.samples import PICKS, Sample, lowest

_MOST_PAIRS = 16
"""Compare the operands of two extremes only up to this many pairs."""

_FEW = 4
"""Try all operands of an extreme for its limit only up to this many."""


_ONE = Polynomial.of(1)

_NO_LIMITS = (None, None)

_LIMITED = ("div", *EXTREMES)
"""The operators that have limits in terms of their operands."""


@define
class VariableRanges(ABC):
    """Ranges of variables, and the limits of polynomials that follow from them."""

    _ranges: dict[str, tuple[Expr | None, Expr | None]] = field(factory=dict)
    _outer: VariableRanges | None = None
    _own: str = ""
    _lowers: dict[tuple[frozenset[tuple[Monomial, int]], int], int | None] = field(
        init=False, factory=dict
    )
    _numbers: dict[Expr, tuple[int | None, int | None]] = field(init=False, factory=dict)
    _deciders: dict[Expr, tuple[Expr, ...]] = field(init=False, factory=dict)
    _ranks: dict[str, int] = field(init=False)
    _consulted: set[str] = field(init=False, factory=set)
    _limit_numbers: dict[frozenset[str], int] = field(init=False, factory=dict)
    _numbered: set[str] = field(init=False, factory=set)
    _samples: tuple[Sample, ...] = field(init=False)
    _lowest: Sample = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._ranks = {name: rank for rank, name in enumerate(self._ranges)}
        picks = (lowest, *PICKS)
        outer = self._outer
        around = (None,) * len(picks) if outer is None else (outer._lowest, *outer._samples)
        self._lowest, *samples = (
            Sample(self._ranges, self._consulted, pick, one, self._own)
            for pick, one in zip(picks, around, strict=True)
        )
        self._samples = tuple(samples)

    def _outside(self, names: frozenset[str]) -> VariableRanges | None:
        """The outer ranges, if they know all of ``names``; they may already have the answer."""
        return None if self._own in names else self._outer

    @abstractmethod
    def __call__(self, expr: Expr) -> Expr:
        """An equal expression; integer arithmetic in it is in normal form."""

    @abstractmethod
    def polynomial(self, expr: Expr) -> Polynomial:
        """The normal form of an int32 expression."""

    def assume(self, name: str, low: Expr | None, high: Expr | None) -> None:
        """Limits the variable ``name`` to ``low .. high``, both inclusive; None is no limit."""
        if self._ranges.get(name) != (low, high):
            self._ranges[name] = (low, high)
            self._ranks.setdefault(name, len(self._ranks))
            if name in self._numbered:
                self._numbered.clear()
                self._limit_numbers.clear()
            if name in self._consulted:
                self._lowers.clear()
                self._numbers.clear()
                self._deciders.clear()
                for sample in (self._lowest, *self._samples):
                    sample.forget()

    def _limits(self, names: frozenset[str], shared: KnownForms) -> int:
        """The number of all that is known of some variables: their limits, and those of variables
        in these limits.
        """
        number = self._limit_numbers.get(names)
        if number is None:
            found: set[str] = set()
            left = list(names)
            while left:
                name = left.pop()
                if name not in found:
                    found.add(name)
                    left += (n for end in self.known(name) if end is not None for n in end.names)
            self._numbered |= found
            ordered = sorted(found, key=lambda name: (self._ranks.get(name, -1), name))
            number = shared.number(tuple((name, *self.known(name)) for name in ordered))
            self._limit_numbers[names] = number
        return number

    def known(self, name: str) -> tuple[Expr | None, Expr | None]:
        """The assumed limits of a variable."""
        return self._ranges.get(name, (None, None))

    def proves_positive(self, p: Polynomial) -> bool:
        """Whether ``p >= 1`` follows from the known ranges."""
        return self.proves_at_most(_ONE, p)

    def seen(self, p: Polynomial) -> tuple[int | None, ...]:
        """The values of ``p`` in some assignments within the known ranges."""
        return tuple([sample.of(p) for sample in (self._lowest, *self._samples)])

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

    def _number_range(self, atom: Expr) -> tuple[int | None, int | None]:
        if isinstance(atom, Variable):
            return self._variable_range(atom.name)
        if isinstance(atom, Op):
            known = self._numbers.get(atom)
            if known is None:
                outer = self._outside(atom.names)
                found = self._operator_range(atom) if outer is None else outer._number_range(atom)
                known = self._numbers[atom] = found
            return known
        if isinstance(atom, Call | Cast) and not atom.type.is_float and atom.type.bits < 32:
            return (atom.type.min_value, atom.type.max_value)
        return (None, None)

    def never_wrap(self, *forms: Polynomial) -> bool:
        """Whether int32 arithmetic computes these sums without wrapping. Sums of coordinates do not
        wrap; sums of values that are read do not wrap if their types leave room.
        """
        return all(map(self._never_wraps, forms))

    def _never_wraps(self, form: Polynomial) -> bool:
        low = high = form.offset
        is_data = False
        for monomial, coefficient in form.terms.items():
            if not any(atom.loads for atom in monomial):
                continue
            is_data = True
            ends = [coefficient]
            for atom in monomial:
                ends = [x * y for x in ends for y in self._data_range(atom)]
            low, high = low + min(ends), high + max(ends)
        return not is_data or (Int32.holds(low) and Int32.holds(high))

    def _data_range(self, atom: Expr) -> tuple[int, int]:
        """The range of an atom as numbers; its type gives the ends that are unknown otherwise."""
        while isinstance(atom, Cast) and atom.type.holds_all(atom.value.type):
            atom = atom.value
        low, high = self._number_range(atom)
        return (
            atom.type.min_value if low is None else low,
            atom.type.max_value if high is None else high,
        )

    def _variable_range(self, name: str) -> tuple[int | None, int | None]:
        is_size = ".extent." in name
        self._consulted.add(name)
        if name not in self._ranges:
            return (1 if is_size else None, None)
        low, high = self._ranges[name]
        least, most = _number(low), _number(high)
        return (1 if least is None and is_size else least, most)

    def _operator_range(self, atom: Op) -> tuple[int | None, int | None]:
        if atom.name == "mod" and isinstance(atom.args[1], Const):
            return (0, max(abs(int(atom.args[1].value)) - 1, 0))
        if atom.name == "mod":
            return (0, None)
        if atom.name in ("min", "max", "select"):
            values = atom.args[-2:] if atom.name == "select" else operands(atom)
            forms = [self.polynomial(a) for a in values]
            lows = [self.lower(p, 2) for p in forms]
            highs = [self.lower(p.scaled(-1), 2) for p in forms]
            known_lows = [x for x in lows if x is not None]
            known_highs = [-x for x in highs if x is not None]
            every_low, every_high = len(known_lows) == len(lows), len(known_highs) == len(highs)
            low = min(known_lows) if every_low else None
            high = max(known_highs) if every_high else None
            if atom.name == "max" and known_lows:
                low = max(known_lows)
            if atom.name == "min" and known_highs:
                high = min(known_highs)
            return (low, high)
        if atom.name == "div":
            return self._quotient_range(atom)
        return self._corners(atom)

    def ends(self, form: Polynomial, depth: int = 3) -> tuple[int | None, int | None]:
        """The range of a sum as numbers. An end beyond int32 becomes None: it does not limit a
        coordinate, and no size has it.
        """
        low, negated = self.lower(form, depth), self.lower(form.scaled(-1), depth)
        high = None if negated is None else -negated
        return (
            None if low is None or not Int32.holds(low) else low,
            None if high is None or not Int32.holds(high) else high,
        )

    def numbers(self, expr: Expr) -> tuple[int | None, int | None]:
        """The range of an integer expression as numbers; for types other than int32, the type gives
        unknown ends. Arithmetic on values that are read may wrap; it then has no limit from its
        operands.
        """
        if expr.type is Int32 and not expr.loads:
            return self.ends(self.polynomial(expr), 2)
        if expr.type.is_float:
            return None, None
        if isinstance(expr, Const):
            return int(expr.value), int(expr.value)
        low, high = None, None
        if isinstance(expr, Cast) and not expr.value.type.is_float:
            low, high = self.numbers(expr.value)
        elif isinstance(expr, Op):
            low, high = self._corners(expr)
        known = [end for end in (low, high) if end is not None]
        if not all(map(expr.type.holds, known)):
            low = high = None
        if expr.type is Int32:
            return low, high
        return (
            expr.type.min_value if low is None else low,
            expr.type.max_value if high is None else high,
        )

    def _corners(self, atom: Op) -> tuple[int | None, int | None]:
        """The range of an operator, from the ranges or the types of its operands."""
        if atom.name not in CORNERS or any(a.type.is_float for a in atom.args):
            return None, None
        ends = [
            (a.type.min_value if low is None else low, a.type.max_value if high is None else high)
            for a, (low, high) in ((a, self.numbers(a)) for a in atom.args)
        ]
        found = CORNERS[atom.name](atom.type, *ends)
        if found is None or not (atom.type.holds(found[0]) and atom.type.holds(found[1])):
            return None, None
        low, high = found
        return (
            None if low == atom.type.min_value else low,
            None if high == atom.type.max_value else high,
        )

    def _quotient_range(self, atom: Op) -> tuple[int | None, int | None]:
        numerator, divisor = (self.polynomial(a) for a in atom.args)
        low, least = self.lower(numerator, 2), self.lower(divisor, 2)
        if divisor.constant is not None and divisor.constant > 0:
            negated = self.lower(numerator.scaled(-1), 2)
            return (
                None if low is None else low // divisor.constant,
                None if negated is None else -negated // divisor.constant,
            )
        if low is not None and least is not None and min(low, least) >= 0:
            return (0, None)
        return (None, None)


def _number(expr: Expr | None) -> int | None:
    return int(expr.value) if isinstance(expr, Const) else None
