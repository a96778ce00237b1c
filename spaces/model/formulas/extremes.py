"""Minima and maxima of any number of values: read as flat, however they are nested, and written as
trees of little depth.
"""

from __future__ import annotations

from collections.abc import Sequence

from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import INTEGERS
from spaces.model.formulas.polynomial import Polynomial

EXTREMES = ("min", "max")


def operands(extreme: Op) -> tuple[Expr, ...]:
    """All values of which a min or max is the smallest or largest, each once."""
    name = extreme.name
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    stack = list(reversed(extreme.args))
    while stack:
        value = stack.pop()
        if not (isinstance(value, Op) and value.name == name):
            found[value] = None
        elif value not in seen:
            seen.add(value)
            stack += reversed(value.args)
    return tuple(found)


def is_part(value: Expr) -> bool:
    """Whether a min or max of int32 has one of its own kind for an operand: then it most likely is
    such an operand itself, which nobody asks for.
    """
    return (
        isinstance(value, Op)
        and value.name in EXTREMES
        and value.type is Int32
        and any(isinstance(a, Op) and a.name == value.name for a in value.args)
    )


def extreme(name: str, values: Sequence[Expr]) -> Expr:
    """The min or max of one or more int32 values, halved again and again."""
    if len(values) == 1:
        return values[0]
    half = (len(values) + 1) // 2
    return Op(Int32, name, (extreme(name, values[:half]), extreme(name, values[half:])))


def lone_extreme(name: str, form: Polynomial) -> tuple[Op, Polynomial] | None:
    """The one min or max of that name that is added in a sum, and the rest of the sum."""
    found = [
        atom
        for monomial, coefficient in form.terms.items()
        if len(monomial) == coefficient == 1
        for atom in monomial
        if isinstance(atom, Op) and atom.name == name
    ]
    if len(found) != 1:
        return None
    (atom,) = found
    return atom, Polynomial({m: c for m, c in form.terms.items() if m != (atom,)})


def common(forms: Sequence[Polynomial]) -> Polynomial:
    """What may be moved out of an extreme of several sums: the terms that all have, and the offset
    nearest to zero.
    """
    first, *others = forms
    for other in others:
        first = first.common(other)
    return first


def of_parity(name: str, a: Polynomial, b: Polynomial) -> Polynomial | None:
    """The smaller or larger of two linear functions of one ``x % 2``, which is one, too."""
    atoms = {*a.atoms, *b.atoms}
    if len(atoms) != 1:
        return None
    (atom,) = atoms
    if not isinstance(atom, Op) or atom.name != "mod" or atom.args[1] is not constant(2, Int32):
        return None
    parts = a.split(atom), b.split(atom)
    slopes = [None if p is None else p[0].constant for p in parts]
    if slopes[0] is None or slopes[1] is None:
        return None
    pick = INTEGERS.operators[name]
    even = pick(a.offset, b.offset)
    odd = pick(a.offset + slopes[0], b.offset + slopes[1])
    return Polynomial.of(even) + Polynomial.of(atom).scaled(odd - even)
