"""A schedule as a Python function for objects of Halide's Python package."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

from attrs import define

from spaces.backend.halide.calls import halide_calls
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.names import identifier
from spaces.backend.halide.source import Source
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable
from spaces.model.expressions.operators import INFIX
from spaces.model.expressions.types import Int32, Type
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.calls import DirectiveCall
from spaces.model.writing.tokens import quote

_TAKEN = {*keyword.kwlist, *keyword.softkwlist, "hl", "pipeline", "funcs", "found"}

_WORDS = re.compile(r"\w+")

_WIDTH = 96
"""The longest chain of directives on one line, without its indentation."""

_LISTS = ("never_partition", "always_partition")
"""Directives that take one list of loops in Python."""

_LOGIC = {"and": "&", "or": "|"}
"""Python's own ``and`` and ``or`` make no expressions."""

_FIND = """\
found = {}
while True:
    try:
        func = pipeline.get_func(len(found))
    except hl.HalideError:  # there are no more
        break
    found[func.name()] = func

def find(name):
    if name not in found:
        raise KeyError(f"The pipeline has no Func {name}, which the schedule needs.")
    return found[name]"""


def halide_python_source(
    pipeline: Pipeline,
    schedule: Schedule,
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A Python module with one function, ``schedule_NAME(pipeline)``, which gives the Funcs of a
    ``halide.Pipeline`` this schedule. It finds them by their names; they have no schedule yet. It
    also takes the images and Params that conditions and prefetches of the schedule need.

    Args:
        pipeline: the pipeline, for example one that ``from_halide`` has made.
        schedule: the schedule.
        names: the names in Halide of Funcs that have others there; ``HalideProgram.names``.

    Raises:
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    for refusal in derivation(pipeline, schedule).refusals:
        raise DirectiveError(f"{refusal.message} {refusal.advice}")
    source = _PythonSource(pipeline, halide_calls(pipeline, schedule), taken=set(_TAKEN))
    for function in pipeline.functions:
        source.find_rvars(function)
    lines = [line for stage_calls in source.calls for line in source.schedule_lines(stage_calls)]
    text = "\n".join(lines)
    used = source.names_in(text)
    arguments = [image.name for image in pipeline.images]
    arguments += [scalar.name for scalar in pipeline.scalars]
    funcs = [
        f"{used[one.name]} = find({quote(names.get(one.name, one.name))})"
        for one in pipeline.functions
        if one.name in used
    ]
    parts = [_FIND, *source.loop_declarations(), *funcs, text]
    params = ", ".join(["pipeline", *(used[name] for name in arguments if name in used)])
    body = textwrap.indent("\n".join(parts), "    ")
    name = identifier(pipeline.name)
    return f"import halide as hl\n\n\ndef schedule_{name}({params}):\n{body}\n"


@define
class _PythonSource(Source):
    """The parts of a function in Python; all names in it are different."""

    _inlined: ClassVar[str] = "hl.LoopLevel.inlined()"

    def names_in(self, text: str) -> dict[str, str]:
        """The names of those Funcs, images and Params that occur in a text."""
        words = set(_WORDS.findall(text))
        return {
            name: spelled
            for (kind, name), spelled in self._names.items()
            if kind in ("buffer", "scalar") and spelled in words
        }

    def _statement(self, added: str, owner: str, chain: list[str]) -> Iterator[str]:
        head = f"{added} = {owner}" if added else owner
        if len(head) + sum(map(len, chain)) <= _WIDTH:
            yield head + "".join(chain)
            return
        yield f"{added} = (" if added else "("
        yield f"    {owner}"
        yield from (f"    {call}" for call in chain)
        yield ")"

    def _directive(self, call: DirectiveCall) -> str:
        return call.name

    def _arguments(self, call: DirectiveCall, rvars: dict[str, str]) -> str:
        text = super()._arguments(call, rvars)
        return f"[{text}]" if call.name in _LISTS else text

    def _declared(self, cpp_type: str, names: list[str], kind: str) -> str:
        return "\n".join(f"{self.name(kind, one)} = hl.{cpp_type}({quote(one)})" for one in names)

    def _list(self, items: Iterable[str]) -> str:
        return f"[{', '.join(items)}]"

    def _pair(self, first: str, second: str) -> str:
        return f"({first}, {second})"

    def _choice(self, value: Choice) -> str:
        return f"hl.{value.qualified.replace('::', '.')}"

    def _number(self, value: int) -> str:
        return str(value)

    def _condition(self, condition: Expr) -> str:
        return self._expression(condition)

    def _expression(self, node: Expr) -> str:
        """A formula over sizes and Params in Python, with parentheses around each part."""
        match node:
            case Const(value=value) if node.type.is_bool:
                return f"hl.Expr({bool(value)})"
            case Const(value=value):
                return str(value) if node.type == Int32 else f"hl.cast({_type(node.type)}, {value})"
            case Variable(name=name):
                return self._scalar_or_size(name)
            case Cast(value=value):
                return f"hl.cast({_type(node.type)}, {self._expression(value)})"
            case Op(name=name, args=(left, right)) if name in INFIX:
                symbol = _LOGIC.get(name, INFIX[name].cpp_symbol)
                whole = symbol == "/" and not node.type.is_float
                sides = (self._expression(left), self._expression(right))
                return f"({sides[0]} {'//' if whole else symbol} {sides[1]})"
            case Op(name="not" | "bit_not", args=(value,)):
                return f"(~{self._expression(value)})"
            case Op(name=name, args=args):
                return f"hl.{name}({', '.join(map(self._expression, args))})"
        raise DirectiveError(f"The condition `{node}` reads values; Halide's cases cannot.")


def _type(type: Type) -> str:
    """Halide's type in Python."""
    if type.is_bool:
        return "hl.Bool()"
    code = {"int": "Int", "uint": "UInt", "float": "Float"}[type.code]
    return f"hl.{code}({type.bits})"
