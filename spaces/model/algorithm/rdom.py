"""RDom: the domain that an update runs over, and its RVars."""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import ScalarVariable
from spaces.model.algorithm.pipeline import ReductionVar
from spaces.model.algorithm.reference import Reference
from spaces.model.algorithm.var import check_name
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Arithmetic, Expr, ExprLike, Variable, as_expr, cast, walk
from spaces.model.expressions.types import Int32


@frozen(eq=False, slots=True, repr=False)
class RVar(Variable):
    """One dimension of an :class:`RDom`."""

    domain: RDom = field()


class RDom(Arithmetic):
    """A reduction domain: one (min, extent) a dimension, innermost first.

    ``r.x``, ``r.y``, ``r.z`` and ``r.w`` are its variables; a one-dimensional domain stands for
    its only variable in expressions. :meth:`where` leaves points out.
    """

    def __init__(self, ranges: list[tuple[ExprLike, ExprLike]], name: str = "r") -> None:
        try:
            ranges = [(low, extent) for low, extent in ranges]
        except (TypeError, ValueError):
            raise DefinitionError(
                f"RDom {name} is given a list with the (min, extent) of each dimension, as in "
                "RDom([(0, 10)], 'r')."
            ) from None
        if not 1 <= len(ranges) <= 4:
            raise DefinitionError(f"RDom {name} has {len(ranges)} dimensions; 1 to 4 are possible.")
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
        """Leave out the points at which ``predicate`` does not hold, and those that earlier ones
        leave out: updates over the domain do nothing there. A predicate may mention the RVars of
        the domain, the pure Vars of the update, and what Funcs and images hold (as of the moment
        when the update comes to the point).

        Raises:
            DefinitionError: it is no condition, it mentions another RDom, or an update over this
                one is defined already.
        """
        condition = as_expr(predicate)
        if not condition.type.is_bool:
            raise DefinitionError(
                f"RDom {self.name}.where() takes a condition, but `{condition}` is "
                f"{condition.type}."
            )
        if self._user:
            raise DefinitionError(
                f"RDom {self.name} was used in an update of Func {self._user} before "
                f"where({condition}); say where() first."
            )
        others = {n.domain.name for n in walk(condition) if isinstance(n, RVar)} - {self.name}
        if others:
            raise DefinitionError(
                f"RDom {self.name}.where({condition}) mentions RDom {', '.join(sorted(others))}; a "
                "predicate is about the points of its own domain."
            )
        self.predicates = (*self.predicates, condition)

    def used_by(self, func: str) -> tuple[Expr, ...]:
        """The predicates, to which none can be added once an update of ``func`` runs over them."""
        self._user = func
        return self.predicates

    def as_expr(self) -> RVar:
        if len(self.vars) != 1:
            raise DefinitionError(
                f"RDom {self.name} has {len(self.vars)} dimensions; name one of them, "
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
    """The domain whose RVars occur; None where there are none."""
    return next((n.domain for n in walk(*exprs) if isinstance(n, RVar)), None)


def require_one_domain(who: str, *exprs: Expr) -> None:
    """One definition or reduction runs over one RDom.

    Raises:
        DefinitionError: ``exprs`` mention several.
    """
    domains = {id(n.domain): n.domain.name for n in walk(*exprs) if isinstance(n, RVar)}
    if len(domains) > 1:
        raise DefinitionError(
            f"{who} uses {len(domains)} RDoms ({', '.join(sorted(domains.values()))}); "
            "one RDom with more dimensions runs over all of them."
        )


def _whole(domain: str, axis: str, bound: ExprLike) -> Expr:
    """A bound, which is an integer.

    Raises:
        DefinitionError: it is none.
    """
    try:
        expr = as_expr(bound)
    except (TypeError, OverflowError) as error:
        raise DefinitionError(f"A bound of RVar {domain}.{axis} is no int32: {error}") from None
    if expr.type.is_float or expr.type.is_bool:
        raise DefinitionError(
            f"A bound of RVar {domain}.{axis}, `{expr}`, is {expr.type}; bounds are integers."
        )
    return expr


def _check_domain(rvar: str, *bounds: Expr) -> None:
    """The bounds of an RVar are the same everywhere (Halide's rule): made of numbers, Params, and
    the sizes and pixels of images.
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
