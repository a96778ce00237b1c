"""RDom: the domain of an update, and its RVars."""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import ScalarVariable
from spaces.model.algorithm.pipeline import ReductionVar
from spaces.model.algorithm.reference import Reference
from spaces.model.algorithm.var import check_name
from spaces.model.amounts import amount
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Arithmetic, Expr, ExprLike, Variable, as_expr, cast, walk
from spaces.model.expressions.types import Int32


@frozen(eq=False, slots=True, repr=False)
class RVar(Variable):
    """One dimension of an :class:`RDom`."""

    domain: RDom = field()


class RDom(Arithmetic):
    """A reduction domain: one (min, extent) for each dimension, innermost first.

    ``r.x``, ``r.y``, ``r.z`` and ``r.w`` are its variables. In an expression, a domain of one
    dimension stands for its variable. :meth:`where` leaves out points.
    """

    def __init__(self, ranges: list[tuple[ExprLike, ExprLike]], name: str = "r") -> None:
        try:
            ranges = [(low, extent) for low, extent in ranges]
        except (TypeError, ValueError):
            raise DefinitionError(
                f"RDom {name} takes a list with the (min, extent) of each dimension, as in "
                "RDom([(0, 10)], 'r')."
            ) from None
        if not 1 <= len(ranges) <= 4:
            raise DefinitionError(
                f"RDom {name} has {amount(len(ranges), 'dimension')}; give it 1 to 4."
            )
        self.name = check_name("RDom", name)
        for axis, (low, extent) in zip("xyzw", ranges, strict=False):
            _check_domain(f"{name}.{axis}", _whole(name, axis, low), _whole(name, axis, extent))
        self.vars = tuple(
            ReductionVar(f"{name}.{axis}", cast(Int32, low), cast(Int32, extent))
            for axis, (low, extent) in zip("xyzw", ranges, strict=False)
        )
        self.predicates: tuple[Expr, ...] = ()
        self._user = ""

    def __repr__(self) -> str:
        return f"<RDom {self.name}>"

    def where(self, predicate: ExprLike) -> None:
        """Leaves out the points at which ``predicate`` does not hold: updates over the domain do
        nothing there. Further calls leave out further points. A predicate may use the RVars of the
        domain, the pure Vars of the update, and values of Funcs and images; the update reads them
        when it reaches the point.

        Raises:
            DefinitionError: ``predicate`` is not a condition, or mentions another RDom; or an
                update over this domain already exists.
        """
        condition = as_expr(predicate)
        if not condition.type.is_bool:
            raise DefinitionError(
                f"RDom {self.name}.where() takes a condition, but `{condition}` is "
                f"{condition.type}."
            )
        if self._user:
            raise DefinitionError(
                f"An update of Func {self._user} uses RDom {self.name} before "
                f"where({condition}); call where() first."
            )
        others = {n.domain.name for n in walk(condition) if isinstance(n, RVar)} - {self.name}
        if others:
            raise DefinitionError(
                f"RDom {self.name}.where({condition}) mentions RDom {', '.join(sorted(others))}; a "
                "predicate may use the RVars of its own domain only."
            )
        self.predicates = (*self.predicates, condition)

    def used_by(self, func: str) -> tuple[Expr, ...]:
        """The predicates, for an update of ``func``; after this call :meth:`where` refuses more."""
        self._user = func
        return self.predicates

    def as_expr(self) -> RVar:
        if len(self.vars) != 1:
            raise DefinitionError(
                f"RDom {self.name} has {amount(len(self.vars), 'dimension')}; use one of them, "
                f"as in {self.name}.x."
            )
        return self[0]

    def __getitem__(self, dimension: int) -> RVar:
        return RVar(Int32, self.vars[dimension].name, self)

    def __getattr__(self, axis: str) -> RVar:
        if axis in "xyzw" and len(axis) == 1 and "xyzw".index(axis) < len(self.vars):
            return self["xyzw".index(axis)]
        raise AttributeError(
            f"RDom {self.name} has no {axis!r}; it has {', '.join(v.name for v in self.vars)}."
        )

    def __hash__(self) -> int:
        return id(self)


def domain_of(*exprs: Expr) -> RDom | None:
    """The domain of the first RVar in ``exprs``; None if there is no RVar."""
    return next((n.domain for n in walk(*exprs) if isinstance(n, RVar)), None)


def require_one_domain(who: str, *exprs: Expr) -> None:
    """Checks that a definition or reduction runs over one RDom at most.

    Raises:
        DefinitionError: ``exprs`` mention several RDoms; the message begins with ``who``.
    """
    domains = {id(n.domain): n.domain.name for n in walk(*exprs) if isinstance(n, RVar)}
    if len(domains) > 1:
        raise DefinitionError(
            f"{who} uses {len(domains)} RDoms ({', '.join(sorted(domains.values()))}); "
            "use one RDom with more dimensions."
        )


def _whole(domain: str, axis: str, bound: ExprLike) -> Expr:
    """``bound`` as an integer expression.

    Raises:
        DefinitionError: ``bound`` is not an integer.
    """
    try:
        expr = as_expr(bound)
    except (TypeError, OverflowError) as error:
        raise DefinitionError(f"A bound of RVar {domain}.{axis} is not an int32: {error}") from None
    if expr.type.is_float or expr.type.is_bool:
        raise DefinitionError(
            f"A bound of RVar {domain}.{axis}, `{expr}`, is {expr.type}; bounds are integers."
        )
    return expr


def _check_domain(rvar: str, *bounds: Expr) -> None:
    """Checks that the bounds of an RVar are the same everywhere (Halide's rule): only numbers,
    Params, and the sizes and pixels of images may occur in them.
    """
    for node in walk(*bounds):
        if isinstance(node, Reference) and not isinstance(node.source, ImageParam):
            what = f"call Func {node.source.shown}"
        elif isinstance(node, RVar) or (isinstance(node, Variable) and node.name.isidentifier()):
            if isinstance(node, ScalarVariable):
                continue
            what = f"depend on {'RVar' if isinstance(node, RVar) else 'Var'} {node.name}"
        else:
            continue
        raise DefinitionError(
            f"The bounds of RVar {rvar} {what}, but they must be the same everywhere; use the "
            "largest bounds, and select() inside."
        )
