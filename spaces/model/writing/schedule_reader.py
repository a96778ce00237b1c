"""Reading the text of a schedule: statements applied to directives, mistakes collected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from attrs import define, field

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.conditions import ConditionError, read_condition
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import Factor, Loop, Partition, PrefetchBound, Tail
from spaces.model.schedules.schedule import LoopAlign, Memory, StageOf
from spaces.model.suggestions import suggestion
from spaces.model.writing.calls import KIND_DIRECTIVES, Argument, DirectiveCall
from spaces.model.writing.syntax import Applied, Braces, Chain, Code, Declaration, Item, Whole, Word
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.vocabulary import (
    ALIGNMENTS,
    DERIVING,
    LEVEL_DIRECTIVES,
    MEMORIES,
    PARTITIONS,
    PREFETCHES,
    RESERVED,
    SIGNATURES,
    TAILS,
    UNSUPPORTED,
    VARIADIC,
    Kind,
    plainly,
)

_E = TypeVar("_E", bound=StrEnum)


@define
class Reader:
    """Statements applied one after another, mistakes collected.

    Attributes:
        directives: what the statements so far have made.
        variables: what identifiers declared as loops stand for.
        funcs: what identifiers declared as Funcs stand for.
        named: the Funcs of which something is said.
    """

    pipeline: Pipeline
    directives: Directives
    mistakes: list[Mistake] = field(factory=list)
    variables: dict[str, str] = field(factory=dict)
    funcs: dict[str, str] = field(factory=dict)
    named: set[str] = field(factory=set)

    def read(self, statement: Chain | Declaration) -> None:
        """Apply a statement."""
        if isinstance(statement, Declaration):
            declared = self.funcs if statement.kind == "Func" else self.variables
            declared[statement.name] = self.declared(statement)
            return
        self.follow(statement)

    def follow(self, chain: Chain) -> None:
        """Apply directives one after another."""
        try:
            self.directives = self.directives.func(self.known_func(chain))
        except Mistake as mistake:
            self.mistakes.append(mistake)
            return
        for call in chain.calls:
            try:
                self.directives = self.applied(call)
                if not _adds_func(call):
                    self.named.add(self.directives.selected)
            except Mistake as mistake:
                self.mistakes.append(mistake)

    def declared(self, declaration: Declaration) -> str:
        """What a declared identifier stands for: a text, a dimension of a Func, or a Func that a
        directive adds.
        """
        initial = declaration.initial
        if isinstance(initial, str):
            return initial
        if isinstance(initial, Chain):
            if not any(map(_adds_func, initial.calls)):
                return declaration.name
            self.follow(initial)
            return self.directives.selected
        match initial or ():
            case (str(name), "args", int(index)):
                names: Sequence[str] = self.function_args(name, None)
            case (str(name), "get_schedule", "dims", int(index), "var"):
                names = self.function_args(name, 0)
            case (str(name), "update", int(u), "get_schedule", "dims" | "rvars", int(index), "var"):
                # Loops over RVars come first in either list.
                names = self.function_args(name, u + 1)
            case _:
                return declaration.name
        return names[index] if 0 <= index < len(names) else declaration.name

    @property
    def algorithm(self) -> Pipeline:
        """The pipeline with what directives so far have added."""
        return derived(self.pipeline, self.directives.schedule)

    @property
    def sources(self) -> list[str]:
        """What a Func can be put around."""
        return list(self.algorithm.is_image)

    def function_args(self, name: str, stage: int | None) -> Sequence[str]:
        wanted = self.funcs.get(name, name)
        for function in self.algorithm.functions:
            if function.name == wanted and stage is None:
                return function.args
            if function.name == wanted and stage is not None and stage < len(function.stages):
                return function.stages[stage].dimensions
        return ()

    def func_name(self, word: Word) -> str:
        return word.text if word.quoted else self.funcs.get(word.text, word.text)

    def known_func(self, chain: Chain) -> str:
        """The Func that a statement schedules, or the image that it puts a Func around."""
        head = chain.head
        name = self.func_name(head)
        names = [f.name for f in self.directives.schedule.funcs]
        is_wrapped = bool(chain.calls) and chain.calls[0].name.text in ("in", "in_")
        if name in names or (is_wrapped and name in self.sources):
            return name
        if any(name == image.name for image in self.pipeline.images):
            message = (
                f"{name} is an input image; only Funcs have schedules: {', '.join(names)}. Copies "
                f"of what is read of it do, as in {name}.in().compute_root()."
            )
        else:
            message = (
                f"Pipeline {self.pipeline.name} has no Func {name!r}"
                f"{suggestion(name, names)}; it has {', '.join(names)}."
            )
        raise Mistake(message, head.start, head.end)

    def applied(self, call: Applied) -> Directives:
        """The directives after ``call``."""
        name = call.name.text
        if name == "update":
            return self.update(call)
        if name in UNSUPPORTED:
            raise Mistake(UNSUPPORTED[name], call.name.start, call.name.end)
        if _adds_func(call):
            return self.deriving(call)
        if name in LEVEL_DIRECTIVES:
            args: tuple[Argument, ...] = self.level(call)
        elif name in VARIADIC:
            args = self.variadic(call)
        elif name in SIGNATURES:
            args = self.fixed(call)
        else:
            known = [*SIGNATURES, *VARIADIC, *LEVEL_DIRECTIVES, *DERIVING, "update"]
            raise Mistake(
                f"There is no directive {name!r}{suggestion(name, known)}.",
                call.name.start,
                call.name.end,
            )
        try:
            return DirectiveCall(name, args).on(self.directives)
        except TypeError as error:
            raise Mistake(str(error), call.start, call.end) from None

    def update(self, call: Applied) -> Directives:
        index = call.args[0] if call.args else Whole(0, call.start, call.end)
        if len(call.args) > 1 or not isinstance(index, Whole):
            raise Mistake("update takes one number, as in update(0).", call.start, call.end)
        try:
            return self.directives.update(index.value)
        except IndexError as error:
            raise Mistake(str(error), call.start, call.end) from None

    def deriving(self, call: Applied) -> Directives:
        """A directive that adds a Func."""
        if call.name.text == "rfactor":
            names = tuple(self.loop(item) for item in _flat(call.args))
            try:
                return DirectiveCall("rfactor", names).on(self.directives)
            except TypeError as error:
                raise Mistake(str(error), call.start, call.end) from None
        words = [self.word(item, "a Func") for item in _flat(call.args)]
        name = "in_" if call.name.text == "in" else call.name.text
        if name == "clone_in" and not words:
            message = "clone_in takes the Funcs that read the copy, as in clone_in(g)."
            raise Mistake(message, call.start, call.end)
        return DirectiveCall(name, tuple(map(self.func_name, words))).on(self.directives)

    def level(self, call: Applied) -> tuple[Argument, ...]:
        """A Func and its loop, or a ``LoopLevel``."""
        args = call.args
        if len(args) == 1 and isinstance(args[0], Applied):
            inner = args[0]
            if plainly(inner.name.last) in ("root", "inlined") and not inner.args:
                return ("", "__root" if plainly(inner.name.last) == "root" else "")
            args = inner.args
        if len(args) != 2:
            raise Mistake(
                f"{call.name.text} takes a Func and one of its loops, as in "
                f"{call.name.text}(f, x).",
                call.start,
                call.end,
            )
        func = self.word(args[0], "a Func")
        name = self.func_name(func)
        stages = [s for f in self.algorithm.functions if f.name == name for s in f.stages]
        rvars = tuple(r.name for s in stages if len(s.rvars) == 1 for r in s.rvars)
        return (name, self.loop(args[1], rvars))

    def variadic(self, call: Applied) -> tuple[Argument, ...]:
        """Any number of loops; ``tile`` adds factors and a tail, ``loops`` kinds."""
        kinds = VARIADIC[call.name.text]
        items = [item for item in _flat(call.args) if not _is_device_api(item)]
        if not items and Kind.LOOP_OF_KIND not in kinds:
            raise Mistake(f"{call.name.text} takes at least one loop.", call.start, call.end)
        return tuple(self.argument(item, kinds) for item in items)

    def fixed(self, call: Applied) -> tuple[Argument, ...]:
        """Arguments in fixed places."""
        signature = SIGNATURES[call.name.text]
        if not signature.required <= len(call.args) <= len(signature.kinds):
            given = "argument" if len(call.args) == 1 else "arguments"
            raise Mistake(
                f"{call.name.text} was given {len(call.args)} {given}; it is written "
                f"{signature.usage}.",
                call.start,
                call.end,
            )
        args: list[Argument] = []
        for item, kind in zip(call.args, signature.kinds, strict=False):
            args.append(self.argument(item, (kind,)))
        return tuple(args)

    def argument(self, item: Item, kinds: tuple[Kind, ...]) -> Argument:
        """``item`` read as the first of ``kinds`` that it can be."""
        readers: dict[Kind, Callable[[Item], Argument]] = {
            Kind.LOOP: self.loop,
            Kind.FACTOR: self.factor,
            Kind.WHOLE: self.whole,
            Kind.TRUTH: self.truth,
            Kind.CONDITION: self.condition,
            Kind.TEXT: self.message,
            Kind.SOURCE: self.source,
            Kind.STAGE: self.stage,
            Kind.ALIGN: self.alignment,
            Kind.PREFETCH: lambda i: _named(
                self.word(i, "a prefetch strategy"), PrefetchBound, PREFETCHES
            ),
            Kind.PARTITION: lambda i: _named(self.word(i, "a policy"), Partition, PARTITIONS),
            Kind.TAIL: lambda i: _named(self.word(i, "a tail strategy"), Tail, TAILS),
            Kind.MEMORY: lambda i: _named(self.word(i, "a kind of memory"), Memory, MEMORIES),
            Kind.LOOP_OF_KIND: self.loop_of_kind,
        }
        if Kind.TAIL in kinds and len(kinds) > 1 and not _is_tail(item):
            kinds = tuple(k for k in kinds if k is not Kind.TAIL)
        if isinstance(item, Whole) and Kind.FACTOR in kinds:
            return item.value
        return readers[kinds[0]](item)

    def word(self, item: Item, expected: str) -> Word:
        if isinstance(item, Word):
            return item
        found = f"the number {item.value}" if isinstance(item, Whole) else "something else"
        raise Mistake(f"Expected {expected} here, not {found}.", item.start, item.end)

    def loop(self, item: Item, single_rvars: Sequence[str] | None = None) -> str:
        word = self.word(item, "the name of a loop")
        if word.quoted:
            return word.text
        if word.text in self.variables:
            return self.variables[word.text]
        if single_rvars is None:
            selected = [f for f in self.algorithm.functions if f.name == self.directives.selected]
            rvars = selected[0].stages[self.directives.stage].rvars if selected else ()
            single_rvars = [rvars[0].name] if len(rvars) == 1 else []
        return next((r for r in single_rvars if r == f"{word.text}.x"), word.text)

    def factor(self, item: Item) -> Factor:
        if isinstance(item, Whole):
            return item.value
        return self.word(item, "a factor, a whole number or the name of a parameter,").text

    def whole(self, item: Item) -> int:
        if isinstance(item, Whole):
            return item.value
        raise Mistake("Expected a whole number here.", item.start, item.end)

    def truth(self, item: Item) -> bool:
        if isinstance(item, Word) and plainly(item.text) in ("true", "false"):
            return plainly(item.text) == "true"
        raise Mistake("Expected true or false here.", item.start, item.end)

    def source(self, item: Item) -> str:
        word = self.word(item, "a Func or an image")
        return word.text if word.quoted else self.funcs.get(word.text, word.text)

    def stage(self, item: Item) -> StageOf:
        """``g`` or ``g.update(0)``."""
        if not isinstance(item, Applied):
            return StageOf(self.func_name(self.word(item, "a Func")))
        numbers = item.args or (Whole(0, item.start, item.end),)
        name, dot, update = item.name.text.rpartition(".")
        if not dot or update != "update" or len(numbers) > 1 or not isinstance(numbers[0], Whole):
            raise Mistake("Expected a Func or an update, as in g.update(0).", item.start, item.end)
        func = self.func_name(Word(name, item.name.quoted, item.start, item.end))
        return StageOf(func, numbers[0].value + 1)

    def alignment(self, item: Item) -> LoopAlign | tuple[tuple[str, LoopAlign], ...]:
        """An alignment, or pairs of a loop and one in braces."""
        if not isinstance(item, Braces):
            return _named(self.word(item, "a loop alignment"), LoopAlign, ALIGNMENTS)
        found = []
        for pair in item.items:
            if not isinstance(pair, Braces) or len(pair.items) != 2:
                text = "Expected a loop and its alignment, as in {y, LoopAlignStrategy::AlignEnd}."
                raise Mistake(text, pair.start, pair.end)
            align = _named(self.word(pair.items[1], "a loop alignment"), LoopAlign, ALIGNMENTS)
            found.append((self.loop(pair.items[0]), align))
        return tuple(found)

    def condition(self, item: Item) -> Expr:
        assert isinstance(item, Code)
        try:
            return read_condition(item.text, self.pipeline)
        except ConditionError as error:
            raise Mistake(str(error), item.start, item.end) from None

    def message(self, item: Item) -> str:
        if isinstance(item, Word) and item.quoted:
            return item.text
        raise Mistake("Expected a message in quotes here.", item.start, item.end)

    def loop_of_kind(self, item: Item) -> Loop | str:
        if not isinstance(item, Applied):
            return self.loop(item)
        kinds = {directive: kind for kind, directive in KIND_DIRECTIVES.items()}
        if item.name.text not in kinds or len(item.args) != 1:
            raise Mistake(
                f"Expected a loop or its kind, as in parallel(x); kinds are {', '.join(kinds)}.",
                item.start,
                item.end,
            )
        return Loop(self.loop(item.args[0]), kinds[item.name.text])


def _flat(items: Sequence[Item]) -> list[Item]:
    flat: list[Item] = []
    for item in items:
        flat += _flat(item.items) if isinstance(item, Braces) else [item]
    return flat


def _adds_func(call: Applied) -> bool:
    return call.name.text in ("in", *DERIVING)


def _is_device_api(item: Item) -> bool:
    return isinstance(item, Word) and not item.quoted and "DeviceAPI" in item.text.split(".")


def _is_tail(item: Item) -> bool:
    return isinstance(item, Word) and not item.quoted and item.text.split(".")[0] in RESERVED


def _named(word: Word, enum: type[_E], spellings: dict[_E, str]) -> _E:
    """The member that a word names, however it is qualified, cased and underscored."""
    for member in enum:
        if plainly(word.last) in (plainly(member.value), plainly(spellings[member])):
            return member
    meant = suggestion(word.last, spellings.values())
    raise Mistake(
        f"{word.last} is not one of {', '.join(spellings.values())}{meant}.", word.start, word.end
    )
