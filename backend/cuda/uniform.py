"""Arithmetic that is the same for all threads of a launch, or of a block.

As a part of the code around it, every thread would do it in every iteration. The host's loops,
sizes and parameters have one value in a launch: a formula over nothing else is a number that the
launch passes. Together with the place of the block they have one value in a block, which gets a
name at the beginning of the kernel. Of a sum, all such terms together are one number. Kernels
compute coordinates in int without wrapping, so the order of terms does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from attrs import define, evolve, field

from backend.ir.host import BLOCK, THREAD, DeviceFunction
from backend.ir.node import map_children
from backend.ir.statements import For, If, Statement, Store
from backend.ir.vectors import Load
from backend.ir.walk import free_variables, map_own
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import INTEGERS

_BLOCK, _THREAD = (frozenset(place.name for place in places) for places in (BLOCK, THREAD))


def with_host_numbers(kernel: DeviceFunction) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    """The kernel with a variable for each number that the host can compute, and their formulas by
    the names of the variables.
    """
    return _taken_out(kernel, _free(kernel) - _BLOCK - _THREAD, "size")


def with_block_numbers(kernel: DeviceFunction) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    """The kernel with a variable for each number that all threads of a block share, and their
    formulas by the names of the variables.
    """
    return _taken_out(kernel, _free(kernel) - _THREAD, "block")


def _free(kernel: DeviceFunction) -> frozenset[str]:
    return frozenset(variable.name for variable in free_variables(kernel.body))


def _taken_out(
    kernel: DeviceFunction, fixed: frozenset[str], name: str
) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    numbers = _Numbers(fixed, name)
    body = numbers.statement(kernel.body)
    return evolve(kernel, body=body), {v.name: e for e, v in numbers.found.items()}


@define
class _Numbers:
    """Takes the formulas over ``fixed`` variables out of a kernel, as variables called ``name`` and
    a number.
    """

    fixed: frozenset[str]
    name: str
    found: dict[Expr, Variable] = field(factory=dict)
    _done: dict[Expr, Expr] = field(factory=dict)

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Store(index=index, value=value):
                return evolve(statement, index=self.coordinate(index), value=self.value(value))
            case For() | If():
                statement = map_own(statement, self.coordinate)
            case _:
                statement = map_own(statement, self.value)
        return map_children(statement, self.statement)

    def value(self, expr: Expr) -> Expr:
        """A value: the indices of what it reads are coordinates."""

        def changed(node: Expr) -> Expr:
            if isinstance(node, Load):
                return node.with_children((self.coordinate(node.index),))
            return node

        return rewrite(expr, changed)

    def coordinate(self, expr: Expr) -> Expr:
        """A coordinate, an index or a bound. One that depends on data may wrap: it stays as it is,
        but for the indices of what it reads.
        """
        if expr.loads:
            return self.value(expr)
        if expr not in self._done:
            self._done[expr] = self._coordinate(expr)
        return self._done[expr]

    def _coordinate(self, expr: Expr) -> Expr:
        if not (isinstance(expr, Op) and expr.type in (Int32, Bool)):
            return expr  # a name, a number, or arithmetic that may wrap
        if self._is_fixed(expr):
            return self._number(expr)
        terms = _terms(expr)
        fixed = [term for term in terms if isinstance(term[0], Const) or self._is_fixed(term[0])]
        if len(fixed) < 2 or not any(term.names for term, _ in fixed):
            return expr.with_children(tuple(self.coordinate(child) for child in expr.children))
        moving = [(self.coordinate(term[0]), term[1]) for term in terms if term not in fixed]
        return _sum([*moving, (self._number(_sum(fixed)), 1)])

    def _is_fixed(self, expr: Expr) -> bool:
        """Whether it is made of fixed variables, by operators that formulas have."""
        names = expr.names
        return bool(names) and names <= self.fixed and all(map(_is_exact, walk(expr)))

    def _number(self, expr: Expr) -> Expr:
        if isinstance(expr, Const | Variable):
            return expr
        if expr not in self.found:
            self.found[expr] = Variable(expr.type, f"{self.name}.{len(self.found)}")
        return self.found[expr]


def _is_exact(node: Expr) -> bool:
    """Whether a node is a number or a condition that never wraps."""
    if isinstance(node, Op):
        return node.type in (Int32, Bool) and node.name in INTEGERS.operators
    return isinstance(node, Const | Variable) and node.type in (Int32, Bool)


def _terms(expr: Expr) -> list[tuple[Expr, int]]:
    """The terms of a sum of int, each with its sign, in order."""
    match expr:
        case Op(name="add" | "sub", args=(a, b)) if expr.type is Int32:
            sign = 1 if expr.name == "add" else -1
            return [*_terms(a), *((term, sign * own) for term, own in _terms(b))]
    return [(expr, 1)]


def _sum(terms: Sequence[tuple[Expr, int]]) -> Expr:
    """The sum of some terms, which begins with one that is added."""
    first, *rest = sorted(terms, key=lambda term: -term[1])
    if first[1] < 0:
        first, rest = (constant(0, Int32), 1), [first, *rest]
    return reduce(
        lambda total, term: Op(Int32, "add" if term[1] > 0 else "sub", (total, term[0])),
        rest,
        first[0],
    )
