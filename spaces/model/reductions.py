"""Reductions written inside an expression: sum, maximum, minimum over the RDom they mention."""

from __future__ import annotations

from spaces.model import functions as fn
from spaces.model.expr import Expr, ExprLike, Variable, as_expr, constant, walk
from spaces.model.func import DefinitionError, Func, RVar, ScalarVariable, require_one_domain
from spaces.model.types import Type


def _reduce(kind: str, value: ExprLike, identity: Expr, name: str | None) -> Expr:
    """A new Func over the free Vars of ``value``, updated over its RDom."""
    body = as_expr(value)
    nodes = list(walk(body))
    if not any(isinstance(n, RVar) for n in nodes):
        raise DefinitionError(f"`{kind}({body})` mentions no RDom to reduce over.")
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
    current = func[args].as_expr()
    func[args] = {
        "sum": lambda: current + body,
        "maximum": lambda: fn.max(current, body),
        "minimum": lambda: fn.min(current, body),
    }[kind]()
    return func[args].as_expr()


def sum(value: ExprLike, name: str | None = None) -> Expr:
    """The sum of ``value`` over the RDom it mentions, in the type of ``value`` (it may wrap)."""
    return _reduce("sum", value, constant(0, as_expr(value).type), name)


def maximum(value: ExprLike, name: str | None = None) -> Expr:
    """The largest ``value`` over the RDom it mentions."""
    return _reduce("maximum", value, lowest(as_expr(value).type), name)


def minimum(value: ExprLike, name: str | None = None) -> Expr:
    """The smallest ``value`` over the RDom it mentions."""
    return _reduce("minimum", value, highest(as_expr(value).type), name)


def lowest(type: Type) -> Expr:
    """The smallest value of an element type (minus infinity for floats)."""
    return constant(float("-inf") if type.is_float else type.min_value, type)


def highest(type: Type) -> Expr:
    """The largest value of an element type (infinity for floats)."""
    return constant(float("inf") if type.is_float else type.max_value, type)
