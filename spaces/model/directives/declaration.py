"""Directives as they are declared: each is one method, whose signature every other place reads.

The parameters of a method with their types and defaults, and the record that it makes, declare a
directive. The reader and the writer of texts, the bridge to Halide, the C++ writer and the page of
the directives derive from them. By hand stays what a directive means: in the loop nest, in the
rules and in the proofs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, get_args

from attrs import define, field, frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.directives.directive_arguments import Alignments, Name
from spaces.model.expressions.expr import ExprLike
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.domain_order import Factor, OrderedLoop, Tail
from spaces.model.schedules.schedule import StageOf

_Method = TypeVar("_Method", bound=Callable[..., Any])


class ArgumentKind(Enum):
    """What an argument of a directive is, besides a :class:`Choice`."""

    LOOP = auto()
    FACTOR = auto()
    WHOLE = auto()
    LOOP_OF_KIND = auto()
    TRUTH = auto()
    CONDITION = auto()
    TEXT = auto()
    FUNC = auto()
    SOURCE = auto()
    STAGE = auto()
    ALIGN = auto()
    PAIR = auto()


Kinds: TypeAlias = tuple[ArgumentKind | type[Choice], ...]
"""What an argument may be; a reader tries them in this order."""

_KINDS: Mapping[Any, Kinds] = {
    Name: (ArgumentKind.LOOP,),
    Factor: (ArgumentKind.FACTOR,),
    Factor | None: (ArgumentKind.FACTOR,),
    int: (ArgumentKind.WHOLE,),
    bool: (ArgumentKind.TRUTH,),
    ExprLike: (ArgumentKind.CONDITION,),
    str: (ArgumentKind.TEXT,),
    str | Func: (ArgumentKind.FUNC,),
    str | Func | ImageParam: (ArgumentKind.SOURCE,),
    str | Func | StageOf: (ArgumentKind.STAGE,),
    Alignments: (ArgumentKind.ALIGN,),
    Name | Factor | Tail: (Tail, ArgumentKind.LOOP, ArgumentKind.FACTOR),
    Name | OrderedLoop: (ArgumentKind.LOOP_OF_KIND,),
    str | Func | Sequence[str | Func]: (ArgumentKind.FUNC,),
    Name | Sequence[tuple[Name, Name]]: (ArgumentKind.PAIR,),
    **{choice | str: (choice,) for choice in Choice.__subclasses__()},
}
"""What the type of a parameter says of its argument."""

_SHOWN = {
    ArgumentKind.FUNC: "f",
    ArgumentKind.SOURCE: "f",
    ArgumentKind.STAGE: "f.update(0)",
    ArgumentKind.TEXT: '"message"',
}
"""Arguments that a usage line shows by an example instead of the name of the parameter."""


@frozen
class Parameter:
    """One parameter of a directive.

    Attributes:
        name: that of the parameter of the method.
        kinds: what its argument may be.
        is_required: whether it has no default.
        default: of the method.
        shown: how usage lines show it.
        part: the attribute of the record that holds the argument.
        is_always_written: whether the writer writes the default, too.
    """

    name: str
    kinds: Kinds
    is_required: bool
    default: object
    shown: str
    part: str
    is_always_written: bool

    def is_left_out(self, value: object) -> bool:
        """Whether the writer may leave this argument out after which no other is written."""
        return not self.is_required and not self.is_always_written and value == self.default


@define
class Directive:
    """A directive.

    Attributes:
        name: of the method.
        parameters: in fixed places, those with defaults last; none where ``each`` is given.
        each: what each of any number of arguments may be.
        record: the type of the records that it makes, if there is one.
        setting: what of :data:`~spaces.model.schedules.schedule.SETTINGS` it sets, if any.
        help: what it does, in a line.
    """

    name: str
    parameters: tuple[Parameter, ...]
    each: Kinds
    record: type | None
    setting: str
    help: str

    @property
    def spelled(self) -> str:
        """Its name in C++ and in texts."""
        return self.name.removesuffix("_")

    @property
    def adds_func(self) -> bool:
        """Whether it adds a Func to the pipeline."""
        return self.record in get_args(Derivation)

    @property
    def takes_level(self) -> bool:
        """Whether its arguments are a loop level: a Func and one of its loops."""
        return [p.kinds for p in self.parameters] == [(ArgumentKind.FUNC,), (ArgumentKind.LOOP,)]

    @property
    def required(self) -> int:
        """How many arguments must be given."""
        return sum(p.is_required for p in self.parameters)

    @property
    def usage(self) -> str:
        """How it is written: ``split(old, outer, inner, factor[, tail])``."""
        names = [p.shown for p in self.parameters]
        given, optional = names[: self.required], names[self.required :]
        rest = "".join(f"[, {name}" for name in optional) + "]" * len(optional)
        return f"{self.spelled}({', '.join(given)}{rest})"

    def kinds(self, place: int) -> Kinds:
        """What the argument in a place may be."""
        return self.each or self.parameters[place].kinds

    def arguments(self, record: object) -> tuple[Any, ...] | None:
        """The arguments that make ``record``, as few as do; None if it lacks one."""
        values = [getattr(record, p.part) for p in self.parameters]
        if any(value is None for value in values):
            return None
        while values and self.parameters[len(values) - 1].is_left_out(values[-1]):
            values.pop()
        return tuple(values)


_DIRECTIVES: dict[str, Directive] = {}

DIRECTIVES: Mapping[str, Directive] = MappingProxyType(_DIRECTIVES)
"""All directives by the names of their methods."""


def directive_named(name: str) -> Directive | None:
    """The directive with a name as texts write it, ``async`` or ``async_``; None without one."""
    return _DIRECTIVES.get(name) or _DIRECTIVES.get(f"{name}_")


@frozen
class directive:  # a decorator
    """Declares a method as a directive.

    Attributes:
        record: the type of the records that it makes. The parameters name the parts of a record.
        setting: what of ``SETTINGS`` it sets: to its argument, or to true if it has none.
        parts: for parameters of other names, the parts that they name.
        shown: for parameters of other names, how usage lines show them.
        written: parameters that the writer of texts writes although they have their defaults.
    """

    record: type | None = None
    setting: str = field(default="", kw_only=True)
    parts: Mapping[str, str] = field(factory=dict, kw_only=True)
    shown: Mapping[str, str] = field(factory=dict, kw_only=True)
    written: tuple[str, ...] = field(default=(), kw_only=True)

    def __call__(self, method: _Method) -> _Method:
        """``method`` as it is, declared."""
        _, *given = inspect.signature(method, eval_str=True).parameters.values()
        is_each = any(p.kind is p.VAR_POSITIONAL for p in given)
        _DIRECTIVES[method.__name__] = Directive(
            method.__name__,
            () if is_each else tuple(map(self._parameter, given)),
            _KINDS[given[0].annotation] if is_each else (),
            self.record,
            self.setting,
            (inspect.getdoc(method) or "").split("\n\n")[0].replace("\n", " "),
        )
        return method

    def _parameter(self, given: inspect.Parameter) -> Parameter:
        name, kinds = given.name, _KINDS[given.annotation]
        kind = kinds[0]
        words = _SHOWN.get(kind, name) if isinstance(kind, ArgumentKind) else name
        return Parameter(
            name,
            kinds,
            given.default is given.empty,
            given.default,
            self.shown.get(name, words),
            self.parts.get(name, name),
            name in self.written,
        )
