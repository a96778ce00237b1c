"""The definition language: Func, Var, RDom, ImageParam and Param, as in Halide.

These objects are mutable and only serve to write an algorithm down; :func:`spaces.pipeline`
(module ``freeze``) turns what they describe into a :class:`~spaces.model.pipeline.Pipeline`.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field, frozen

from spaces.model.definition_error import DefinitionError
from spaces.model.dimensions import BufferDimensions, Dimension
from spaces.model.expr import (
    Arithmetic,
    Call,
    Expr,
    ExprLike,
    Variable,
    as_expr,
    cast,
    constant,
    walk,
)
from spaces.model.pipeline import ReductionVar
from spaces.model.types import Int32, Type, type_of
from spaces.model.undefined import any_value, written

_anonymous = itertools.count()


def _check_name(kind: str, name: object) -> str:
    """Names go into loop names, size variables (``out.extent.0``) and generated code."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise DefinitionError(
            f"{name!r} cannot name a {kind}; use letters, digits and _, a digit not first."
        )
    return name


def Var(name: str) -> Variable:
    """A coordinate of a Func's domain."""
    return Variable(Int32, _check_name("Var", name))


@frozen(eq=False, slots=True, repr=False)
class RVar(Variable):
    """One dimension of an :class:`RDom`."""

    domain: RDom = field()


@frozen(eq=False, slots=True, repr=False)
class ScalarVariable(Variable):
    """The value of a :class:`Param` inside an expression."""

    source: Param = field()


@frozen(eq=False, slots=True, repr=False)
class SizeVariable(Variable):
    """The first coordinate or the extent of a dimension of an :class:`ImageParam`."""

    source: ImageParam = field()


@frozen(eq=False, slots=True, repr=False)
class Required(Expr):
    """``value``, where ``condition`` holds; else what is computed stops with ``message``."""

    condition: Expr = field()
    value: Expr = field()
    message: str = field()
    varies: bool = field()
    """Whether the condition depends on coordinates or pixels."""

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.condition, self.value

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        condition, value = children
        return Required(self.type, condition, value, self.message, self.varies)


def require(condition: ExprLike, value: ExprLike, *message: object) -> Expr:
    """``value``, where ``condition`` holds; a run that computes it where it does not, stops with
    ``message``, the parts of which are joined by spaces. A call whose sizes and Params do not meet
    a condition on these alone is refused before it begins.

    Values are computed on boxes, which may hold more points than are read.

    Raises:
        DefinitionError: ``condition`` is no condition.
    """
    test, given = as_expr(condition), as_expr(value)
    if not test.type.is_bool:
        raise DefinitionError(f"require needs a condition first, and `{test}` is {test.type}.")
    words = " ".join(map(str, message)) or f"`{test}` does not hold."
    return Required(given.type, test, given, words, varying(test) is not None)


def varying(condition: Expr) -> Expr | None:
    """The first part of a condition that is not known before a call begins, as the sizes of images
    and outputs and Params are.
    """
    for node in walk(condition):
        is_var = isinstance(node, Variable) and _is_free_var(node) and node.name.isidentifier()
        if is_var or isinstance(node, RVar | Reference):
            return node
    return None


@frozen(eq=False, slots=True, repr=False)
class Reference(Call):
    """A call that still knows the Func or ImageParam object it names."""

    component: int | None = field()
    source: Func | ImageParam = field()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Reference(self.type, self.target, children, self.component, self.source)


class RDom(Arithmetic):
    """A reduction domain: one (min, extent) a dimension, innermost first.

    ``r.x``, ``r.y``, ``r.z`` and ``r.w`` are its variables; a one-dimensional domain stands for
    its only variable in expressions. :meth:`where` leaves points out.
    """

    def __init__(self, ranges: list[tuple[ExprLike, ExprLike]], name: str = "r") -> None:
        if not 1 <= len(ranges) <= 4:
            raise DefinitionError(f"RDom {name} has {len(ranges)} dimensions; 1 to 4 are possible.")
        self.name = _check_name("RDom", name)
        for axis, (low, extent) in zip("xyzw", ranges, strict=False):
            _check_domain(f"{name}.{axis}", as_expr(low), as_expr(extent))
        self.vars = tuple(
            ReductionVar(f"{name}.{axis}", cast(Int32, low), cast(Int32, extent))
            for axis, (low, extent) in zip("xyzw", ranges, strict=False)
        )
        self.predicates: tuple[Expr, ...] = ()
        self._user = ""

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
        raise AttributeError(f"an RDom of {len(self.vars)} dimensions has no {axis!r}")

    def __hash__(self) -> int:
        return id(self)


@define(eq=False)
class Param(Arithmetic):
    """A scalar chosen at each run."""

    type: Type = field(converter=type_of)
    name: str = field()
    default: int | float | None = None
    lowest: int | float | None = None
    highest: int | float | None = None

    @name.validator
    def _is_name(self, _: Any, name: str) -> None:
        _check_name("Param", name)

    def as_expr(self) -> Expr:
        return ScalarVariable(self.type, self.name, self)

    def set_range(self, lowest: int | float, highest: int | float) -> Param:
        """Every call gives a value from ``lowest`` to ``highest``, or is refused; bounds know it.

        Raises:
            DefinitionError: no value, or not the default, lies in the range.
        """
        return self.set_min_value(lowest).set_max_value(highest)

    def set_min_value(self, lowest: int | float) -> Param:
        """Every call gives at least ``lowest``."""
        self.lowest = lowest
        self._check_range()
        return self

    def set_max_value(self, highest: int | float) -> Param:
        """Every call gives at most ``highest``."""
        self.highest = highest
        self._check_range()
        return self

    def _check_range(self) -> None:
        low, high = self.lowest, self.highest
        at_least = self.default if self.default is not None else high
        at_most = self.default if self.default is not None else low
        if (low is not None and at_least is not None and at_least < low) or (
            high is not None and at_most is not None and at_most > high
        ):
            raise DefinitionError(
                f"Param {self.name} is to lie between {low} and {high}"
                f"{'' if self.default is None else f', and its default {self.default} does not'}; "
                "give it a range that holds values."
            )

    def __hash__(self) -> int:
        return id(self)


@define(eq=False)
class ImageParam:
    """An input image of a given element type and number of dimensions."""

    type: Type = field(converter=type_of)
    dimensions: int
    name: str = field()
    buffer: BufferDimensions = field(init=False)

    @name.validator
    def _is_name(self, _: Any, name: str) -> None:
        _check_name("ImageParam", name)

    def __getitem__(self, coordinates: Any) -> Expr:
        """The pixel at integer ``coordinates``, one a dimension, innermost first."""
        args = _coordinates(coordinates)
        if len(args) != self.dimensions:
            raise DefinitionError(
                f"Image {self.name} has {self.dimensions} dimensions but is read "
                f"with {len(args)} coordinates."
            )
        return Reference(self.type, self.name, _indices(self.name, args), None, self)

    def __call__(self, *coordinates: Any) -> Expr:
        return self[coordinates]

    def dim(self, dimension: int) -> Dimension:
        """A dimension, of which bounds and stride may be given.

        Raises:
            DefinitionError: there is no such dimension.
        """
        return self.buffer.dim(dimension)

    @buffer.default
    def _buffer(self) -> BufferDimensions:
        return BufferDimensions(self.name, lambda: self.dimensions, self._size)

    def _size(self, part: str, dimension: int) -> Expr:
        return SizeVariable(Int32, f"{self.name}.{part}.{dimension}", self)

    def min(self, dimension: int) -> Expr:
        """The first coordinate of a dimension."""
        return self._size("min", dimension)

    def extent(self, dimension: int) -> Expr:
        """The number of elements along a dimension."""
        return self._size("extent", dimension)

    def width(self) -> Expr:
        """The extent of dimension 0."""
        return self.extent(0)

    def height(self) -> Expr:
        """The extent of dimension 1."""
        return self.extent(1)

    def channels(self) -> Expr:
        """The extent of dimension 2."""
        return self.extent(2)


@define(eq=False)
class Definition:
    """One definition as written: left-hand coordinates, a value for each component, and where its
    reduction domain has points.
    """

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    predicates: tuple[Expr, ...] = ()


def Tuple(*values: ExprLike) -> tuple[Expr, ...]:
    """The values of a Func that has several at each coordinate.

    ``f[x] = Tuple(a, b)`` is ``f[x] = (a, b)``; ``f[x][1]`` reads the second.
    """
    return tuple(as_expr(v) for v in values)


class Func:
    """A function from integer coordinates to values, given by a pure definition and updates.

    ``f[x, y] = e`` defines it; a further assignment, or ``+=`` and its kin, adds an update stage.
    ``f[x, y] = (a, b)`` gives it two values at each coordinate, and ``f[x, y][1]`` reads one. An
    update of a Tuple evaluates all of its values before it stores any.
    """

    def __init__(self, name: str | None = None, *, anonymous: bool = False) -> None:
        # A name with '#' is ours to make unique when the pipeline is frozen.
        unique = _check_name("Func", "f" if name is None else name)
        self.name = f"{unique}#{next(_anonymous)}" if name is None or anonymous else unique
        self.definitions: list[Definition] = []
        self.buffer = BufferDimensions(self.name, lambda: len(self.args), self._size)

    def output_buffer(self) -> BufferDimensions:
        """The buffer that the Func is written to where it is an output; ``dim(d)`` is a dimension,
        of which bounds and stride may be given.
        """
        return self.buffer

    def _size(self, part: str, dimension: int) -> Expr:
        return Variable(Int32, f"{self.name}.{part}.{dimension}")

    @property
    def type(self) -> Type:
        """The element type, known once there is a pure definition.

        Raises:
            DefinitionError: the Func is a Tuple, which has several :attr:`types`.
        """
        if len(self.types) > 1:
            raise DefinitionError(
                f"Func {self.shown} is a Tuple of {len(self.types)} values, which have types of "
                f"their own ({', '.join(map(str, self.types))})."
            )
        return self.types[0]

    @property
    def types(self) -> tuple[Type, ...]:
        """The element type of each value, known once there is a pure definition."""
        self._require_definition()
        return tuple(value.type for value in self.definitions[0].values)

    @property
    def args(self) -> tuple[str, ...]:
        """Names of the Vars of the pure definition."""
        self._require_definition()
        return tuple(a.name for a in self.definitions[0].args if isinstance(a, Variable))

    def _require_definition(self) -> None:
        if not self.definitions:
            raise DefinitionError(
                f"Func {self.shown} is called before it is defined. Define it first; if it is to "
                "call itself, give it a pure definition and then an update over an RDom."
            )

    @property
    def shown(self) -> str:
        """The name as messages show it."""
        return self.name.split("#")[0]

    def __getitem__(self, coordinates: Any) -> FuncRef:
        return FuncRef(self, _coordinates(coordinates))

    def __call__(self, *coordinates: Any) -> FuncRef:
        return self[coordinates]

    def __setitem__(self, coordinates: Any, value: Any) -> None:
        if isinstance(value, _Accumulated):
            return  # `f[x] += e` has already added its definitions.
        args = _coordinates(coordinates)
        if self.definitions:
            self._define_update(args, self._matched(_values(value)))
        else:
            self._define_pure(args, tuple(any_value(as_expr(v)) for v in _values(value)))

    def _matched(self, values: tuple[ExprLike, ...]) -> tuple[Expr, ...]:
        """The values of an update, literals in the types they meet."""
        if len(values) != len(self.types):
            raise DefinitionError(
                f"Func {self.shown} has {_counted(len(self.types))}, but an update of it gives "
                f"{len(values)}."
            )
        return tuple(as_expr(v, t) for v, t in zip(values, self.types, strict=True))

    def _define_pure(self, args: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        names = [a.name for a in args if isinstance(a, Variable) and _is_free_var(a)]
        if len(names) != len(args) or len(set(names)) != len(names):
            shown = ", ".join(map(str, args))
            raise DefinitionError(
                f"The first definition of Func {self.shown} must be at distinct Vars, "
                f"and {self.shown}[{shown}] is not."
            )
        nodes = list(walk(*values))
        reduced = next((n for n in nodes if isinstance(n, RVar)), None)
        if reduced is not None:
            raise DefinitionError(
                f"The first definition of Func {self.shown} uses RVar {reduced.name}; "
                "reduction variables belong into an update definition, or inside sum(), "
                "maximum() or minimum()."
            )
        _check_free(self.shown, nodes, set(names), "the first definition")
        self.definitions.append(Definition(args, values))

    def _define_update(self, args: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        self._check_arity(args)
        args = _indices(self.shown, args)
        for component, (value, type) in enumerate(zip(values, self.types, strict=True)):
            if value.type != type:
                which = "" if len(values) == 1 else f"[{component}]"
                raise DefinitionError(
                    f"An update of Func {self.shown}{which} has type {value.type}, but "
                    f"{self.shown}{which} is {type}; cast the value."
                )
        allowed = {v for a, v in zip(args, self.args, strict=True) if _is_var(a, v)}
        require_one_domain(f"An update of Func {self.shown}", *values, *args)
        domain = domain_of(*values, *args)
        stored = written(self.shown, values, FuncRef(self, args))
        if stored is None:
            return  # it leaves everything as it is
        values, conditions = stored
        predicates = (*(() if domain is None else domain.used_by(self.shown)), *conditions)
        exprs = (*values, *args, *predicates)
        _check_free(self.shown, list(walk(*exprs)), allowed, "an update definition")
        self._check_pure_reads(args, exprs)
        self.definitions.append(Definition(args, values, predicates))

    def _check_pure_reads(self, args: tuple[Expr, ...], exprs: tuple[Expr, ...]) -> None:
        """Along a Var an update is pure: it reads its own Func only where it writes. Otherwise
        its values would depend on how much of the Func is computed.
        """
        own = [n for n in walk(*exprs) if isinstance(n, Reference) and n.source is self]
        for d, (arg, name) in enumerate(zip(args, self.args, strict=True)):
            other = next((r for r in own if r.args[d] is not arg), None)
            if _is_var(arg, name) and other is not None:
                raise DefinitionError(
                    f"An update of Func {self.shown} at Var {name} reads `{other}`, which is not "
                    f"at {name} in dimension {d}; run it over an RDom to read other coordinates."
                )

    def _check_arity(self, args: tuple[Expr, ...]) -> None:
        if len(args) != len(self.args):
            raise DefinitionError(
                f"Func {self.shown} has {len(self.args)} dimensions "
                f"({', '.join(self.args)}) but is used with {len(args)} coordinates."
            )


class _Accumulated:
    """What ``f[x] += e`` hands to the assignment that Python performs next."""


class FuncRef(Arithmetic):
    """A Func at coordinates, to be read or to be updated in place. That of a Tuple holds several
    values, ``ref[0]``, ``ref[1]`` and so on.

    The in-place operators define an update stage instead of giving a value, which is why they
    break with the signature of the operators they extend.
    """

    def __init__(self, func: Func, args: tuple[Expr, ...]) -> None:
        self.func = func
        self.args = args

    @property
    def type(self) -> Type:
        """The element type of the Func."""
        return self.func.type

    def as_expr(self) -> Expr:
        count = len(self.func.types)
        if count > 1:
            raise DefinitionError(
                f"Func {self.func.shown} is a Tuple of {count} values; name one of them, as in "
                f"{self}[0]."
            )
        return self._value(self.func.type, None)

    def components(self) -> tuple[Expr, ...]:
        return tuple(self) if len(self.func.types) > 1 else ()

    def __getitem__(self, component: int) -> Expr:
        """One value of a Tuple.

        Raises:
            DefinitionError: the Func is no Tuple, or has no such component.
        """
        types = self.func.types
        if len(types) == 1 or not 0 <= component < len(types):
            raise DefinitionError(
                f"Func {self.func.shown} has {_counted(len(types))}; there is no "
                f"{self}[{component}]."
            )
        return self._value(types[component], component)

    def __iter__(self) -> Iterator[Expr]:
        """All values, one if the Func is no Tuple."""
        types = self.func.types
        return iter([self[c] for c in range(len(types))] if len(types) > 1 else [self.as_expr()])

    def _value(self, type: Type, component: int | None) -> Expr:
        self.func._check_arity(self.args)
        indices = _indices(self.func.name, self.args)
        return Reference(type, self.func.name, indices, component, self.func)

    def __str__(self) -> str:
        return f"{self.func.shown}({', '.join(map(str, self.args))})"

    def __repr__(self) -> str:
        return f"<FuncRef {self}>"

    def __hash__(self) -> int:
        return id(self)

    def _accumulate(self, operation: str, identity: int, value: Any) -> _Accumulated:
        given = _values(value)
        if self.func.definitions:
            operands = self.func._matched(given)
        else:
            operands = tuple(as_expr(v) for v in given)
            initial = tuple(
                Var(f"_{d}") if not _is_free_var(a) else a for d, a in enumerate(self.args)
            )
            self.func[initial] = tuple(constant(identity, o.type) for o in operands)
        self.func[self.args] = tuple(
            _COMBINED[operation](current, cast(current.type, operand))
            for current, operand in zip(self, operands, strict=True)
        )
        return _Accumulated()

    def __iadd__(self, value: ExprLike) -> _Accumulated:  # type: ignore[override]
        return self._accumulate("+", 0, value)

    def __isub__(self, value: ExprLike) -> _Accumulated:  # type: ignore[override]
        return self._accumulate("-", 0, value)

    def __imul__(self, value: ExprLike) -> _Accumulated:  # type: ignore[override]
        return self._accumulate("*", 1, value)

    def __itruediv__(self, value: ExprLike) -> _Accumulated:  # type: ignore[override]
        return self._accumulate("/", 1, value)


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _values(value: Any) -> tuple[ExprLike, ...]:
    """What is assigned, a value for each component."""
    if isinstance(value, FuncRef):
        return tuple(value)
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise DefinitionError("A Func needs at least one value at each coordinate.")
    return values


def _counted(values: int) -> str:
    return "one value" if values == 1 else f"{values} values"


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


def _check_domain(rvar: str, *bounds: Expr) -> None:
    """The bounds of an RVar are the same everywhere (Halide's rule): made of numbers, Params, and
    the sizes and pixels of images.
    """
    for node in walk(*bounds):
        if isinstance(node, Reference) and isinstance(node.source, Func):
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


def _coordinates(coordinates: Any) -> tuple[Expr, ...]:
    parts = coordinates if isinstance(coordinates, tuple) else (coordinates,)
    return tuple(as_expr(p) for p in parts)


def _indices(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Coordinates as int32, which any integer type is converted to."""
    for d, arg in enumerate(args):
        if arg.type.is_float:
            raise DefinitionError(
                f"Coordinate {d} of {name}, `{arg}`, is {arg.type}; coordinates are integers."
            )
    return tuple(cast(Int32, a) for a in args)


def _is_free_var(arg: Expr) -> bool:
    return isinstance(arg, Variable) and not isinstance(arg, RVar | ScalarVariable | SizeVariable)


def _is_var(arg: Expr, name: str) -> bool:
    return _is_free_var(arg) and isinstance(arg, Variable) and arg.name == name


def _check_free(func: str, nodes: list[Expr], allowed: set[str], where: str) -> None:
    """Every coordinate variable that the definition uses must be one of ``allowed``."""
    for node in nodes:
        if not isinstance(node, Variable) or not _is_free_var(node):
            continue
        is_size = ".min." in node.name or ".extent." in node.name
        if not is_size and node.name not in allowed:
            raise DefinitionError(
                f"Var {node.name} is used in {where} of Func {func} but is not one of its "
                f"coordinates ({', '.join(sorted(allowed)) or 'none'})."
            )
