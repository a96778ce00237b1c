"""A pipeline as Python that makes it again, so that what fails can be copied, run and changed."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from typing import Any

from attrs import define, field

from spaces import DefinitionError, Expr, Float32, Int32, Pipeline, Type, to_json
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.definitions import CONVERSIONS, LIKELY_AT, UNDEFINED
from spaces.model.expressions.expr import Call, Cast, Const, Op, Text, Variable

PIPELINE = "pipeline"
"""What the source calls the pipeline."""

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "&", "or": "|", "bit_and": "&", "bit_or": "|", "bit_xor": "^",
    "shift_left": "<<", "shift_right": ">>",
}  # fmt: skip

_SHORT = {"int": "i", "uint": "u", "float": "f"}


class Unwritable(Exception):
    """The definition language has no words for a part of a pipeline."""


_NOT_SAID = (Unwritable, DefinitionError, TypeError, AttributeError, NameError, OverflowError)
"""What happens where it has none, or refuses them."""


def pipeline_source(pipeline: Pipeline) -> str:
    """Python that binds ``pipeline`` to an equal pipeline: definitions where that is possible, else
    its document.
    """
    try:
        text = _source(pipeline)
        if made(text) == pipeline:
            return text
    except _NOT_SAID:
        pass
    document = to_json(pipeline)
    return f"import spaces\n\n{PIPELINE} = spaces.from_json(r'''{document}''', spaces.Pipeline)"


def rewritten(pipeline: Pipeline) -> Pipeline | None:
    """The pipeline as its source makes it, without what nothing depends on; None where the
    definition language has no such pipeline.
    """
    try:
        # Coordinates take their normal form when a pipeline is made, and another when it is made
        # once more.
        return made(_source(made(_source(pipeline))))
    except _NOT_SAID:
        return None


def _source(pipeline: Pipeline) -> str:
    return "\n".join(_Writer().lines(pipeline))


def made(text: str) -> Pipeline:
    """The pipeline that a source makes."""
    names: dict[str, Any] = {}
    exec(text, names)
    found = names[PIPELINE]
    assert isinstance(found, Pipeline)
    return found


@define
class _Writer:
    """Sources, over Python names that are all different."""

    _names: dict[tuple[str, str], str] = field(factory=dict)
    _taken: set[str] = field(factory=lambda: {"spaces", "np", PIPELINE, *keyword.kwlist})

    def lines(self, pipeline: Pipeline) -> Iterator[str]:
        if pipeline.promises or pipeline.strides or pipeline.derivations:
            raise Unwritable
        yield "import spaces"
        yield ""
        for name in dict.fromkeys(name for f in pipeline.functions for name in f.args):
            yield f"{self.name('scalar', name)} = spaces.Var({name!r})"
        for scalar in pipeline.scalars:
            bound = self.name("scalar", scalar.name)
            yield f"{bound} = spaces.Param({str(scalar.type)!r}, {scalar.name!r}, {scalar.default})"
        for image in pipeline.images:
            given = f"{str(image.type)!r}, {image.dimensions}, {image.name!r}"
            yield f"{self.name('source', image.name)} = spaces.ImageParam({given})"
        for function in pipeline.functions:
            yield from self.function(function)
        outputs = ", ".join(self.name("source", output) for output in pipeline.outputs)
        sizes = {e.buffer: list(e.ranges) for e in pipeline.estimates}
        yield f"{PIPELINE} = spaces.pipeline([{outputs}], {pipeline.name!r}, {sizes or None})"

    def name(self, kind: str, name: str) -> str:
        """The Python name of a Var or Param, of a Func or image, or of a domain."""
        if (kind, name) not in self._names:
            chosen = re.sub(r"\W", "_", name)
            chosen = f"_{chosen}" if chosen[:1].isdigit() else chosen
            while chosen in self._taken:
                chosen += "_"
            self._taken.add(chosen)
            self._names[kind, name] = chosen
        return self._names[kind, name]

    def function(self, function: Function) -> Iterator[str]:
        yield f"{self.name('source', function.name)} = spaces.Func({function.name!r})"
        for stage in function.stages:
            yield from self.stage(function, stage)

    def stage(self, function: Function, stage: Stage) -> Iterator[str]:
        predicates = [self.text(p) for p in stage.predicates]
        values = [self.text(v) for v in stage.values]
        if stage.rvars:
            name = stage.rvars[0].name.partition(".")[0]
            domain = self.name("domain", name)
            ranges = ", ".join(f"({self.text(r.min)}, {self.text(r.extent)})" for r in stage.rvars)
            yield f"{domain} = spaces.RDom([{ranges}], {name!r})"
            yield from (f"{domain}.where({predicate})" for predicate in predicates)
        elif predicates:
            test = " & ".join(f"({p})" for p in predicates)
            nothing = [f'spaces.undef("{type}")' for type in function.types]
            values = [
                f"spaces.select({test}, {v}, {u})" for v, u in zip(values, nothing, strict=True)
            ]
        value = values[0] if len(values) == 1 else f"({', '.join(values)})"
        yield f"{self.place(function.name, stage.args)} = {value}"

    def place(self, name: str, args: tuple[Expr, ...]) -> str:
        """A Func or an image at coordinates."""
        return f"{self.name('source', name)}[{', '.join(map(self.text, args)) or '()'}]"

    def text(self, node: Expr) -> str:
        match node:
            case Const():
                return _number(node)
            case Variable(name=name):
                return self.variable(*name.split("."))
            case Text(words=words):
                return repr(words)
            case Cast(value=value):
                return f"spaces.cast({str(node.type)!r}, {self.text(value)})"
            case Call(target=name, args=args, component=component):
                return self.place(name, args) + ("" if component is None else f"[{component}]")
            case Op():
                return self.operation(node)
        raise Unwritable

    def variable(self, name: str, part: str = "", dimension: str = "") -> str:
        """A Var or Param, an RVar of a domain, or a size of an image."""
        if dimension:
            return f"{self.name('source', name)}.{part}({dimension})"
        return f"{self.name('domain', name)}.{part}" if part else self.name("scalar", name)

    def operation(self, node: Op) -> str:
        args = node.args
        match node.name:
            case "not" | "bit_not":
                return f"~({self.text(args[0])})"
            case "mux":
                return f"spaces.mux({self.text(args[0])}, [{', '.join(map(self.text, args[1:]))}])"
            case name if name in CONVERSIONS:
                operands = (repr(str(node.type)), *map(self.text, args))
                return f"spaces.{name}({', '.join(operands)})"
            case name if name == UNDEFINED:
                return f"spaces.undef({str(node.type)!r})"
            case name if name == LIKELY_AT and isinstance(args[0], Call):
                return self.text(Call(node.type, args[0].target, args[1:], args[0].component))
            case name if name in _INFIX:
                left, right = (self.operand(node, a, b) for a, b in (args, args[::-1]))
                return f"{left} {_INFIX[name]} {right}"
            case name:
                return f"spaces.{name}({', '.join(map(self.text, args))})"

    def operand(self, parent: Op, node: Expr, beside: Expr) -> str:
        """One side of an infix operator, where a plain number takes the type of the other side."""
        if isinstance(node, Const) and not isinstance(beside, Const) and not node.type.is_bool:
            is_amount = parent.name in ("shift_left", "shift_right") and node is parent.args[1]
            wanted = Type("uint", beside.type.bits) if is_amount else beside.type
            if node.type == wanted:
                return repr(node.value)
        text = self.text(node)
        if isinstance(node, Const) and isinstance(beside, Const):
            return f"spaces.cast({str(node.type)!r}, {text})"
        return f"({text})" if isinstance(node, Op) and node.name in _INFIX else text


def _number(node: Const) -> str:
    """A number of the type of ``node`` by itself."""
    if node.type.is_bool:
        return f"spaces.cast('bool', {bool(node.value)})"
    if node.type in (Int32, Float32):
        return repr(node.value)
    return f"spaces.{_SHORT[node.type.code]}{node.type.bits}({node.value!r})"
