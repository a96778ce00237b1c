"""The algorithm as a frozen graph: Funcs with their pure and update stages, images, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from spaces.markup.card import Card
from spaces.markup.shows_card import ShowsCard
from spaces.model.expressions.definitions import FOREIGN
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, component_names, walk
from spaces.model.expressions.types import Int32, Type
from spaces.model.schedules.derivations import Derivation
from spaces.model.showing import shown_card


@frozen
class ReductionVar:
    """One dimension of a reduction domain: ``min <= name < min + extent``."""

    name: str
    min: Expr
    extent: Expr


def _plain_first(predicates: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The operands of all conjunctions in ``predicates``; those without loads come first."""
    parts: list[Expr] = []
    stack = list(reversed(predicates))
    while stack:
        node = stack.pop()
        if isinstance(node, Op) and node.name == "and":
            stack += reversed(node.args)
        else:
            parts.append(node)
    return tuple(sorted(dict.fromkeys(parts), key=lambda part: part.loads))


@frozen(cache_hash=True)
class Stage:
    """One definition of a Func: it stores ``values`` at the coordinates ``args``, one value for
    each component of a Tuple. It evaluates all values before it stores any.

    The ``args`` of the pure stage are the Func's own Vars. An update stage runs over the pure Vars
    that are bare variables in its ``args``, and over ``rvars`` (innermost first, in their order).
    It stores only where all ``predicates`` hold. It evaluates them in order up to the first that
    fails; predicates that read no Func and no image come first.
    """

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    rvars: tuple[ReductionVar, ...] = ()
    predicates: tuple[Expr, ...] = field(default=(), converter=_plain_first)

    @cached_property
    def pure_vars(self) -> tuple[str, ...]:
        """Names of the pure Vars that this stage runs over, innermost first."""
        reduced = {r.name for r in self.rvars}
        return tuple(a.name for a in self.args if isinstance(a, Variable) and a.name not in reduced)

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """The loops of the default domain order, innermost first: RVars, then pure Vars."""
        return (*(r.name for r in self.rvars), *self.pure_vars)

    @cached_property
    def callees(self) -> tuple[str, ...]:
        """Names of the Funcs and images that the stage reads, each once."""
        return tuple(dict.fromkeys(c.target for c in self.calls))

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """Distinct calls to Funcs and images in values, coordinates, reduction bounds and
        predicates.
        """
        return tuple(n for n in walk(*self.expressions) if isinstance(n, Call))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Values, coordinates, reduction bounds and predicates."""
        bounds = (e for r in self.rvars for e in (r.min, r.extent))
        return (*self.values, *self.args, *bounds, *self.predicates)

    def mapped(
        self, change: Callable[[Expr], Expr], place: Callable[[Expr], Expr] | None = None
    ) -> Stage:
        """The stage with ``change`` applied to each of its expressions. If given, ``place`` applies
        instead to the expressions that decide where values are stored: coordinates, the limits of
        RVars, and predicates.
        """
        where = place or change
        return evolve(
            self,
            args=tuple(where(a) for a in self.args),
            values=tuple(change(v) for v in self.values),
            rvars=tuple(ReductionVar(r.name, where(r.min), where(r.extent)) for r in self.rvars),
            predicates=tuple(where(p) for p in self.predicates),
        )


@frozen(cache_hash=True)
class Function:
    """A Func: its Vars (innermost first), the element type of each component (a single one unless
    it is a Tuple), and its stages, the pure one first.
    """

    name: str
    args: tuple[str, ...]
    types: tuple[Type, ...]
    stages: tuple[Stage, ...]

    @property
    def components(self) -> tuple[int | None, ...]:
        """The ``component`` of each value in a :class:`~spaces.model.expressions.expr.Call`: a
        number for each value of a Tuple, None for a single value.
        """
        return tuple(range(len(self.types))) if len(self.types) > 1 else (None,)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the arrays that hold its values: ``f``, or ``f.0``, ``f.1`` for a Tuple."""
        return component_names(self.name, len(self.types))

    @property
    def bytes(self) -> int:
        """The bytes of one element, the sum over all components."""
        return sum(type.bytes for type in self.types)

    @cached_property
    def is_opaque(self) -> bool:
        """Whether foreign code computes it."""
        value = self.stages[0].values[0]
        return isinstance(value, Op) and value.name == FOREIGN

    @property
    def is_pure(self) -> bool:
        """Whether one expression gives its values: there is no update stage, and no foreign code
        computes it.
        """
        return len(self.stages) == 1 and not self.is_opaque

    @cached_property
    def callees(self) -> tuple[str, ...]:
        """Names of the other Funcs and the images that its stages read, each once."""
        names = dict.fromkeys(name for stage in self.stages for name in stage.callees)
        return tuple(n for n in names if n != self.name)


@frozen
class Image:
    """An input buffer of ``dimensions`` dimensions, the innermost first."""

    name: str
    type: Type
    dimensions: int


@frozen
class Scalar:
    """A scalar parameter; a call that gives no value uses ``default``."""

    name: str
    type: Type
    default: int | float | None = None


@frozen
class Estimate:
    """The size of a buffer that schedules are chosen for: (min, extent) of each dimension."""

    buffer: str
    ranges: tuple[tuple[int, int], ...]


@frozen
class Promise:
    """A condition on sizes and parameters; a call that does not meet it fails with ``message``."""

    condition: Expr
    message: str


@frozen
class Strides:
    """The distance between neighbors along each dimension of an image or output, in elements; None
    leaves it to the caller.
    """

    buffer: str
    steps: tuple[int | None, ...]


@frozen(cache_hash=True)
class Pipeline(ShowsCard):
    """A whole algorithm, producers before consumers; :func:`spaces.pipeline` makes it.

    Sizes are the variables ``B.min.D`` and ``B.extent.D`` for dimension D of an output or image B.
    ``derivations`` are the derivations of a schedule that already rewrote this pipeline (module
    ``derive``).
    """

    name: str
    functions: tuple[Function, ...]
    images: tuple[Image, ...]
    scalars: tuple[Scalar, ...]
    outputs: tuple[str, ...]
    estimates: tuple[Estimate, ...] = field(default=())
    derivations: tuple[Derivation, ...] = field(default=())
    promises: tuple[Promise, ...] = field(default=())
    strides: tuple[Strides, ...] = field(default=())

    def __repr__(self) -> str:
        images = ", ".join(image.name for image in self.images) or "no image"
        funcs = f"{len(self.functions)} Func{'s' * (len(self.functions) != 1)}"
        return f"<Pipeline {self.name}: {funcs}, from {images} to {', '.join(self.outputs)}>"

    def _card(self) -> Card:
        return shown_card(self)

    @cached_property
    def _by_name(self) -> dict[str, Function]:
        return {function.name: function for function in reversed(self.functions)}

    def function(self, name: str) -> Function:
        """The Func of that name.

        Raises:
            KeyError: there is no such Func; the message lists the Funcs of the pipeline.
        """
        found = self._by_name.get(name)
        if found is not None:
            return found
        raise KeyError(
            f"Pipeline {self.name} has no Func {name!r}; it has "
            f"{', '.join(f.name for f in self.functions)}."
        )

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The place of each Func among ``functions``."""
        return {function.name: place for place, function in enumerate(self.functions)}

    def image(self, name: str) -> Image:
        """The input image of that name.

        Raises:
            KeyError: there is no such image.
        """
        for image in self.images:
            if image.name == name:
                return image
        raise KeyError(f"Pipeline {self.name} has no image {name!r}.")

    @property
    def is_image(self) -> dict[str, bool]:
        """For each callable name, whether it is an input image."""
        return {**{f.name: False for f in self.functions}, **{i.name: True for i in self.images}}

    @cached_property
    def element_bytes(self) -> dict[str, int]:
        """For each Func and image the bytes of one element, all components together."""
        return {
            **{f.name: f.bytes for f in self.functions},
            **{i.name: i.type.bytes for i in self.images},
        }

    @property
    def output_arrays(self) -> dict[str, Type]:
        """The element type of each output array; a Tuple has one array for each component."""
        functions = map(self.function, self.outputs)
        return {b: t for f in functions for b, t in zip(f.buffers, f.types, strict=True)}

    def may_inline(self, name: str) -> bool:
        """Whether the reads of a Func can be replaced by its definition: one expression gives its
        values, and no foreign code reads its array.
        """
        return self.function(name).is_pure and not any(
            self.function(reader).is_opaque for reader in self.consumers(name)
        )

    def consumers(self, name: str) -> tuple[str, ...]:
        """Names of the Funcs that read ``name``, producers first."""
        return self._consumers.get(name, ())

    @cached_property
    def _consumers(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for function in self.functions:
            for name in function.callees:
                found.setdefault(name, []).append(function.name)
        return {name: tuple(readers) for name, readers in found.items()}

    @cached_property
    def producers(self) -> Mapping[str, frozenset[str]]:
        """The Funcs and images that each Func reads, directly or through others; none for images.
        A Func that reads itself is not among its own.
        """
        found: dict[str, frozenset[str]] = {image.name: frozenset() for image in self.images}
        for function in self.functions:
            callees = frozenset(function.callees)
            found[function.name] = callees.union(*(found[name] for name in callees))
        return found

    def estimate(self, buffer: str) -> tuple[tuple[int, int], ...] | None:
        """The estimated (min, extent) of each dimension of ``buffer``, or None."""
        for estimate in self.estimates:
            if estimate.buffer == buffer:
                return estimate.ranges
        return None

    def steps(self, buffer: str, dimensions: int) -> tuple[int | None, ...]:
        """The strides of an image, or of the array of an output. The default is 1 along the first
        dimension, and None (the caller decides) along the others.
        """
        for strides in self.strides:
            if buffer == strides.buffer or buffer.rpartition(".")[0] == strides.buffer:
                return strides.steps
        return (1, *(None,) * (dimensions - 1))[:dimensions]

    def sizes(self) -> dict[str, int]:
        """The size variables (``out.extent.0`` ...) at the estimates."""
        return dict(self._sizes)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return {
            f"{e.buffer}.{part}.{d}": value
            for e in self.estimates
            for d, (low, extent) in enumerate(e.ranges)
            for part, value in (("min", low), ("extent", extent))
        }

    def scalar_defaults(self) -> dict[str, int | float]:
        """The defaults of scalar parameters, on which the sizes of Funcs may depend."""
        return {one.name: one.default for one in self.scalars if one.default is not None}

    def usual_values(self) -> dict[str, int | float]:
        """The size variables at the estimates, and scalar parameters at their defaults: the call
        for which schedules are judged.
        """
        return {**self.scalar_defaults(), **self.sizes()}

    def promised_sizes(self) -> dict[str, int]:
        """The size variables with a fixed value in every call, as by ``set_bounds``."""
        ends: dict[str, dict[str, set[int]]] = {}
        for promise in self.promises:
            match promise.condition:
                case Op(name="ge" | "le" as side, args=(Variable(name=name), Const(value=value))):
                    ends.setdefault(name, {}).setdefault(side, set()).add(int(value))
        return {
            name: min(sides["ge"])
            for name, sides in ends.items()
            if "." in name and len(sides) == 2 and sides["ge"] == sides["le"]
        }


def size_variable(buffer: str, part: str, dimension: int) -> Variable:
    """The variable for ``part`` ("min" or "extent") of one dimension of an image or output."""
    return Variable(Int32, f"{buffer}.{part}.{dimension}")
