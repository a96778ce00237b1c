"""Func: a function made of a definition and updates, as in Halide.

Funcs, RDoms, Params and ImageParams are mutable; people write an algorithm down with them.
:func:`spaces.pipeline` (module ``freeze``) turns the algorithm into a
:class:`~spaces.model.algorithm.pipeline.Pipeline`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define

from spaces.model.algorithm.dimensions import BufferDimensions
from spaces.model.algorithm.foreign import (
    Corners,
    ForeignCallable,
    foreign_values,
    same_place,
    scalar_argument,
    symbol_of,
)
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RVar, domain_of, require_one_domain
from spaces.model.algorithm.reference import Reference, coordinates_of, indices_of
from spaces.model.algorithm.undefined import defined, written
from spaces.model.algorithm.var import Var, check_name, is_free_var, is_var
from spaces.model.amounts import amount
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import (
    Arithmetic,
    Expr,
    ExprLike,
    Variable,
    as_expr,
    cast,
    constant,
    walk,
)
from spaces.model.expressions.types import Int32, Type, type_of

_anonymous = itertools.count()


@define(eq=False)
class Definition:
    """One definition as written: left-hand coordinates, a value for each component, and the
    conditions under which it stores them.
    """

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    predicates: tuple[Expr, ...] = ()


def Tuple(*values: ExprLike) -> tuple[Expr, ...]:
    """Several values for a Func at each coordinate.

    ``f[x] = Tuple(a, b)`` means ``f[x] = (a, b)``; ``f[x][1]`` reads the second value.
    """
    return tuple(as_expr(v) for v in values)


class Func:
    """A function from integer coordinates to values, with a pure definition and updates.

    ``f[x, y] = e`` defines the Func. A further assignment, or one with ``+=``, ``-=``, ``*=`` or
    ``/=``, adds an update stage. ``f[x, y] = (a, b)`` gives it two values at each coordinate, and
    ``f[x, y][1]`` reads the second. An update of a Tuple evaluates all values before it stores any.

    Args:
        name: its name in messages and schedules; the default is ``f`` with a number.
        anonymous: adds a number to the name if another Func has that name.

    Raises:
        DefinitionError: ``name`` is not a name. Assignments raise it for a definition without a
            meaning.
    """

    def __init__(self, name: str | None = None, *, anonymous: bool = False) -> None:
        # Freezing the pipeline makes a name with '#' unique.
        unique = check_name("Func", "f" if name is None else name)
        self.name = f"{unique}#{next(_anonymous)}" if name is None or anonymous else unique
        self.definitions: list[Definition] = []
        self.buffer = BufferDimensions(self.name, lambda: len(self.args), self._size)

    def __repr__(self) -> str:
        return f"<Func {self.shown}>"

    def output_buffer(self) -> BufferDimensions:
        """The buffer of the Func as an output; ``dim(d)`` sets the bounds and the stride of a
        dimension.
        """
        return self.buffer

    def _size(self, part: str, dimension: int) -> Expr:
        return Variable(Int32, f"{self.name}.{part}.{dimension}")

    if not TYPE_CHECKING:  # so that a type checker reports unknown attributes

        def __getattr__(self, name: str) -> NoReturn:
            # In Halide a Func carries its schedule, estimates and results.
            own = str(vars(self).get("name", "")).split("#")[0]
            raise AttributeError(
                f"Func {own} has no {name!r}: a Func is only a definition. For directives use "
                "spaces.schedule(p).func(f), where p = spaces.pipeline(f, estimates=...); for "
                "values use spaces.compile_cpu(spaces.verify(p, schedule, device))."
            )

    @property
    def type(self) -> Type:
        """The element type of the pure definition.

        Raises:
            DefinitionError: the Func has no definition, or is a Tuple with several :attr:`types`.
        """
        if len(self.types) > 1:
            raise DefinitionError(
                f"Func {self.shown} is a Tuple of {len(self.types)} values, which have types of "
                f"their own ({', '.join(map(str, self.types))})."
            )
        return self.types[0]

    @property
    def types(self) -> tuple[Type, ...]:
        """The element type of each value of the pure definition."""
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
                f"Func {self.shown} is called before it is defined. Define it first; for a Func "
                "that calls itself, write a pure definition and then an update over an RDom."
            )

    @property
    def shown(self) -> str:
        """The name as messages show it."""
        return self.name.split("#")[0]

    def __getitem__(self, coordinates: Any) -> FuncRef:
        return FuncRef(self, coordinates_of(coordinates))

    def __call__(self, *coordinates: Any) -> FuncRef:
        return self[coordinates]

    def __setitem__(self, coordinates: Any, value: Any) -> None:
        if isinstance(value, _Accumulated) and value.func is self:
            return  # `f[x] += e` has already added its definitions.
        args = coordinates_of(coordinates)
        if self.definitions:
            self._define_update(args, self._matched(_values(value)))
        else:
            self._define_pure(args, tuple(map(as_expr, _values(value))))

    def define_extern(
        self,
        code: str | ForeignCallable,
        inputs: Sequence[Func | ImageParam | ExprLike],
        types: Type | Sequence[Type],
        vars: Sequence[Var],
        *,
        needs: Sequence[Corners | None] = (),
        cycles: float | None = None,
    ) -> None:
        """Lets foreign code compute the Func (Halide's ``define_extern``). One call computes a box
        of values; nothing is inlined into it, and it is never inlined or fused.

        A C function takes the inputs in order: a pointer to a ``halide_buffer_t`` for each array,
        and each scalar as its C type. Then it takes a pointer for each value of the Func. It
        returns 0 if it succeeds. A Python callable takes
        :class:`~spaces.model.algorithm.foreign.ForeignArray` records and numbers in the same order,
        and fills the last ones. The arrays of inputs may hold more than the code needs.

        Args:
            code: the name of a C function, which the process or the program that links the code
                has; or a Python callable. It gives the same values for each box that holds them.
            inputs: the Funcs and images that it reads, each once, and scalars: numbers, Params, and
                expressions of Params and sizes of images.
            types: the element type, or one for each value of a Tuple.
            vars: the Vars, innermost first.
            needs: for each Func and image of ``inputs`` the box that the value at ``vars`` needs. A
                box has the first and the last coordinate of each dimension, as in ``[(x - 1, x +
                1), (y, y)]``. None, or a list that ends before, stands for the element at the same
                place. A box of values needs the smallest box around those of all its elements. Code
                that takes whole groups of elements needs the groups: ``(x / 16 * 16, x / 16 * 16 +
                15)``.
            cycles: what one element costs, in cycles of one core of a CPU; prices of schedules
                count it. Without it they assume a default (``Prices.foreign``).

        Raises:
            DefinitionError: the Func is defined already, or the arguments do not fit.
        """
        if self.definitions:
            raise DefinitionError(f"Func {self.shown} is defined already.")
        arrays = [one for one in inputs if isinstance(one, Func | ImageParam)]
        if len({source.name for source in arrays}) < len(arrays):
            raise DefinitionError(f"Foreign code of Func {self.shown} takes an input twice.")
        if len(needs) > len(arrays):
            raise DefinitionError(
                f"The needs of Func {self.shown} are {len(needs)}, but its foreign code reads "
                f"{len(arrays)} of {len(inputs)} inputs; scalars need nothing."
            )
        boxes = iter([*needs, *[None] * (len(arrays) - len(needs))])
        arguments = [
            self._needed(one, next(boxes), vars)
            if isinstance(one, Func | ImageParam)
            else scalar_argument(one)
            for one in inputs
        ]
        each = (types,) if isinstance(types, Type) else tuple(types)
        values = foreign_values(symbol_of(code), tuple(map(type_of, each)), arguments, cycles)
        self._define_pure(coordinates_of(tuple(vars)), values)

    @staticmethod
    def _needed(
        source: Func | ImageParam, box: Corners | None, vars: Sequence[Var]
    ) -> tuple[Func | ImageParam, Corners]:
        """An input of foreign code, with the corners of the box that one element needs."""
        count = len(source.args) if isinstance(source, Func) else source.dimensions
        corners = same_place(vars, count, source.name) if box is None else box
        if len(corners) != count:
            raise DefinitionError(
                f"Input {source.name} has {amount(count, 'dimension')}, but needs gives the "
                f"corners of {len(corners)}."
            )
        return source, corners

    def _matched(self, values: tuple[ExprLike, ...]) -> tuple[Expr, ...]:
        """The values of an update; literals take the types of the Func's values."""
        if len(values) != len(self.types):
            raise DefinitionError(
                f"Func {self.shown} has {_counted(len(self.types))}, but its update gives "
                f"{len(values)}."
            )
        return tuple(as_expr(v, t) for v, t in zip(values, self.types, strict=True))

    def _define_pure(self, args: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        names = [a.name for a in args if is_free_var(a)]
        if len(names) != len(args) or len(set(names)) != len(names):
            shown = ", ".join(map(str, args))
            raise DefinitionError(
                f"The first definition of Func {self.shown} must be at distinct Vars, "
                f"and {self.shown}[{shown}] is not."
            )
        stored, conditions = defined(self.shown, values)
        nodes = list(walk(*stored, *conditions))
        reduced = next((n for n in nodes if isinstance(n, RVar)), None)
        if reduced is not None:
            raise DefinitionError(
                f"The first definition of Func {self.shown} uses RVar {reduced.name}; "
                "use RVars in an update definition, or inside sum(), maximum() or minimum()."
            )
        _check_free(self.shown, nodes, set(names), "the first definition")
        self.definitions.append(Definition(args, stored, conditions))

    def _define_update(self, args: tuple[Expr, ...], values: tuple[Expr, ...]) -> None:
        self._check_arity(args)
        args = indices_of(self.shown, args)
        for component, (value, type) in enumerate(zip(values, self.types, strict=True)):
            if value.type != type:
                which = "" if len(values) == 1 else f"[{component}]"
                raise DefinitionError(
                    f"An update of Func {self.shown}{which} has type {value.type}, but "
                    f"{self.shown}{which} is {type}; cast the value."
                )
        allowed = {v for a, v in zip(args, self.args, strict=True) if is_var(a, v)}
        require_one_domain(f"An update of Func {self.shown}", *values, *args)
        domain = domain_of(*values, *args)
        stored = written(self.shown, values, FuncRef(self, args))
        if stored is None:
            return  # it leaves everything as it is
        values, conditions = stored
        predicates = (*(() if domain is None else domain.used_by(self.shown)), *conditions)
        exprs = (*values, *args, *predicates)
        places = (
            f" An update uses the Vars of the first definition, {self.shown}"
            f"({', '.join(self.args)}), each in its place; an RDom runs over other coordinates."
        )
        _check_free(self.shown, list(walk(*exprs)), allowed, "an update definition", places)
        self._check_pure_reads(args, exprs)
        self.definitions.append(Definition(args, values, predicates))

    def _check_pure_reads(self, args: tuple[Expr, ...], exprs: tuple[Expr, ...]) -> None:
        """Checks that an update, along each of its Vars, reads its own Func only where it writes.
        Otherwise its values would depend on the computed region of the Func.
        """
        own = [n for n in walk(*exprs) if isinstance(n, Reference) and n.source is self]
        for d, (arg, name) in enumerate(zip(args, self.args, strict=True)):
            other = next((r for r in own if r.args[d] is not arg), None)
            if is_var(arg, name) and other is not None:
                raise DefinitionError(
                    f"An update of Func {self.shown} at Var {name} reads `{other}`, which is not "
                    f"at {name} in dimension {d}; run it over an RDom to read other coordinates."
                )

    def _check_arity(self, args: tuple[Expr, ...]) -> None:
        if len(args) != len(self.args):
            raise DefinitionError(
                f"Func {self.shown} has {amount(len(self.args), 'dimension')} "
                f"({', '.join(self.args)}), but here it has {len(args)} coordinates."
            )


class FuncRef(Arithmetic):
    """A Func at coordinates, to read or to update in place. The reference to a Tuple holds several
    values, ``ref[0]``, ``ref[1]`` and so on.

    The in-place operators define an update stage instead of giving a value; their signatures
    therefore differ from those of the operators that they extend.
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
                f"Func {self.func.shown} is a Tuple of {count} values; read one of them, as in "
                f"{self}[0]."
            )
        return self._value(self.func.type, None)

    def components(self) -> tuple[Expr, ...]:
        return tuple(self) if len(self.func.types) > 1 else ()

    def __getitem__(self, component: int) -> Expr:
        """One value of a Tuple.

        Raises:
            DefinitionError: the Func is not a Tuple, or has no such component.
        """
        types = self.func.types
        if len(types) == 1 or not 0 <= component < len(types):
            raise DefinitionError(
                f"Func {self.func.shown} has {_counted(len(types))}; there is no "
                f"{self}[{component}]."
            )
        return self._value(types[component], component)

    def __iter__(self) -> Iterator[Expr]:
        """Yields all values: one, unless the Func is a Tuple."""
        types = self.func.types
        return iter([self[c] for c in range(len(types))] if len(types) > 1 else [self.as_expr()])

    def _value(self, type: Type, component: int | None) -> Expr:
        self.func._check_arity(self.args)
        indices = indices_of(self.func.name, self.args)
        return Reference(type, self.func.name, indices, component, self.func)

    def __str__(self) -> str:
        return f"{self.func.shown}({', '.join(map(str, self.args))})"

    def __repr__(self) -> str:
        return f"<FuncRef {self}>"

    def __hash__(self) -> int:
        return id(self)

    def _accumulate(self, operation: str, identity: int, value: Any) -> FuncRef:
        given = _values(value)
        if self.func.definitions:
            operands = self.func._matched(given)
        else:
            operands = tuple(as_expr(v) for v in given)
            initial = tuple(
                Var(f"_{d}") if not is_free_var(a) else a for d, a in enumerate(self.args)
            )
            self.func[initial] = tuple(constant(identity, o.type) for o in operands)
        self.func[self.args] = tuple(
            _COMBINED[operation](current, cast(current.type, operand))
            for current, operand in zip(self, operands, strict=True)
        )
        return _Accumulated(self.func, self.args)

    def __iadd__(self, value: ExprLike) -> FuncRef:  # type: ignore[override]
        return self._accumulate("+", 0, value)

    def __isub__(self, value: ExprLike) -> FuncRef:  # type: ignore[override]
        return self._accumulate("-", 0, value)

    def __imul__(self, value: ExprLike) -> FuncRef:  # type: ignore[override]
        return self._accumulate("*", 1, value)

    def __itruediv__(self, value: ExprLike) -> FuncRef:  # type: ignore[override]
        return self._accumulate("/", 1, value)


class _Accumulated(FuncRef):
    """The result of ``f[x] += e``, which Python then assigns to ``f[x]``."""


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def _values(value: Any) -> tuple[ExprLike, ...]:
    """The values of an assignment, one for each component."""
    if isinstance(value, FuncRef):
        return tuple(value)
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise DefinitionError("A Func needs at least one value at each coordinate.")
    return values


def _counted(values: int) -> str:
    return "one value" if values == 1 else f"{values} values"


def _check_free(
    func: str, nodes: list[Expr], allowed: set[str], where: str, advice: str = ""
) -> None:
    """Checks that every coordinate variable of the definition is in ``allowed``."""
    for node in nodes:
        if not is_free_var(node):
            continue
        is_size = ".min." in node.name or ".extent." in node.name
        if not is_size and node.name not in allowed:
            raise DefinitionError(
                f"Var {node.name} in {where} of Func {func} is not one of its coordinates "
                f"({', '.join(sorted(allowed)) or 'none'}).{advice}"
            )
