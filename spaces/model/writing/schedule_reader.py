"""Reading the text of a schedule: statements applied to directives, mistakes collected."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, evolve, field

from spaces.model.directives.declaration import (
    DIRECTIVES,
    ArgumentKind,
    Directive,
    directive_named,
)
from spaces.model.directives.directives import Directives
from spaces.model.schedules.conditions import ConditionError
from spaces.model.schedules.schedule import INLINE, FuncSchedule, LoopLevel, Schedule
from spaces.model.suggestions import some_of, suggestion
from spaces.model.text_limits import MOST_MISTAKES, MOST_RECORDS
from spaces.model.writing.argument_reader import ArgumentReader, flat, is_device_api, is_outermost
from spaces.model.writing.calls import Argument, DirectiveCall
from spaces.model.writing.syntax import Applied, Chain, Declaration, Parsed, Whole
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.vocabulary import UNSUPPORTED, WITHOUT_EFFECT, plainly

_OUTERMOST = "Var::outermost()"
"""Stands for the place outside all loops of a Func until all is read."""

_SELECTING = ("dim", "specialize", "update")
"""Directives that select something else for the rest of a chain, besides those that add a Func."""


@define
class Reader(ArgumentReader):
    """Statements applied one after another, mistakes collected.

    Attributes:
        named: the Funcs that the text names.
        unread: the Funcs with a directive that has a mistake.
        full: the Funcs that have the maximum number of records.
    """

    mistakes: list[Mistake] = field(factory=list)
    named: set[str] = field(factory=set)
    unread: set[str] = field(factory=set)
    full: set[str] = field(factory=set)

    def read_all(self, parsed: Parsed) -> Schedule:
        """The schedule that statements make, as far as they can be read."""
        for statement in parsed.statements:
            if len(self.mistakes) <= MOST_MISTAKES:
                self.read(statement)
            elif isinstance(statement, Chain):
                self.unread.add(self.func_name(statement.head))
        self.mistakes += parsed.mistakes
        for word in parsed.unread:
            self.unread.add(self.func_name(word))
        schedule = self.directives.schedule
        schedule = schedule.with_funcs(map(self.resolve_outermost, schedule.funcs))
        known = {entry.name for entry in schedule.funcs}
        if self.mistakes and not (self.unread and self.unread <= known):
            # The reader knows nothing else about the Funcs of these statements.
            self.unread |= known - self.named
        return schedule

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
            self.unread.add(self.func_name(chain.head))
            return
        for call in chain.calls:
            selected = self.directives.selected
            if selected in self.full or len(self.mistakes) > MOST_MISTAKES:
                self.unread.add(selected)
                return
            try:
                self.directives = self.limited(call, self.applied(call))
            except Mistake as mistake:
                self.mistakes.append(mistake)
                self.unread.add(selected)
                if call.name.text in _SELECTING or _adds_func(call):
                    # The rest of the chain is not about the Func that is selected now.
                    return
                continue
            if not _adds_func(call):
                self.named.add(self.directives.selected)
            stage = self.directives.selected, self.directives.stage, ""
            self.places[stage] = chain.head.start, chain.head.end

    def limited(self, call: Applied, made: Directives) -> Directives:
        """``made``, if the selected Func has at most ``MOST_RECORDS`` records in it; otherwise a
        mistake, and the reader skips all further directives of that Func.
        """
        name = made.selected
        if made.schedule.of(name).records <= MOST_RECORDS:
            return made
        self.full.add(name)
        message = (
            f"{name} has more than {MOST_RECORDS} loops, splits, bounds and other records from "
            "here on; leave some out."
        )
        raise Mistake(message, call.name.start, call.name.end)

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

    def function_args(self, name: str, stage: int | None) -> Sequence[str]:
        wanted = self.funcs.get(name, name)
        for function in self.algorithm.functions:
            if function.name == wanted and stage is None:
                return function.args
            if function.name == wanted and stage is not None and stage < len(function.stages):
                return function.stages[stage].dimensions
        return ()

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
                f"{name} is an input image; only Funcs have schedules: {some_of(names)}. A copy "
                f"of the image has one, as in {name}.in().compute_root()."
            )
        else:
            message = (
                f"Pipeline {self.pipeline.name} has no Func {name!r}"
                f"{suggestion(name, names)}; it has {some_of(names)}."
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
        if name in WITHOUT_EFFECT or self.fuses_nothing(call):
            return self.directives
        declared = directive_named(name)
        if declared is None:
            raise Mistake(
                f"There is no directive {name!r}{suggestion(name, [*DIRECTIVES, 'update'])}.",
                call.name.start,
                call.name.end,
            )
        args = self.arguments(call, declared)
        try:
            return DirectiveCall(declared.name, args).on(self.directives)
        except (TypeError, ConditionError) as error:
            raise Mistake(str(error), call.start, call.end) from None

    def arguments(self, call: Applied, declared: Directive) -> tuple[Argument, ...]:
        """The arguments of a directive."""
        if declared.takes_level:
            return self.level(call)
        return self.variadic(call, declared) if declared.each else self.fixed(call, declared)

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
        if call.name.text != "rfactor":
            return self.added(self.directives, call)
        self.check_added(call)
        names = tuple(self.loop(item) for item in flat(call.args))
        try:
            return DirectiveCall("rfactor", names).on(self.directives)
        except TypeError as error:
            raise Mistake(str(error), call.start, call.end) from None

    def fuses_nothing(self, call: Applied) -> bool:
        """Whether loops are fused up to ``Var::outermost()``, which has no loop outside."""
        fuses = call.name.text == "compute_with" and len(call.args) in (2, 3)
        if not fuses or not is_outermost(call.args[1]):
            return False
        self.stage(call.args[0])
        return True

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
        name = self.func(args[0])
        if is_outermost(args[1]):
            place = self.directives.selected, 0, _OUTERMOST
            self.places[place] = args[1].start, args[1].end
            return (name, _OUTERMOST)
        stages = [s for f in self.algorithm.functions if f.name == name for s in f.stages]
        rvars = tuple(r.name for s in stages if len(s.rvars) == 1 for r in s.rvars)
        return (name, self.loop(args[1], rvars))

    def resolve_outermost(self, entry: FuncSchedule) -> FuncSchedule:
        """The entry of a Func with levels in place of ``Var::outermost()``."""
        compute, store, hoist = entry.compute, entry.store, entry.hoist
        # Storage at the compute level: report a mistake in the level once.
        levels = {level: self.outside(entry.name, level) for level in {compute, store, hoist}}
        return evolve(entry, compute=levels[compute], store=levels[store], hoist=levels[hoist])

    def outside(self, func: str, level: LoopLevel) -> LoopLevel:
        """The level of ``func``. A level outside all loops of another Func becomes the level of
        that other Func, because no further Func needs the values there.
        """
        entries = {entry.name: entry for entry in self.directives.schedule.funcs}
        seen = [func]
        while level.loop == _OUTERMOST:
            other = entries.get(level.func)
            if other is None:
                wrong = f"There is no Func {level.func!r}{suggestion(level.func, entries)}."
            elif other.compute.is_inline:
                wrong = f"{level.func} is inlined and has no place of its own; schedule it, too."
            elif level.func in seen:
                wrong = f"{level.func} is outside itself here; name another Func, or root."
            else:
                seen.append(level.func)
                level = other.compute
                continue
            self.mistakes.append(Mistake(wrong, *self.places[func, 0, _OUTERMOST]))
            self.unread.add(func)
            return INLINE
        return level

    def variadic(self, call: Applied, declared: Directive) -> tuple[Argument, ...]:
        """Any number of loops; ``tile`` adds factors and a tail, ``loops`` kinds."""
        items = [item for item in flat(call.args) if not is_device_api(item)]
        if not items and ArgumentKind.LOOP_OF_KIND not in declared.each:
            raise Mistake(f"{call.name.text} takes at least one loop.", call.start, call.end)
        return tuple(self.argument(item, declared.each) for item in items)

    def fixed(self, call: Applied, declared: Directive) -> tuple[Argument, ...]:
        """Arguments in fixed places."""
        if not declared.required <= len(call.args) <= len(declared.parameters):
            given = "argument" if len(call.args) == 1 else "arguments"
            raise Mistake(
                f"{call.name.text} was given {len(call.args)} {given}; it is written "
                f"{declared.usage}.",
                call.start,
                call.end,
            )
        args: list[Argument] = []
        for item, parameter in zip(call.args, declared.parameters, strict=False):
            args.append(self.argument(item, parameter.kinds))
        return tuple(args)


def _adds_func(call: Applied) -> bool:
    name = call.name.text
    return name == "in" or (name in DIRECTIVES and DIRECTIVES[name].adds_func)
