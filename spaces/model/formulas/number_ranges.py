"""Ranges of integer variables, and the ranges of expressions as numbers that follow from them.

A variable lies between two expressions, which may contain earlier variables. Sizes
(``B.extent.D``) are at least 1. Every limit found here holds; a missing limit means nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from attrs import define, field

from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable
from spaces.model.expressions.types import Int32
from spaces.model.formulas.corners import CORNERS
from spaces.model.formulas.extremes import operands
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.samples import PICKS, Sample, lowest


@define
class NumberRanges(ABC):
    """Ranges of variables, and the ranges of expressions as numbers that follow from them."""

    _ranges: dict[str, tuple[Expr | None, Expr | None]] = field(factory=dict)
    _outer: NumberRanges | None = None
    _own: str = ""
    _numbers: dict[Expr, tuple[int | None, int | None]] = field(init=False, factory=dict)
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

    def _outside(self, names: frozenset[str]) -> NumberRanges | None:
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
                self._forget()

    def _forget(self) -> None:
        """Drops the results that depend on the ranges of variables."""
        self._numbers.clear()
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

    def seen(self, p: Polynomial) -> tuple[int | None, ...]:
        """The values of ``p`` in some assignments within the known ranges."""
        return tuple([sample.of(p) for sample in (self._lowest, *self._samples)])

    @abstractmethod
    def lower(self, p: Polynomial, depth: int = 3) -> int | None:
        """A lower limit of ``p`` as a number; None if the search finds no limit."""

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


def _number(expr: Expr | None) -> int | None:
    return int(expr.value) if isinstance(expr, Const) else None
