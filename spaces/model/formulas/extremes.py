"""Minima and maxima of many values: readers see nested ones as flat, and writers build balanced
trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import INTEGERS
from spaces.model.formulas.polynomial import Polynomial

EXTREMES = ("min", "max")


def operands(extreme: Op) -> tuple[Expr, ...]:
    """The values that a nested min or max compares, each once."""
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
    """Whether ``value`` is a min (or max) of int32 with another min (or max) as an operand. Such a
    node is usually an inner part of a nested extreme, and its own result is not needed.
    """
    return (
        isinstance(value, Op)
        and value.name in EXTREMES
        and value.type is Int32
        and any(isinstance(a, Op) and a.name == value.name for a in value.args)
    )


def extreme(name: str, values: Sequence[Expr]) -> Expr:
    """The min or max of one or more int32 values, as a balanced tree."""
    if len(values) == 1:
        return values[0]
    half = (len(values) + 1) // 2
    return Op(Int32, name, (extreme(name, values[:half]), extreme(name, values[half:])))


def lone_extreme(name: str, form: Polynomial) -> tuple[Op, Polynomial] | None:
    """The only min (or max) that a sum adds, and the rest of the sum; None if there is not exactly
    one.
    """
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
    """The part that may move out of a min or max of several sums: the terms that all sums have, and
    the offset nearest to zero.
    """
    first, *others = forms
    for other in others:
        first = first.common(other)
    return first


def of_parity(name: str, a: Polynomial, b: Polynomial) -> Polynomial | None:
    """The min or max of two linear functions of one ``x % 2``, as a linear function of it; None for
    other polynomials.
    """
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
