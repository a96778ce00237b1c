"""Reductions inside an expression: sum, product, maximum, minimum, argmax and argmin.

``sum(value)`` runs over the RDom that the value mentions, ``sum(domain, value)`` over ``domain``.
In the second form, an RVar of another domain is a coordinate of the surrounding definition. A
domain that the value does not mention changes nothing, as in Halide: ``sum(domain, 1)`` is 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeGuard

from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.rdom import RDom, RVar, domain_of, require_one_domain
from spaces.model.algorithm.var import Var, is_free_var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, ExprLike, Variable, as_expr, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Type

Components: TypeAlias = tuple[Expr, ...]


@frozen
class _Reduction:
    """The arguments of a reduction.

    Attributes:
        kind: its name in the language.
        domain: the domain that it runs over.
        body: the value, with a Var in place of each RVar of another domain.
        outer: for each such Var, its RVar.
        name: the name of the Func, if the user gives one.
    """

    kind: str
    domain: RDom
    body: Expr
    outer: Mapping[Variable, RVar]
    name: str | None

    @staticmethod
    def of(
        kind: str, first: ExprLike, second: ExprLike | str | None, name: str | None
    ) -> _Reduction:
        """The reduction with arguments ``(value, name)`` or ``(domain, value, name)``.

        Raises:
            DefinitionError: no domain is given, and the value mentions no RDom or several.
        """
        if second is not None and not isinstance(second, str):
            if not isinstance(first, RDom):
                raise DefinitionError(
                    f"{kind}(domain, value) takes an RDom first, but `{as_expr(first)}` is not "
                    f"an RDom; {kind}(value) reduces over the RDom that the value mentions."
                )
            outer, body = _without_outer(first, as_expr(second))
            return _Reduction(kind, first, body, outer, name)
        body = as_expr(first)
        require_one_domain(f"`{kind}({body})`", body)
        domain = domain_of(body)
        if domain is None:
            raise DefinitionError(f"`{kind}({body})` mentions no RDom to reduce over.")
        return _Reduction(kind, domain, body, {}, second or name)

    def run(self, identity: Components, step: Callable[[Components], Components]) -> Components:
        """The values of a new Func over the free Vars of the value. It starts with ``identity``,
        and at each point of the domain ``step`` makes new values of the current ones.
        """
        args = tuple(dict.fromkeys(filter(_is_free, walk(self.body, *self.domain.predicates))))
        func = Func(self.name or self.kind, anonymous=self.name is None)
        func[args] = identity
        func[args] = step(tuple(func[args]))
        return tuple(func[tuple(self.outer.get(a, a) for a in args)])

    def folded(self, identity: Expr, combine: Callable[[Expr, Expr], Expr]) -> Expr:
        """The values of all points, combined by ``combine``."""
        (result,) = self.run((identity,), lambda now: (combine(now[0], self.body),))
        return result

    def best(self, worst: Expr, better: Callable[[Expr, Expr], Expr]) -> Components:
        """The coordinates and the value of the first point with the best value."""
        here = (*(self.domain[d] for d in range(len(self.domain.vars))), self.body)
        start = (*(constant(0, v.type) for v in here[:-1]), worst)

        def step(now: Components) -> Components:
            found = better(self.body, now[-1])
            return tuple(fn.select(found, a, b) for a, b in zip(here, now, strict=True))

        return self.run(start, step)


def _is_free(node: Expr) -> TypeGuard[Variable]:
    """Whether a node is a Var and not a size."""
    return is_free_var(node) and node.name.isidentifier()


def _without_outer(domain: RDom, value: Expr) -> tuple[Mapping[Variable, RVar], Expr]:
    """Replaces the RVars of other domains in a value by Vars. Returns a map from each Var to its
    RVar, and the new value.
    """
    variables = [n for n in walk(value, *domain.predicates) if isinstance(n, Variable)]
    others = [n for n in variables if isinstance(n, RVar) and n.domain is not domain]
    taken = {n.name.replace(".", "_") for n in variables if n not in others}
    vars: dict[Expr, Variable] = {}
    for rvar in dict.fromkeys(others):
        name = rvar.name.replace(".", "_")
        while name in taken:
            name += "_"
        taken.add(name)
        vars[rvar] = Var(name)
    return {vars[r]: r for r in others}, rewrite(value, lambda n: vars.get(n, n))


def sum(of: ExprLike, value: ExprLike | str | None = None, name: str | None = None) -> Expr:
    """The sum over an RDom, in the type of the value (it may wrap). ``sum(value)`` runs over the
    domain that the value mentions, ``sum(domain, value)`` over ``domain``. ``name`` is the name of
    the Func that holds the sum.

    Raises:
        DefinitionError: no domain is given, and the value mentions no RDom or several (every
            function of this group raises it).
    """
    given = _Reduction.of("sum", of, value, name)
    return given.folded(constant(0, given.body.type), operator.add)


def product(of: ExprLike, value: ExprLike | str | None = None, name: str | None = None) -> Expr:
    """The product over an RDom, in the type of the value; arguments as for :func:`sum`."""
    given = _Reduction.of("product", of, value, name)
    return given.folded(constant(1, given.body.type), operator.mul)


def maximum(of: ExprLike, value: ExprLike | str | None = None, name: str | None = None) -> Expr:
    """The largest value over an RDom; arguments as for :func:`sum`."""
    given = _Reduction.of("maximum", of, value, name)
    return given.folded(lowest(given.body.type), fn.max)


def minimum(of: ExprLike, value: ExprLike | str | None = None, name: str | None = None) -> Expr:
    """The smallest value over an RDom; arguments as for :func:`sum`."""
    given = _Reduction.of("minimum", of, value, name)
    return given.folded(highest(given.body.type), fn.min)


def argmax(
    of: ExprLike, value: ExprLike | str | None = None, name: str | None = None
) -> tuple[Expr, ...]:
    """The point of an RDom with the largest value: the RVars there, in their order, then the value.
    Of several largest values it is the first; if no value is above the smallest of its type, every
    RVar is 0. Arguments as for :func:`sum`.
    """
    given = _Reduction.of("argmax", of, value, name)
    return given.best(lowest(given.body.type), operator.gt)


def argmin(
    of: ExprLike, value: ExprLike | str | None = None, name: str | None = None
) -> tuple[Expr, ...]:
    """The point of an RDom with the smallest value; otherwise as :func:`argmax`."""
    given = _Reduction.of("argmin", of, value, name)
    return given.best(highest(given.body.type), operator.lt)


def lowest(type: Type) -> Expr:
    """The smallest value of an element type (minus infinity for floats)."""
    return constant(float("-inf") if type.is_float else type.min_value, type)


def highest(type: Type) -> Expr:
    """The largest value of an element type (infinity for floats)."""
    return constant(float("inf") if type.is_float else type.max_value, type)
