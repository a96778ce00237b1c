"""Freezes definitions into a Pipeline."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from spaces.model.algorithm.dimensions import BufferDimensions
from spaces.model.algorithm.estimates import estimate_problems
from spaces.model.algorithm.foreign import different_calls
from spaces.model.algorithm.func import Definition, Func
from spaces.model.algorithm.image_param import ImageParam, SizeVariable
from spaces.model.algorithm.param import Param, ScalarVariable
from spaces.model.algorithm.pipeline import (
    Estimate,
    Function,
    Image,
    Pipeline,
    Promise,
    ReductionVar,
    Scalar,
    Stage,
)
from spaces.model.algorithm.rdom import RVar
from spaces.model.algorithm.reference import Reference
from spaces.model.algorithm.require import Required, require, varying
from spaces.model.algorithm.required import reading, required, requiring
from spaces.model.algorithm.size_constraints import Constraints
from spaces.model.amounts import amount
from spaces.model.articles import shown_kind
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.definitions import RANDOM, arithmetic
from spaces.model.expressions.expr import Call, Expr, Op, Text, Variable, constant, walk
from spaces.model.expressions.numbers import shown_number
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.widths import MOST_BITS, is_too_wide

Estimates = Mapping[Func | ImageParam | str, Sequence[int | tuple[int, int]]]


def pipeline(
    outputs: Func | Sequence[Func],
    name: str | None = None,
    estimates: Estimates | None = None,
    requirements: Sequence[tuple[Expr, str]] = (),
) -> Pipeline:
    """Makes a Pipeline of ``outputs`` and everything that they depend on.

    Args:
        outputs: the Func, or Funcs, to compute.
        name: name of the pipeline; the default is the name of the first output.
        estimates: for each output and image, the extent (or the (min, extent)) of each dimension,
            innermost first. Schedules are chosen for these sizes.
        requirements: conditions on sizes and Params that every call must meet, each with the
            message for a call that does not (Halide's ``add_requirement``).

    Raises:
        DefinitionError: a Func is undefined, or two Funcs, images or parameters share a name. Or an
            estimate names no output or image, contradicts ``set_bounds``, or exceeds int32 or any
            memory. Or conditions on sizes and Params contradict each other, or multiply to numbers
            of more than 1024 bits. Or ``name`` is not a text, or ``estimates`` not a mapping.
    """
    if not isinstance(name, str | None):
        raise DefinitionError(
            "The second argument of pipeline is its name, a text; pass several outputs as a list."
        )
    if not isinstance(estimates, Mapping | None):
        raise DefinitionError(
            "Estimates are a mapping from outputs and images, as in estimates={f: [640, 480]}, "
            f"not {shown_kind(estimates)}."
        )
    wanted = list(outputs) if isinstance(outputs, Sequence) else [outputs]
    _check_outputs(wanted)
    found = _Collected()
    for func in wanted:
        found.visit_func(func)
    conditions = [_requirement(condition, message) for condition, message in requirements]
    found.visit_sizes([*conditions, *(e for f in wanted for e in _given(f.buffer))])
    names = found.unique_names()
    found.check_parameters()
    buffers = {
        **{names[id(f)]: len(f.args) for f in wanted},
        **{i.name: i.dimensions for i in found.images},
    }
    constraints = Constraints.of(
        [("output", names[id(f)], len(f.args), f.buffer) for f in wanted]
        + [("image", i.name, i.dimensions, i.buffer) for i in found.images],
        found.params,
    )
    freezing = _Freezing(names, constraints.values, {})
    functions = tuple(_freeze_func(f, freezing) for f in found.funcs)
    for expr in conditions:
        freezing(expr)
    sizes = dict(_estimate(key, given, names, buffers) for key, given in (estimates or {}).items())
    promises = (*constraints.promises, *(Promise(c, m) for (c, m) in freezing.required))
    symbolic = _Freezing(names, {}, {})
    promised = tuple(Promise(arithmetic(symbolic(p.condition)), p.message) for p in promises)
    _check_widths(promised)
    result = Pipeline(
        name=name or names[id(wanted[0])],
        functions=functions,
        images=tuple(Image(i.name, i.type, i.dimensions) for i in found.images),
        scalars=tuple(Scalar(p.name, p.type, p.default) for p in found.params),
        outputs=tuple(names[id(f)] for f in wanted),
        estimates=tuple(Estimate(buffer, ranges) for buffer, ranges in sizes.items()),
        promises=promised,
        strides=constraints.strides,
    )
    problems = (*estimate_problems(result), *different_calls(functions))
    if problems:
        raise DefinitionError("\n".join(problems))
    return result


def _check_outputs(wanted: Sequence[object]) -> None:
    if not wanted:
        raise DefinitionError("A pipeline needs at least one output Func.")
    for one in wanted:
        if not isinstance(one, Func):
            raise DefinitionError(
                f"The outputs of a pipeline are Funcs, but {one!r} is not a Func."
            )
    if len({id(f) for f in wanted}) < len(wanted):
        raise DefinitionError("A Func is listed twice among the outputs of a pipeline.")


def _requirement(condition: Expr, message: str) -> Expr:
    """A requirement of a whole pipeline.

    Raises:
        DefinitionError: ``condition`` depends on coordinates or pixels.
    """
    found = varying(condition)
    if found is not None:
        raise DefinitionError(
            f"`{condition}` depends on `{found}`; a requirement of a pipeline depends only on "
            "sizes of images and outputs, and on Params. Use require() inside a definition for "
            "other conditions."
        )
    return require(condition, condition, message)


def _check_widths(promises: tuple[Promise, ...]) -> None:
    for promise in promises:
        if is_too_wide(promise.condition):
            names = ", ".join(sorted(promise.condition.names))
            raise DefinitionError(
                f"A condition on {names} ({promise.message}) multiplies to numbers of more than "
                f"{MOST_BITS} bits; write it with fewer factors."
            )


class _Collected:
    """Funcs (producers first), images and parameters that the outputs reach."""

    def __init__(self) -> None:
        self.funcs: list[Func] = []
        self.images: list[ImageParam] = []
        self.params: list[Param] = []
        self._noted: set[int] = set()
        self._state: dict[int, str] = {}

    def visit_func(self, root: Func) -> None:
        """Collects ``root`` and the Funcs below it, depth first. The stack is explicit, so that
        deep pipelines need no deep recursion.
        """
        stack: list[tuple[Func, bool]] = [(root, False)]
        while stack:
            func, ready = stack.pop()
            if ready:
                self._state[id(func)] = "done"
                self.funcs.append(func)
                continue
            if id(func) in self._state:
                if self._state[id(func)] == "open":
                    raise DefinitionError(f"Func {func.shown} depends on itself through a cycle.")
                continue
            if not func.definitions:
                raise DefinitionError(f"Func {func.shown} is used but not defined.")
            self._state[id(func)] = "open"
            stack.append((func, True))
            stack.extend((f, False) for f in reversed(self._callees(func)))

    def _callees(self, func: Func) -> list[Func]:
        callees: dict[int, Func] = {}
        for node in walk(*_roots(func)):
            self._note(node)
            if not isinstance(node, Reference) or not isinstance(node.source, Func):
                continue
            source = node.source
            if source is not func and self._state.get(id(source)) != "done":
                callees[id(source)] = source
        return list(callees.values())

    def _note(self, node: Expr) -> None:
        """Collects the parameter or image that a node stands for."""
        if not isinstance(node, ScalarVariable | Reference | SizeVariable):
            return
        source = node.source
        if isinstance(source, Func) or id(source) in self._noted:
            return
        self._noted.add(id(source))
        if isinstance(source, ImageParam):
            self.images.append(source)
            self.visit_sizes(_given(source.buffer))
        else:
            self.params.append(source)

    def visit_sizes(self, exprs: Iterable[Expr]) -> None:
        """Collects the parameters and images in expressions over sizes and parameters."""
        for node in walk(*exprs):
            self._note(node)

    def unique_names(self) -> dict[int, str]:
        """The final name of each Func; anonymous ones are numbered in order of discovery."""
        taken: dict[str, str] = {}
        for kind, named in (
            ("an image", self.images),
            ("a parameter", self.params),
            ("a Func", [f for f in self.funcs if "#" not in f.name]),
        ):
            for thing in named:
                if thing.name in taken:
                    raise DefinitionError(
                        f"Two different things, {taken[thing.name]} and {kind}, have the name "
                        f"{thing.name!r}; rename one."
                    )
                taken[thing.name] = kind
        names = {id(f): f.name for f in self.funcs if "#" not in f.name}
        for func in self.funcs:
            if "#" in func.name:
                base = func.name.split("#")[0]
                candidates = (base if n == 0 else f"{base}_{n}" for n in range(len(taken) + 1))
                names[id(func)] = next(c for c in candidates if c not in taken)
                taken[names[id(func)]] = "a Func"
        return names

    def check_parameters(self) -> None:
        """Refuses a Param with the name of a Var: a frozen definition tells them apart by name."""
        scalars = {p.name for p in self.params}
        for func in self.funcs:
            for name in func.args:
                if name in scalars:
                    raise DefinitionError(
                        f"{name!r} is both a Param and a Var of Func {func.shown}; rename one."
                    )


def _given(buffer: BufferDimensions) -> tuple[Expr, ...]:
    """The sizes that a definition gives for a buffer."""
    return tuple(e for d in buffer.known.values() for e in d.given.values())


def _roots(func: Func) -> list[Expr]:
    roots: list[Expr] = []
    for definition in func.definitions:
        roots += [*definition.values, *definition.args, *definition.predicates]
        for rvar in _reduction_vars(definition):
            roots += [rvar.min, rvar.extent]
    return roots


def _reduction_vars(definition: Definition) -> tuple[ReductionVar, ...]:
    for node in walk(*definition.values, *definition.args):
        if isinstance(node, RVar):
            return node.domain.vars
    return ()


@frozen
class _Freezing:
    """Turns expressions of the definition language into expressions of a pipeline.

    Attributes:
        names: the final name of each Func.
        known: sizes fixed by the definition, by the name of their variable.
        required: the conditions of ``require`` on sizes and Params, with their messages; the
            freezing of expressions fills it.
    """

    names: Mapping[int, str]
    known: Mapping[str, Expr]
    required: dict[tuple[Expr, str], None]

    def __call__(self, expr: Expr, coordinates: tuple[Expr, ...] = ()) -> Expr:
        """``expr``, frozen; its random numbers depend on ``coordinates``."""
        return rewrite(expr, lambda node: self._node(node, coordinates))

    def _node(self, node: Expr, coordinates: tuple[Expr, ...]) -> Expr:
        if isinstance(node, Op) and node.name in RANDOM:
            return Op(node.type, node.name, (*node.args, *coordinates))
        if isinstance(node, Required):
            if node.varies:
                return requiring(node.condition, node.value, node.message)
            words = " ".join(p.words if isinstance(p, Text) else str(p) for p in node.message)
            self.required[node.condition, words] = None
            return node.value
        if isinstance(node, Reference):
            name = self.names.get(id(node.source), node.target)
            return reading(Call(node.type, name, node.args, node.component))
        if isinstance(node, Variable) and node.name in self.known:
            return self.known[node.name]
        if isinstance(node, RVar | ScalarVariable | SizeVariable):
            return Variable(node.type, node.name)
        return node


def _freeze_func(func: Func, freeze: _Freezing) -> Function:
    def place(expr: Expr, coordinates: tuple[Expr, ...] = ()) -> Expr:
        """Freezes an expression that decides where, not which, values are stored."""
        frozen = freeze(expr, coordinates)
        for one in required(frozen):
            raise DefinitionError(
                f"`{frozen}` requires `{one.condition}`, but it decides where Func {func.shown} "
                "is defined. Use require() in values only: put it around the right side."
            )
        return arithmetic(frozen)

    def stage(definition: Definition) -> Stage:
        coordinates = _coordinates(definition, func.args)
        at = zip(definition.args, func.args, strict=True)
        return Stage(
            args=tuple(place(_as_place(arg, name)) for arg, name in at),
            values=tuple(freeze(value, coordinates) for value in definition.values),
            rvars=tuple(
                ReductionVar(r.name, place(r.min), place(r.extent))
                for r in _reduction_vars(definition)
            ),
            predicates=tuple(place(p, coordinates) for p in definition.predicates),
        )

    stages = tuple(map(stage, func.definitions))
    return Function(freeze.names[id(func)], func.args, func.types, stages)


def _as_place(arg: Expr, name: str) -> Expr:
    """A left-hand coordinate. Only the Func's own Var of that dimension, over which a loop runs, or
    an RVar stays a bare variable. A parameter, a size or another dimension's Var becomes an
    expression (``p + 0``).
    """
    if not isinstance(arg, Variable) or isinstance(arg, RVar):
        return arg
    if arg.name == name and not isinstance(arg, ScalarVariable):
        return arg
    return Op(arg.type, "add", (arg, constant(0, arg.type)))


def _coordinates(definition: Definition, vars: tuple[str, ...]) -> tuple[Expr, ...]:
    """The Vars and RVars that a definition runs over."""
    pure = (
        a
        for a, name in zip(definition.args, vars, strict=True)
        if isinstance(a, Variable) and a.name == name
    )
    reduced = (Variable(Int32, r.name) for r in _reduction_vars(definition))
    return (*pure, *reduced)


def _estimate(
    key: Func | ImageParam | str,
    given: Sequence[int | tuple[int, int]],
    names: Mapping[int, str],
    buffers: Mapping[str, int],
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The name of the buffer ``key``, and its ranges; ``buffers`` maps names to dimensions."""
    name = names.get(id(key), key.name) if isinstance(key, Func | ImageParam) else key
    if name not in buffers:
        raise DefinitionError(
            f"There is an estimate for {name}, but estimates are for outputs and images of the "
            f"pipeline only: {', '.join(buffers)}."
        )
    ranges = estimated_ranges(name, given)
    if len(ranges) != buffers[name]:
        raise DefinitionError(
            f"{name} has {amount(buffers[name], 'dimension')} but its estimate gives {len(ranges)}."
        )
    return name, ranges


def estimated_ranges(
    name: str, given: Sequence[int | tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The (min, extent) of each dimension of an estimate.

    Raises:
        DefinitionError: they are no whole numbers, or no list.
    """
    try:
        pairs = [tuple(e) if isinstance(e, Sequence) else (0, e) for e in given]
        return tuple((operator.index(low), operator.index(extent)) for low, extent in pairs)
    except (TypeError, ValueError):
        raise DefinitionError(
            f"The estimate of {name} is {shown_number(given)}; give a list of its extents, "
            "innermost first: whole numbers, or pairs (min, extent)."
        ) from None
