"""A pipeline and its schedule as a C++ function against Halide.h ([TOY] "Conversion to Halide").

The function takes the images and scalar parameters and returns a ``Halide::Pipeline``. You can
realize it, compile it ahead of time, or paste the text into a generator's ``generate``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, Self

from attrs import define, field

from spaces.backend.halide.calls import halide_calls, loops_made
from spaces.backend.halide.cpp import CPP_TYPES, Printer
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.names import identifier
from spaces.model.algorithm.foreign import foreign_code
from spaces.model.algorithm.pipeline import Function, Pipeline, ReductionVar, Stage
from spaces.model.algorithm.promises import limits
from spaces.model.directives.declaration import DIRECTIVES, ArgumentKind
from spaces.model.expressions.definitions import RANDOM, expanded
from spaces.model.expressions.expr import Const, Expr, cast
from spaces.model.expressions.types import Int32
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.derivations import Derivation, RFactor
from spaces.model.schedules.derive import derivation, derived
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.writing.calls import Argument, DirectiveCall
from spaces.model.writing.chain import StageCalls
from spaces.model.writing.tokens import quote


def halide_source(pipeline: Pipeline, schedule: Schedule | None = None) -> str:
    """The C++ text; ``schedule`` is the default one if None.

    Raises:
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    return Source.of(pipeline, schedule or Schedule.default(pipeline)).text()


@define
class Source:
    """The parts of the function; all C++ names in it are different."""

    pipeline: Pipeline
    calls: tuple[StageCalls, ...]
    _names: dict[tuple[str, str], str] = field(factory=dict)
    _taken: set[str] = field(factory=set)
    _domains: dict[tuple[tuple[ReductionVar, ...], tuple[Expr, ...]], str] = field(factory=dict)
    _rvars: dict[tuple[str, int], dict[str, str]] = field(factory=dict)
    """For each stage, the C++ text of its RVars."""
    _known: Pipeline = field(init=False)
    """The pipeline with the Funcs that directives have added so far."""
    _inlined: ClassVar[str] = "LoopLevel::inlined()"
    _reserved: ClassVar[frozenset[str]] = frozenset(("pipeline_", "outputs_", "funcs_", "find_"))
    """Names that the text needs itself."""

    def __attrs_post_init__(self) -> None:
        self._known = self.pipeline
        self._taken |= self._reserved
        for image in self.pipeline.images:
            self.name("buffer", image.name)
        for scalar in self.pipeline.scalars:
            self.name("scalar", scalar.name)
        for function in self.pipeline.functions:
            self.name("buffer", function.name)

    @classmethod
    def of(cls, pipeline: Pipeline, schedule: Schedule) -> Self:
        """What writes this schedule.

        Raises:
            DirectiveError: the schedule has no counterpart in Halide.
            ValueError: ``schedule`` is not a schedule of this pipeline.
        """
        for refusal in derivation(pipeline, schedule).refusals:
            raise DirectiveError(f"{refusal.message} {refusal.advice}")
        return cls(pipeline, halide_calls(pipeline, schedule))

    def text(self) -> str:
        functions = self.pipeline.functions
        definitions = [
            line
            for function in functions
            for index, stage in enumerate(function.stages)
            for line in self._definition(function, index, stage)
        ]
        schedule = [line for stage_calls in self.calls for line in self.schedule_lines(stage_calls)]
        outputs = ", ".join(self.name("buffer", name) for name in self.pipeline.outputs)
        declarations = [
            *self.loop_declarations(),
            self._declared("Func", [f.name for f in functions], "buffer"),
        ]
        paragraphs = [
            ["using namespace Halide;"],
            [line for line in declarations if line],
            definitions,
            list(self._constraints()),
            schedule,
            [f"return Pipeline({{{outputs}}});"],
        ]
        body = "\n\n".join("\n".join(map(indented, lines)) for lines in paragraphs if lines)
        return (
            '#include "Halide.h"\n\n#include <limits>\n\n'
            f"Halide::Pipeline {identifier(self.pipeline.name)}({self._parameters()}) {{\n"
            f"{body}\n}}\n"
        )

    def loop_declarations(self, found: Collection[str] = ()) -> list[str]:
        """The declarations of the Vars and RVars that were named so far, but not of the Vars that
        are ``found`` otherwise.
        """
        loops = {
            kind: [n for k, n in self._names if k == kind and not (kind == "Var" and n in found)]
            for kind in ("Var", "RVar")
        }
        return [self._declared(kind, names, kind) for kind, names in loops.items() if names]

    def find_rvars(self, function: Function) -> None:
        """Writes the RVars of a Func that is there already, as the Func tells them."""
        for number, stage in enumerate(function.stages):
            owner = f"{self.name('buffer', function.name)}.rvars({number - 1})"
            found = {r.name: f"{owner}[{i}]" for i, r in enumerate(stage.rvars)}
            self._rvars[function.name, number] = found

    def name(self, kind: str, name: str) -> str:
        """The C++ name of a thing; the first use makes it."""
        if (kind, name) not in self._names:
            self._names[kind, name] = self._fresh(name)
        return self._names[kind, name]

    def _fresh(self, name: str) -> str:
        """A new C++ name like ``name``."""
        plain = identifier(name)
        while plain in self._taken:
            plain += "_"
        self._taken.add(plain)
        return plain

    def _declared(self, cpp_type: str, names: list[str], kind: str) -> str:
        spelled = [self.name(kind, name) for name in names]
        declared = ", ".join(f'{name}("{name}")' for name in spelled)
        return f"{cpp_type} {declared};" if names else ""

    def _parameters(self) -> str:
        images = [f"Halide::ImageParam {self.name('buffer', i.name)}" for i in self.pipeline.images]
        scalars = [
            f"Halide::Param<{CPP_TYPES[str(s.type)]}> {self.name('scalar', s.name)}"
            for s in self.pipeline.scalars
        ]
        return ", ".join([*images, *scalars])

    def _definition(self, function: Function, index: int, stage: Stage) -> Iterator[str]:
        """The RDom, the shared subexpressions, and the definition of one stage."""
        yield from self._reduction(function, index, stage)
        func = self.name("buffer", function.name)
        code = foreign_code(stage.values)
        if code is not None:
            printer = self._printer(function, index)
            inputs = self._list(
                self.name("buffer", one)
                if isinstance(one, str)
                else f"ExternFuncArgument({_as_expr(one, printer)})"
                for one in code.arguments
            )
            types = self._list(f"type_of<{CPP_TYPES[str(type)]}>()" for type in function.types)
            vars = self._list(self.name("Var", name) for name in function.args)
            given = f"{quote(code.symbol)}, {inputs}, {types}, {vars}, NameMangling::C"
            yield f"{func}.define_extern({given});"
            return
        printer = self._printer(function, index)
        places = tuple(cast(Int32, a) for a in stage.args)
        parts = [expanded(v, RANDOM) for v in stage.values]
        printer.share(*parts, *places)
        yield from printer.declarations
        at = ", ".join(printer.index(p) for p in places)
        texts = [printer.text(part) for part in parts]
        if not stage.rvars:  # there is no domain to restrict
            for test in map(printer.text, stage.predicates):
                kinds = [CPP_TYPES[str(t)] for t in function.types]
                texts = [
                    f"select({test}, {text}, undef<{kind}>())"
                    for text, kind in zip(texts, kinds, strict=True)
                ]
        values = ", ".join(texts)
        yield f"{func}({at}) = {values if len(parts) == 1 else f'Tuple({values})'};"

    def _constraints(self) -> Iterator[str]:
        """The known sizes, strides and ranges."""
        for strides in self.pipeline.strides:
            for d, step in enumerate(strides.steps):
                if step is not None:
                    yield f"{self._dimension(strides.buffer, d)}.set_stride({step});"
        printer = Printer(self._scalar_or_size, lambda name: name, lambda: "")
        for limit in limits(self.pipeline.promises):
            value = printer.text(limit.value)
            if ("scalar", limit.name) in self._names:
                name = self._names["scalar", limit.name]
                yield from (f"{name}.set_min_value({value});" for _ in range(limit.is_lower))
                yield from (f"{name}.set_max_value({value});" for _ in range(limit.is_upper))
            elif limit.is_lower and limit.is_upper:  # Halide takes no inequalities of sizes
                buffer, part, dimension = limit.name.rsplit(".", 2)
                yield f"{self._dimension(buffer, int(dimension))}.set_{part}({value});"

    def _dimension(self, buffer: str, number: int) -> str:
        owner = self.name("buffer", buffer)
        if buffer in self.pipeline.outputs:
            owner += ".output_buffers()[0]" if self._is_tuple(buffer) else ".output_buffer()"
        return f"{owner}.dim({number})"

    def _printer(self, function: Function, index: int) -> Printer:
        rvars = self._rvars.get((function.name, index), {})

        def variable(name: str) -> str:
            if name in rvars:
                return rvars[name]
            if name in function.args:
                return self.name("Var", name)
            return self._scalar_or_size(name)

        return Printer(
            variable=variable,
            target=lambda name: self.name("buffer", name),
            fresh=lambda: self._fresh(f"{function.name}_part"),
        )

    def _scalar_or_size(self, name: str) -> str:
        if ("scalar", name) in self._names:
            return self._names["scalar", name]
        buffer, part, dimension = name.rsplit(".", 2)
        return f"{self._dimension(buffer, int(dimension))}.{part}()"

    def _is_tuple(self, func: str) -> bool:
        return len(self.pipeline.function(func).types) > 1

    def _reduction(self, function: Function, index: int, stage: Stage) -> Iterator[str]:
        """Declares the RDom of a stage, unless an earlier stage shares it."""
        points = (stage.rvars, stage.predicates)
        is_new = bool(stage.rvars) and points not in self._domains
        if is_new:
            domain = self._fresh(stage.rvars[0].name.rsplit(".", 1)[0])
            self._domains[points] = domain
            printer = self._printer(function, index)
            ranges = ", ".join(
                f"{{{printer.index(r.min)}, {printer.index(r.extent)}}}" for r in stage.rvars
            )
            yield f'RDom {domain}({{{ranges}}}, "{domain}");'
        self._rvars[function.name, index] = {
            r.name: f"{self._domains[points]}.{r.name.rsplit('.', 1)[1]}" for r in stage.rvars
        }
        if is_new:
            printer = self._printer(function, index)
            for predicate in stage.predicates:
                yield f"{self._domains[points]}.where({printer.text(predicate)});"

    def schedule_lines(self, stage_calls: StageCalls) -> Iterator[str]:
        """The chain of directives of one stage."""
        rvars = self._rvars.get((stage_calls.func, stage_calls.stage), {})
        chain = []
        for call in stage_calls.calls:
            for new in loops_made(call, rvars):
                rvars.setdefault(new, self.name("RVar", new))
            chain.append(f".{self._directive(call)}({self._arguments(call, rvars)})")
        stage = f".update({stage_calls.stage - 1})" if stage_calls.stage else ""
        added = ""
        if stage_calls.adds is not None:
            added = self.name("buffer", stage_calls.adds.name)
            self._add(stage_calls.adds)
        yield from self._statement(added, f"{self.name('buffer', stage_calls.func)}{stage}", chain)

    def _statement(self, added: str, owner: str, chain: list[str]) -> Iterator[str]:
        """The lines of a chain of directives; it may give a new Func, which is called ``added``."""
        yield f"Func {added} = {owner}" if added else owner
        yield from (f"    {call}" for call in chain[:-1])
        yield f"    {chain[-1]};"

    def _directive(self, call: DirectiveCall) -> str:
        """The name of the method."""
        return DIRECTIVES[call.name].spelled

    def _add(self, step: Derivation) -> None:
        """Notes the RVars of a Func that a directive adds, and of the stage that it reduces."""
        self._known = derived(self._known, Schedule((), (*self._known.derivations, step)))
        if self.pipeline.is_image.get(step.func):
            for d in range(self.pipeline.image(step.func).dimensions):
                self._names["Var", f"_{d}"] = f"_{d}"  # Halide's names
        reduced = [(step.func, step.update + 1)] if isinstance(step, RFactor) else []
        stages = range(len(self._known.function(step.name).stages))
        for func, stage in (*((step.name, index) for index in stages), *reduced):
            owner = f"{self.name('buffer', func)}.rvars({stage - 1})"
            rvars = self._known.function(func).stages[stage].rvars
            self._rvars[func, stage] = {r.name: f"{owner}[{i}]" for i, r in enumerate(rvars)}

    def _arguments(self, call: DirectiveCall, rvars: dict[str, str]) -> str:
        declared = DIRECTIVES[call.name]
        if declared.takes_level:
            return self._level(str(call.args[0]), str(call.args[1]))
        if call.name == "rfactor":
            names = [self._loop(str(a), rvars) for a in call.args]
            pairs = zip(names[::2], names[1::2], strict=True)
            return self._list(self._pair(loop, var) for loop, var in pairs)
        if declared.adds_func:
            names = [self.name("buffer", str(consumer)) for consumer in call.args]
            return self._list(names) if len(names) > 1 else ", ".join(names)
        kinds = [declared.kinds(place)[0] for place in range(len(call.args))]
        return ", ".join(
            self._argument(value, kind, rvars) for value, kind in zip(call.args, kinds, strict=True)
        )

    def _list(self, items: Iterable[str]) -> str:
        return f"{{{', '.join(items)}}}"

    def _pair(self, first: str, second: str) -> str:
        return f"{{{first}, {second}}}"

    def _choice(self, value: Choice) -> str:
        return value.qualified

    def _number(self, value: int) -> str:
        return str(value).lower()  # also a truth value

    def _level(self, func: str, loop: str) -> str:
        if not func and not loop:
            return self._inlined
        stages = [rvars for (name, _), rvars in self._rvars.items() if name == func]
        found = next((rvars[loop] for rvars in stages if loop in rvars), None)
        return f"{self.name('buffer', func)}, {found or self.name('Var', loop)}"

    def _argument(self, value: Argument, kind: object, rvars: dict[str, str]) -> str:
        if kind is ArgumentKind.TEXT:
            return quote(str(value))
        if kind is ArgumentKind.SOURCE:
            return self.name("buffer", str(value))
        if isinstance(value, StageOf):
            stage = f".update({value.stage - 1})" if value.stage else ""
            return f"{self.name('buffer', value.func)}{stage}"
        if isinstance(value, Choice):
            return self._choice(value)
        if isinstance(value, int):
            return self._number(value)
        if isinstance(value, tuple):
            return self._list(self._pair(self._loop(n, rvars), self._choice(a)) for n, a in value)
        if isinstance(value, Expr):
            return self._condition(value)
        return self._loop(str(value), rvars)

    def _loop(self, name: str, rvars: dict[str, str]) -> str:
        return rvars[name] if name in rvars else self.name("Var", name)

    def _condition(self, condition: Expr) -> str:
        printer = Printer(
            variable=self._scalar_or_size,
            target=lambda name: self.name("buffer", name),
            fresh=lambda: self._fresh("part"),
        )
        return printer.text(condition)


def _as_expr(node: Expr, printer: Printer) -> str:
    text = printer.text(node)
    return text if isinstance(node, Const) else f"Expr({text})"


def indented(line: str) -> str:
    """An indented statement; a long one continues on further lines. Its strings hold no space."""
    return "\n".join(
        textwrap.wrap(
            line,
            width=100,
            initial_indent="    ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
