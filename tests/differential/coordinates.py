"""Coordinates of every form: of any sign and scale, transposed, of bits, of derived operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import define, field

from spaces import Bool, Expr, Int32, Param, Type, cast
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import as_expr
from tests.differential.dice import Dice
from tests.differential.operations import FLOATS, IN_COORDINATES, INTEGERS, OPERATIONS, applied

FORMS = (
    "plain",
    "offset",
    "negated",
    "mirrored",
    "by 2",
    "by 3",
    "by more",
    "by a Param",
    "transposed",
    "of several Vars",
    "divided",
    "modulo",
    "clamped",
    "fixed",
    "of bits",
    "by an operator",
    "read",
    "of equal limits",
)
TOGETHER = ("diagonal", "sheared")
"""Forms of two coordinates of one place."""

_TOGETHER_SHARE = 0.05
_PLAIN = ("plain", "offset", "offset", "plain")

Coordinate = Expr
Read = Callable[[Sequence[Expr]], Expr]


@define
class Coordinates:
    """Draws coordinates over the Vars and RVars of a definition.

    Attributes:
        params: Params of small positive defaults, for scales and mirrors.
        small: draws an int32 value that is read somewhere; None where there is nothing to read.
        plain_share: how many coordinates are a Var, or a Var and a number.
    """

    dice: Dice
    params: list[Param]
    small: Callable[[], Expr] | None = None
    plain_share: float = 0.6
    operators: set[str] = field(factory=set)

    def place(self, vars: Sequence[Expr], dimensions: int) -> tuple[Expr, ...]:
        """A coordinate for each dimension of what is read; now and then two depend on one Var."""
        found = tuple(self.one(vars, d) for d in range(dimensions))
        for form in TOGETHER:
            fits = dimensions >= 2 and len(vars) > (form == "sheared")
            if fits and self.dice.takes(f"place: {form}", _TOGETHER_SHARE):
                return self.together(form, found, vars)
        return found

    def together(
        self, form: str, place: tuple[Expr, ...], vars: Sequence[Expr]
    ) -> tuple[Expr, ...]:
        """The place with two coordinates that one Var moves: it alone, or in one of them with
        another Var.
        """
        rng, found = self.dice.rng, list(place)
        first, last = rng.sample(range(len(found)), 2)
        own = vars[last] if last < len(vars) and rng.random() < 0.7 else rng.choice(vars)
        offsets = rng.choice(((0, 0), (0, 0), (rng.randint(-2, 2), rng.randint(-2, 2))))
        if form == "diagonal":
            found[first] = own * rng.choice((1, 1, 1, 2, -1)) + offsets[0]
        else:
            other = rng.choice([v for v in vars if v is not own])
            sheared = rng.choice((other + own, other + own, other - own, own * 2 + other))
            found[first] = sheared + offsets[0]
        found[last] = own + offsets[1]
        return tuple(found)

    def beside(self, place: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """A place at a small distance along one dimension."""
        d = self.dice.rng.randrange(len(place))
        moved = place[d] + self.dice.rng.choice((1, 1, -1, 2))
        return (*place[:d], moved, *place[d + 1 :])

    def one(self, vars: Sequence[Expr], dimension: int) -> Expr:
        """A coordinate of dimension ``dimension``, mostly of the Var of the same number."""
        rng = self.dice.rng
        if not vars:
            return as_expr(rng.randint(-3, 5))
        own = vars[dimension] if dimension < len(vars) else rng.choice(vars)
        if dimension >= len(vars) and rng.random() < 0.5:
            return as_expr(rng.randint(-3, 5))
        aimed = self.dice.aimed("coordinate")
        if aimed and rng.random() < 0.5:
            form = "by an operator"
        elif rng.random() < self.plain_share and not self.dice.aimed("place"):
            form = rng.choice(_PLAIN)
        else:
            form = self.dice.pick("place", FORMS)
        return self._form(form, own, vars)

    def _form(self, form: str, own: Expr, vars: Sequence[Expr]) -> Expr:
        rng = self.dice.rng
        other = rng.choice(vars)
        offset = rng.randint(-3, 3)
        match form:
            case "plain":
                return own
            case "offset":
                return own + offset
            case "negated":
                return -own
            case "mirrored":
                return self._param() - own if rng.random() < 0.4 else offset + 2 - own
            case "by 2" | "by 3" | "by more":
                scaled = own * (rng.choice((4, 5)) if form == "by more" else int(form[-1]))
                return rng.choice((scaled, scaled + offset, offset - scaled, -scaled))
            case "by a Param":
                scaled = own * self._param()
                return rng.choice((scaled, scaled + offset, offset - scaled))
            case "transposed":
                return other + rng.choice((0, 0, offset))
            case "of several Vars":
                return rng.choice((own + other, own - other, own * 2 + other, other - own + offset))
            case "divided":
                return own / rng.choice((2, 3, 4)) + rng.choice((0, offset))
            case "modulo":
                return own % rng.choice((2, 3, 5)) + rng.choice((0, offset))
            case "clamped":
                return fn.clamp(own * rng.choice((1, 1, 2, -1)) + offset, -2, rng.randint(3, 8))
            case "fixed":
                return as_expr(rng.randint(-3, 5))
            case "of bits":
                return self._bits(own)
            case "read" if self.small is not None:
                return fn.clamp(self.small() + rng.choice((0, 0, 1)) * own, -1, rng.randint(3, 7))
            case "of equal limits" if self.small is not None:
                return self._of_equal_limits(self.small, own)
        return self._operator(own, vars)

    def _of_equal_limits(self, small: Callable[[], Expr], own: Expr) -> Expr:
        """Of two values that are different and have the same limits."""
        rng = self.dice.rng
        low, high = rng.randint(-3, 1), rng.randint(2, 5)
        a, b = (fn.clamp(small() + offset, low, high) for offset in (0, rng.randint(-2, 2)))
        joined = rng.choice((a + b, a + b, a - b, a * b, fn.min(a, b), fn.select(own > 2, a, b)))
        return rng.choice((joined, joined, joined + own))

    def _param(self) -> Expr:
        return as_expr(self.dice.rng.choice(self.params)) if self.params else as_expr(3)

    def _bits(self, own: Expr) -> Expr:
        """Of the bits of a coordinate, as it stands: what bounds it is its shape alone."""
        rng = self.dice.rng
        made: tuple[Callable[[], Expr], ...] = (
            lambda: own | 1,
            lambda: own ^ rng.choice((1, 2, 3)),
            lambda: own & -2,
            lambda: own & 7,
            lambda: ~own,
            lambda: own << rng.choice((1, 2)),
            lambda: own >> rng.choice((1, 2)),
            lambda: own << fn.clamp(self._param(), 0, 2),
            lambda: own >> fn.clamp(self._param(), 0, 3),
        )
        return rng.choice(made)()

    def _operator(self, own: Expr, vars: Sequence[Expr]) -> Expr:
        """Any operator, on Vars in any type; mostly between limits, which not all have alone."""
        rng = self.dice.rng
        name = self.dice.pick("coordinate", IN_COORDINATES)
        in_int32 = Int32 in OPERATIONS[name].types and rng.random() < 0.6
        chosen = Int32 if in_int32 else rng.choice(_whole(OPERATIONS[name].types))

        def operand(type: Type) -> Expr:
            var = own if rng.random() < 0.6 else rng.choice(vars)
            leaf = var if rng.random() < 0.6 else var + rng.randint(-3, 3)
            leaf = as_expr(rng.randint(1, 4)) if rng.random() < 0.2 else leaf
            if type == Bool:
                return leaf > rng.randint(0, 4)
            return cast(type, leaf)

        made = applied(rng, name, chosen, operand)
        made = fn.select(made, own, own + 1) if made.type.is_bool else cast(Int32, made)
        if rng.random() < 0.3:
            return made
        limited = fn.clamp(made, rng.randint(-4, 0), rng.randint(2, 9))
        return limited if rng.random() < 0.6 else limited + own


def _whole(types: Sequence[Type]) -> Sequence[Type]:
    """Types whose values are numbers of places, or what there is."""
    return [t for t in types if t in INTEGERS] or [t for t in types if t in FLOATS] or types
