"""Halide's Funcs as Funcs of this library, with their updates and reduction domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import define, field

from spaces.backend.halide.file import contents as file
from spaces.backend.halide.file.nodes import AssertNode, HalideNode, UIntImmNode
from spaces.backend.halide.incoming.arguments import IncomingArguments
from spaces.backend.halide.incoming.expressions import (
    IncomingExpressions,
    Surroundings,
    element_type,
    message_parts,
    without_hint,
)
from spaces.backend.halide.incoming.foreign import ForeignFacts
from spaces.backend.halide.incoming.names import IncomingNames, plain_names, written
from spaces.backend.halide.incoming.problems import (
    Problems,
    Unsupported,
    refusals_unsupported,
)
from spaces.backend.halide.incoming.roles import Roles
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam, SizeVariable
from spaces.model.algorithm.rdom import RDom, RVar
from spaces.model.algorithm.reference import Reference, indices_of
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Int32

_REPORTED = constant(0, Int32)
"""Stands for an argument that cannot come in; its problem is known already."""


@define
class IncomingDefinitions:
    """The Funcs of a file, by their places there.

    Attributes:
        funcs: the Funcs that authors have defined.
        vars: for each of them the names of its Vars here, by their names in Halide.
    """

    roles: Roles
    names: IncomingNames
    arguments: IncomingArguments
    problems: Problems
    foreign: ForeignFacts
    convert: IncomingExpressions = field(init=False)
    funcs: dict[int, Func] = field(init=False, factory=dict)
    vars: dict[int, Mapping[str, str]] = field(init=False, factory=dict)
    _by_name: dict[str, int] = field(init=False)
    _outputs: dict[str, int] = field(init=False, factory=dict)
    """The places of Funcs, by the names of the arrays that they fill."""

    def __attrs_post_init__(self) -> None:
        self._by_name = {func.name: n for n, func in enumerate(self.roles.contents.funcs)}
        around = Surroundings(self._scalar, self._size, self._image, self._value)
        self.convert = IncomingExpressions(around, self.problems)
        scalars = tuple(param.name for param in self.arguments.scalars.values())
        for place, func in self.roles.authored():
            self.funcs[place] = Func(self.names.funcs[func.name])
            self.vars[place] = plain_names(func.args, taken=scalars)
            self._outputs.update(dict.fromkeys(func.output_buffers_names, place))
        opaque = [p for p in self.funcs if self._file(p).extern_function_name]
        for sentence in self.foreign.strangers(self.funcs[place].name for place in opaque):
            self.problems.add(sentence)
        for place in self._in_order():
            with self.problems.at(f"Func {self.names.funcs[self._file(place).name]}"):
                self._define(place)

    def outputs(self) -> list[Func]:
        """The outputs of the pipeline."""
        contents = self.roles.contents
        found = [self.funcs.get(self._by_name.get(name, -1)) for name in contents.output_names]
        for name, func in zip(contents.output_names, found, strict=True):
            if func is None:
                self.problems.add(f"the output {name} is not one of the Funcs.")
        return [func for func in found if func is not None]

    def requirements(self) -> list[tuple[Expr, str]]:
        """The conditions that every call must meet, each with its message."""
        found = []
        for number, one in enumerate(self.roles.contents.requirements):
            with self.problems.at(f"requirement {number}"):
                if not isinstance(one, AssertNode):
                    raise Unsupported("it is no condition.")
                parts = message_parts(one.message)
                words = (p if isinstance(p, str) else str(self.constant(p)) for p in parts)
                condition = without_hint(self.constant(one.condition))
                found.append((condition, " ".join(words) or f"`{condition}` does not hold."))
        return found

    def constant(self, node: HalideNode | None) -> Expr:
        """An expression over sizes and Params."""
        return self.convert(node, {})

    def _in_order(self) -> list[int]:
        """The Funcs, those that foreign code computes last, each after those that it reads: they
        ask for the types of their inputs.
        """
        found = [place for place in self.funcs if not self._file(place).extern_function_name]
        foreign = [place for place in self.funcs if self._file(place).extern_function_name]
        seen = set(found)
        todo = [(place, False) for place in reversed(foreign)]
        while todo:
            place, has_inputs = todo.pop()
            if has_inputs:
                found.append(place)
            elif place not in seen:
                seen.add(place)
                todo.append((place, True))
                todo += [(one, False) for one in self._foreign_inputs(place) if one in self.funcs]
        return found

    def _foreign_inputs(self, place: int) -> set[int]:
        return {one.func_index for one in self._file(place).extern_arguments} - {place}

    def _file(self, place: int) -> file.FuncTable:
        return self.roles.contents.funcs[place]

    def _define(self, place: int) -> None:
        given, func = self._file(place), self.funcs[place]
        if given.extern_function_name:
            self._define_foreign(place, given, func)
            return
        if given.init_def is None:
            raise Unsupported("it has no definition.")
        if given.debug_file or given.trace_stores or given.trace_loads or given.trace_realizations:
            self.problems.note(f"Func {func.name} is traced or written to a file in Halide only.")
        loops = {old: Variable(Int32, new) for old, new in self.vars[place].items()}
        before = len(self.problems)
        values = self._converted(given.init_def.values, loops)
        if len(self.problems) == before:
            self._store(func, tuple(loops.values()), values)
            if [element_type(type) for type in given.output_types] != list(func.types):
                raise Unsupported("its values have other types than it tells.")
        for number, update in enumerate(given.updates):
            with self.problems.at(f"update {number}"):
                self._update(func, number, update, loops, len(self.problems) == before)

    def _define_foreign(self, place: int, given: file.FuncTable, func: Func) -> None:
        """Defines a Func by foreign code, with what the user says about its needs."""
        symbol = given.extern_function_name
        inputs = []
        for number, one in enumerate(given.extern_arguments):
            with self.problems.at(f"argument {number}"):
                inputs.append(self._foreign_input(one))
        if len(inputs) < len(given.extern_arguments):
            return
        arrays = [one for one in inputs if not isinstance(one, Expr)]
        if arrays and func.name not in self.foreign.needs:
            names = ", ".join(one.name for one in arrays)
            raise Unsupported(
                f"foreign code, {symbol}, defines it (define_extern), and Halide does not tell "
                f"what it needs of {names}: give needs={{{func.name!r}: ...}}, a function of its "
                "Vars that returns the corners for each input."
            )
        vars = [Var(name) for name in self.vars[place].values()]
        needs = self.foreign.needs[func.name](*vars) if arrays else ()
        cycles = self.foreign.cycles.get(func.name)
        with refusals_unsupported():
            types = [element_type(type) for type in given.output_types]
            func.define_extern(symbol, inputs, types, vars, needs=needs, cycles=cycles)

    def _foreign_input(self, given: file.ExternFuncArgumentTable) -> Func | ImageParam | Expr:
        """An argument of foreign code."""
        if given.arg_type == "Expr":
            return self.constant(given.expr)
        image = self.roles.images.get(given.func_index) if given.arg_type == "Func" else None
        image = image or given.image_param_name or given.buffer_name
        if given.arg_type in ("Func", "ImageParam", "Buffer"):
            if image in self.arguments.images:
                return self.arguments.images[image]
            if given.arg_type == "Func" and given.func_index in self.funcs:
                return self.funcs[given.func_index]
        raise Unsupported("foreign code takes it, and it is no Func, image or scalar.")

    def _update(
        self,
        func: Func,
        number: int,
        update: file.DefinitionTable,
        vars: Mapping[str, Expr],
        is_sound: bool,
    ) -> None:
        """Adds an update; only looks for problems unless what came before ``is_sound``."""
        before = len(self.problems)
        domain, rvars = self._domain(update, vars)
        loops = {**vars, **_purified(update, vars), **rvars}
        args = self._converted(update.args, loops, "coordinate")
        values = self._converted(update.values, loops)
        if domain is None and not _is_true(update.predicate):  # as rfactor makes them
            predicate = self.convert.condition(update.predicate, loops)
            values = [Op(v.type, "select", (predicate, v, undef(v.type))) for v in values]
        if not is_sound or len(self.problems) > before:
            return
        if domain is not None and not any(isinstance(n, RVar) for n in walk(*args, *values)):
            raise Unsupported(f"it runs over {domain.name}, but uses none of its variables.")
        self._store(func, args, values)
        if len(func.definitions) != number + 2:
            raise Unsupported("it stores nothing; leave it out.")

    def _store(self, func: Func, args: Sequence[Expr], values: Sequence[Expr]) -> None:
        if not values:
            raise Unsupported("it has no values.")
        with refusals_unsupported():
            func[tuple(args)] = values[0] if len(values) == 1 else tuple(values)

    def _converted(
        self, given: Sequence[HalideNode | None], loops: Mapping[str, Expr], what: str = "value"
    ) -> list[Expr]:
        found = []
        for number, node in enumerate(given):
            with self.problems.at(f"{what} {number}" if len(given) > 1 else what):
                found.append(self.convert(node, loops))
        return found

    def _domain(
        self, update: file.DefinitionTable, vars: Mapping[str, Expr]
    ) -> tuple[RDom | None, dict[str, Expr]]:
        """The reduction domain of an update, and its RVars by their names in Halide."""
        schedule = update.stage_schedule
        given = () if schedule is None else schedule.rvars
        if not given:
            return None, {}
        bounds = [(self.constant(one.min), self.constant(one.extent)) for one in given]
        with refusals_unsupported():
            domain = RDom([*bounds], _domain_name(given[0].var))
        rvars: dict[str, Expr] = {one.var: domain[d] for d, one in enumerate(given)}
        if not _is_true(update.predicate):
            with self.problems.at("where"):
                predicate = self.convert.condition(update.predicate, {**vars, **rvars})
                with refusals_unsupported():
                    domain.where(predicate)
        return domain, rvars

    def _scalar(self, name: str) -> Expr | None:
        param = self.arguments.scalars.get(name)
        if param is None and name in self.arguments.images:
            raise Unsupported(f"{name} is the name of an image and of a Param; rename one.")
        if param is None and name in self.names.arguments:
            return _REPORTED
        return None if param is None else param.as_expr()

    def _size(self, array: str, part: str, dimension: int) -> Expr | None:
        image = self.arguments.images.get(array)
        if image is not None and dimension < image.dimensions:
            return SizeVariable(Int32, f"{image.name}.{part}.{dimension}", image)
        place = self._outputs.get(array)
        if place is None or dimension >= len(self._file(place).args):
            return None
        return Variable(Int32, f"{self.funcs[place].name}.{part}.{dimension}")

    def _image(self, name: str, args: Sequence[Expr]) -> Expr:
        image = self.arguments.images.get(name)
        if image is None and name in self.arguments.scalars:
            raise Unsupported(f"{name} is the name of an image and of a Param; rename one.")
        if image is None and name in self.names.arguments:
            return _REPORTED
        if image is None:
            raise Unsupported(f"it reads the image {name}, which is unknown.")
        return image[tuple(args)]

    def _value(self, name: str, place: int, component: int, args: Sequence[Expr]) -> Expr:
        if place < 0:  # as where a Func that rfactor has made over reads itself
            place = self._by_name.get(name, place)
        if place in self.roles.images:
            return self._image(self.roles.images[place], args)
        func = self.funcs.get(place)
        if func is None:
            if place in self.roles.substitutes:
                raise Unsupported(
                    f"it reads {self._file(place).name}, a wrapper or clone, by name; read the "
                    "Func itself."
                )
            raise Unsupported("it reads a Func that is not in the file.")
        given = self._file(place)
        if len(args) != len(given.args) or not 0 <= component < len(given.output_types):
            raise Unsupported(f"it reads {func.name} with other coordinates or values than it has.")
        type = element_type(given.output_types[component])
        number = component if len(given.output_types) > 1 else None
        return Reference(type, func.name, indices_of(func.name, tuple(args)), number, func)


def _domain_name(rvar: str) -> str:
    """The name of the RDom with an RVar. Splits have made the RVars of factored reductions, whose
    names tell no RDom.
    """
    domain, _, _ = rvar.rpartition("$")
    return written(domain or rvar)


def _purified(update: file.DefinitionTable, vars: Mapping[str, Expr]) -> dict[str, Expr]:
    """The RVars that ``rfactor`` of Halide 18 to 20 has made Vars of the new Func."""
    splits = () if update.stage_schedule is None else update.stage_schedule.splits
    return {
        split.old_var: vars[split.outer]
        for split in splits
        if split.split_type == "PurifyRVar" and split.outer in vars
    }


def _is_true(predicate: HalideNode | None) -> bool:
    return predicate is None or (isinstance(predicate, UIntImmNode) and predicate.value == 1)
