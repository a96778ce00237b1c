"""Arithmetic that is the same for all threads of a launch, or of a block.

As a part of the code around it, every thread would do it in every iteration. The host's loops,
sizes and parameters have one value in a launch: a formula over nothing else is a number that the
launch passes. Together with the place of the block they have one value in a block, which gets a
name at the beginning of the kernel. Of a sum, all such terms together are one number. The order of
terms does not matter: coordinates never wrap, and elsewhere sums of int wrap alike in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import define, evolve, field

from spaces.backend.cuda.number_ends import NumberEnds
from spaces.backend.cuda.sums import is_sum, plus, sum_of, terms_of
from spaces.backend.ir.host import BLOCK, THREAD, DeviceFunction
from spaces.backend.ir.node import map_children
from spaces.backend.ir.statements import For, If, Statement, Store
from spaces.backend.ir.vectors import Load
from spaces.backend.ir.walk import free_variables, map_own
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import INTEGERS

_BLOCK, _THREAD = (frozenset(place.name for place in places) for places in (BLOCK, THREAD))


def with_host_numbers(
    kernel: DeviceFunction, ends: NumberEnds
) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    """The kernel with a variable for each number that the host can compute, and their formulas by
    the names of the variables. The host wraps what it computes, so a sum that may wrap counts, too.
    """
    fixed = _free(kernel) - _BLOCK - _THREAD
    return _taken_out(kernel, _Numbers(fixed, "size", ends.wraps_once))


def with_block_numbers(
    kernel: DeviceFunction, ends: NumberEnds
) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    """The kernel with a variable for each number that all threads of a block share, and their
    formulas by the names of the variables.
    """
    return _taken_out(kernel, _Numbers(_free(kernel) - _THREAD, "block", ends.is_exact))


def _free(kernel: DeviceFunction) -> frozenset[str]:
    return frozenset(variable.name for variable in free_variables(kernel.body))


def _taken_out(
    kernel: DeviceFunction, numbers: _Numbers
) -> tuple[DeviceFunction, Mapping[str, Expr]]:
    body = numbers.statement(kernel.body)
    return evolve(kernel, body=body), {v.name: e for e, v in numbers.found.items()}


@define
class _Numbers:
    """Takes the formulas over ``fixed`` variables out of a kernel, as variables called ``name`` and
    a number. A formula outside of coordinates is taken out where ``may_be_one`` says so.
    """

    fixed: frozenset[str]
    name: str
    may_be_one: Callable[[Expr], bool]
    found: dict[Expr, Variable] = field(factory=dict)
    _coordinates: dict[Expr, Expr] = field(factory=dict)
    _values: dict[Expr, Expr] = field(factory=dict)

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
        """A value, in which sums may wrap: the indices of what it reads are coordinates."""
        stack, seen = [expr], set[Expr]()
        while stack:
            node = stack.pop()
            if node in self._values or node in seen:
                continue
            seen.add(node)
            changed = self._part(node)
            if changed is None:
                stack += [term for term, _ in terms_of(node)] if is_sum(node) else node.children
            else:
                self._values[node] = changed
        return rewrite(expr, lambda node: node, self._values)

    def _part(self, node: Expr) -> Expr | None:
        """The changed form of a part of a value; None if only parts of it may change."""
        if isinstance(node, Load):
            return node.with_children((self.coordinate(node.index),))
        if not (isinstance(node, Op) and node.type in (Int32, Bool)):
            return None
        if self._is_fixed(node):
            return self._number(node) if self.may_be_one(node) else None
        fixed = [term for term in self._fixed_terms(node) if self.may_be_one(term[0])]
        if len(fixed) < 2 or not self.may_be_one(sum_of(fixed)):
            return None
        return self._in_order(node, fixed, self.value)

    def coordinate(self, expr: Expr) -> Expr:
        """A coordinate, an index or a bound. One that depends on data may wrap, so it counts as a
        value.
        """
        if expr.loads:
            return self.value(expr)
        if expr not in self._coordinates:
            self._coordinates[expr] = self._coordinate(expr)
        return self._coordinates[expr]

    def _coordinate(self, expr: Expr) -> Expr:
        if not (isinstance(expr, Op) and expr.type in (Int32, Bool)):
            return self.value(expr)
        if self._is_fixed(expr):
            return self._number(expr)
        if is_sum(expr):
            return self._in_order(expr, self._fixed_terms(expr), self.coordinate)
        return expr.with_children(tuple(self.coordinate(child) for child in expr.children))

    def _fixed_terms(self, expr: Expr) -> list[tuple[Expr, int]]:
        return [term for term in terms_of(expr) if self._is_fixed(term[0])]

    def _in_order(
        self, expr: Expr, fixed: list[tuple[Expr, int]], inside: Callable[[Expr], Expr]
    ) -> Expr:
        """A sum with one number for its ``fixed`` terms, behind the others.

        Constants stay apart and come last: neighbours in memory then have all the rest in common,
        and the constants become a part of the instructions that access memory.
        """
        terms = [term for term in terms_of(expr) if term not in fixed]
        moving = [(inside(term), sign) for term, sign in terms if not isinstance(term, Const)]
        if len(fixed) > 1:
            fixed = [(sum_of(fixed), 1)]
        moving += [(self._number(term), sign) for term, sign in fixed]
        apart = sum(sign * int(term.value) for term, sign in terms if isinstance(term, Const))
        return plus(sum_of(moving), apart) if moving else constant(Int32.wrap(apart), Int32)

    def _is_fixed(self, expr: Expr) -> bool:
        """Whether it is made of fixed variables, by operators that formulas have."""
        names = expr.names
        return bool(names) and names <= self.fixed and all(map(_is_of_formulas, walk(expr)))

    def _number(self, expr: Expr) -> Expr:
        if isinstance(expr, Const | Variable):
            return expr
        if expr not in self.found:
            self.found[expr] = Variable(expr.type, f"{self.name}.{len(self.found)}")
        return self.found[expr]


def _is_of_formulas(node: Expr) -> bool:
    """Whether a node is a number or a condition of the kind that formulas have."""
    if isinstance(node, Op):
        return node.type in (Int32, Bool) and node.name in INTEGERS.operators
    return isinstance(node, Const | Variable) and node.type in (Int32, Bool)
