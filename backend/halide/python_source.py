"""A schedule as a Python function for objects of Halide's Python package."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

from attrs import define

from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.incoming.names import NUMBER_ADDED
from spaces.backend.halide.names import identifier
from spaces.backend.halide.schedule_text import ScheduleText
from spaces.backend.halide.source import Source
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable
from spaces.model.expressions.operators import INFIX
from spaces.model.expressions.types import Int32, Type
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.calls import DirectiveCall
from spaces.model.writing.tokens import quote

_WIDTH = 96
"""The longest chain of directives on one line, without its indentation."""

_LISTS = ("never_partition", "always_partition")
"""Directives that take one list of loops in Python."""

_LOGIC = {"and": "&", "or": "|"}
"""Python's own ``and`` and ``or`` make no expressions."""

_LOCALS = ("funcs", "func", "number", "added", "found")
"""Variables of the text that finds Funcs."""

_FIND = """\
funcs = []
while True:
    try:
        funcs.append(pipeline.get_func(len(funcs)))
    except hl.HalideError:  # there are no more
        break

# Halide adds numbers to names that are taken (blur$1), others each time that it builds.
number = re.compile(r"NUMBER_ADDED")

def find(name, place=0):
    found = {}
    for func in funcs:
        if number.sub("", func.name()) == name:
            added = number.search(func.name())
            found[int(next(filter(None, added.groups()))) if added else -1] = func
    if place >= len(found):
        raise KeyError(f"The pipeline has no Func {name}, which the schedule needs.")
    return found[sorted(found)[place]]
""".replace("NUMBER_ADDED", NUMBER_ADDED.pattern)


def halide_python_source(
    pipeline: Pipeline,
    schedule: Schedule,
    names: Mapping[str, str] = MappingProxyType({}),
    leave: Collection[str] = (),
) -> str:
    """A Python module with one function, ``schedule_NAME(pipeline)``, which gives the Funcs of a
    ``halide.Pipeline`` this schedule. It finds them by their names, without the numbers that Halide
    adds; they have no schedule yet. It also takes the images and Params that conditions and
    prefetches of the schedule need.

    Args:
        pipeline: the pipeline, for example one that ``from_halide`` has made.
        schedule: the schedule.
        names: the names in Halide of Funcs that have others there; ``HalideProgram.names``.
        leave: Funcs that have their schedule there already, such as ``HalideProgram.scheduled``.

    Raises:
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    text = ScheduleText.of(_PythonSource, pipeline, schedule, names, leave)
    source = text.source
    scalars = {scalar.name for scalar in pipeline.scalars}
    params = [
        "pipeline",
        *(source.name("scalar" if n in scalars else "buffer", n) for n in text.arguments),
    ]
    found = [
        f"{name} = {f'find({value})' if kind == 'Func' else value}"
        for kind, name, value in text.found()
    ]
    parts = [_FIND, *source.loop_declarations(text.owners), *found, *text.lines]
    body = textwrap.indent("\n".join(parts), "    ")
    head = f"def schedule_{identifier(pipeline.name)}({', '.join(params)}):"
    return f"import re\n\nimport halide as hl\n\n\n{head}\n{body}\n"


@define
class _PythonSource(Source):
    """The parts of a function in Python; all names in it are different."""

    _inlined: ClassVar[str] = "hl.LoopLevel.inlined()"
    _reserved: ClassVar[frozenset[str]] = frozenset(
        (*keyword.kwlist, *keyword.softkwlist, "hl", "re", "pipeline", "find", *_LOCALS)
    )

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
