"""Reductions written inside an expression, over the RDom they mention: sum, product, maximum,
minimum, argmax and argmin.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from spaces.model import functions as fn
from spaces.model.definition_error import DefinitionError
from spaces.model.expr import Expr, ExprLike, Variable, as_expr, constant, walk
from spaces.model.func import Func
from spaces.model.param import ScalarVariable
from spaces.model.rdom import RVar, domain_of, require_one_domain
from spaces.model.types import Type


def _reduce(
    kind: str,
    body: Expr,
    name: str | None,
    identity: tuple[Expr, ...],
    step: Callable[[tuple[Expr, ...]], tuple[Expr, ...]],
) -> tuple[Expr, ...]:
    """A new Func over the free Vars of ``body``, updated over its RDom: what ``step`` makes of the
    values so far.
    """
    domain = domain_of(body)
    if domain is None:
        raise DefinitionError(f"`{kind}({body})` mentions no RDom to reduce over.")
    nodes = list(walk(body, *domain.predicates))
    require_one_domain(f"`{kind}({body})`", body)
    free = dict.fromkeys(
        n
        for n in nodes
        if isinstance(n, Variable)
        and not isinstance(n, RVar | ScalarVariable)
        and ".min." not in n.name
        and ".extent." not in n.name
    )
    args = tuple(free)
    func = Func(name or kind, anonymous=name is None)
    func[args] = identity
    func[args] = step(tuple(func[args]))
    return tuple(func[args])


def _folded(
    kind: str,
    body: Expr,
    name: str | None,
    identity: Expr,
    combine: Callable[[Expr, Expr], Expr],
) -> Expr:
    (result,) = _reduce(kind, body, name, (identity,), lambda now: (combine(now[0], body),))
    return result


def _best(
    kind: str, body: Expr, name: str | None, worst: Expr, better: Callable[[Expr, Expr], Expr]
) -> tuple[Expr, ...]:
    """Where ``body`` is the first that is better than all others, and how good it is there."""
    domain = domain_of(body)
    here = (*(domain[d] for d in range(len(domain.vars))), body) if domain else (body,)
    start = (*(constant(0, v.type) for v in here[:-1]), worst)

    def step(now: tuple[Expr, ...]) -> tuple[Expr, ...]:
        found = better(body, now[-1])
        return tuple(fn.select(found, a, b) for a, b in zip(here, now, strict=True))

    return _reduce(kind, body, name, start, step)


def sum(value: ExprLike, name: str | None = None) -> Expr:
    """The sum of ``value`` over the RDom it mentions, in the type of ``value`` (it may wrap)."""
    body = as_expr(value)
    return _folded("sum", body, name, constant(0, body.type), operator.add)


def product(value: ExprLike, name: str | None = None) -> Expr:
    """The product of ``value`` over the RDom it mentions, in the type of ``value``."""
    body = as_expr(value)
    return _folded("product", body, name, constant(1, body.type), operator.mul)


def maximum(value: ExprLike, name: str | None = None) -> Expr:
    """The largest ``value`` over the RDom it mentions."""
    body = as_expr(value)
    return _folded("maximum", body, name, lowest(body.type), fn.max)


def minimum(value: ExprLike, name: str | None = None) -> Expr:
    """The smallest ``value`` over the RDom it mentions."""
    body = as_expr(value)
    return _folded("minimum", body, name, highest(body.type), fn.min)


def argmax(value: ExprLike, name: str | None = None) -> tuple[Expr, ...]:
    """Where ``value`` is largest over the RDom it mentions: the RVars there, in their order, and
    the value. Of equal ones it is the first; 0 in each, if there is none.
    """
    body = as_expr(value)
    return _best("argmax", body, name, lowest(body.type), operator.gt)


def argmin(value: ExprLike, name: str | None = None) -> tuple[Expr, ...]:
    """Where ``value`` is smallest over the RDom it mentions, as :func:`argmax` gives it."""
    body = as_expr(value)
    return _best("argmin", body, name, highest(body.type), operator.lt)


def lowest(type: Type) -> Expr:
    """The smallest value of an element type (minus infinity for floats)."""
    return constant(float("-inf") if type.is_float else type.min_value, type)


def highest(type: Type) -> Expr:
    """The largest value of an element type (infinity for floats)."""
    return constant(float("inf") if type.is_float else type.max_value, type)
