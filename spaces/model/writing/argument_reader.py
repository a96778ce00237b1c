"""Reading the arguments of directives: loops, numbers, Funcs, tails and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from attrs import define, evolve, field

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.declaration import ArgumentKind, Kinds
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.conditions import ConditionError, read_condition
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import Factor, OrderedLoop, Tail
from spaces.model.schedules.schedule import LoopAlign, StageOf
from spaces.model.suggestions import suggestion
from spaces.model.text_limits import MOST_ADDED_FUNCS
from spaces.model.writing.calls import KIND_DIRECTIVES, Argument
from spaces.model.writing.syntax import Applied, Braces, Code, Item, StageReference, Whole, Word
from spaces.model.writing.syntax_error import Mistake
from spaces.model.writing.vocabulary import RESERVED, plainly

_C = TypeVar("_C", bound=Choice)


@define
class ArgumentReader:
    """Arguments read for a Func and stage that are selected.

    Attributes:
        directives: what the statements so far have made.
        variables: what identifiers declared as loops stand for.
        funcs: what identifiers declared as Funcs stand for.
        places: where Funcs, stages and their loops were named last, as characters of the text.
    """

    pipeline: Pipeline
    directives: Directives
    variables: dict[str, str] = field(factory=dict)
    funcs: dict[str, str] = field(factory=dict)
    places: dict[tuple[str, int, str], tuple[int, int]] = field(factory=dict)

    @property
    def algorithm(self) -> Pipeline:
        """The pipeline with what directives so far have added."""
        return derived(self.pipeline, self.directives.schedule)

    @property
    def sources(self) -> list[str]:
        """What a Func can be put around."""
        return list(self.algorithm.is_image)

    def func_name(self, word: Word) -> str:
        """The Func that a name means; ``pyramid[1]`` is ``pyramid_1`` or ``pyramid1``."""
        if word.quoted:
            return word.text
        base, bracket, index = word.text.removesuffix("]").partition("[")
        if bracket:
            known = {*self.sources, *(f.name for f in self.directives.schedule.funcs)}
            return next((n for n in (f"{base}_{index}", base + index) if n in known), word.text)
        return self.funcs.get(word.text, word.text)

    def func(self, item: Item) -> str:
        """``g``, or a Func around it, such as ``g.in()``."""
        if not isinstance(item, StageReference):
            return self.func_name(self.word(item, "a Func"))
        before = self.directives
        name = self.func_name(item.head)
        if name not in self.sources:
            message = f"There is no Func {name!r}{suggestion(name, self.sources)}."
            raise Mistake(message, item.head.start, item.head.end)
        made = before.func(name)
        for call in item.calls:
            if call.name.text == "update":
                raise Mistake("Expected a Func here, not one of its updates.", item.start, item.end)
            made = self.added(made, call)
        self.directives = evolve(before, schedule=made.schedule)
        return made.selected

    def added(self, directives: Directives, call: Applied) -> Directives:
        """Directives on the Func that ``in`` or ``clone_in`` adds."""
        consumers = [self.func(item) for item in flat(call.args)]
        if call.name.text == "clone_in" and not consumers:
            message = "clone_in takes the Funcs that read the copy, as in clone_in(g)."
            raise Mistake(message, call.start, call.end)
        if call.name.text not in ("in", "in_", "clone_in"):
            message = f"{call.name.text} leads to no Func; in and clone_in do."
            raise Mistake(message, call.name.start, call.name.end)
        self.check_added(call)
        verb = directives.clone_in if call.name.text == "clone_in" else directives.in_
        return verb(*consumers)

    def check_added(self, call: Applied) -> None:
        """Refuse a directive that would add one Func too many."""
        if len(self.directives.schedule.derivations) < MOST_ADDED_FUNCS:
            return
        message = f"A schedule adds at most {MOST_ADDED_FUNCS} Funcs; leave some out."
        raise Mistake(message, call.start, call.end)

    def argument(self, item: Item, kinds: Kinds) -> Argument:
        """``item`` read as the first of ``kinds`` that it can be."""
        readers: dict[ArgumentKind, Callable[[Item], Argument]] = {
            ArgumentKind.LOOP: self.loop,
            ArgumentKind.FACTOR: self.factor,
            ArgumentKind.WHOLE: self.whole,
            ArgumentKind.TRUTH: self.truth,
            ArgumentKind.CONDITION: self.condition,
            ArgumentKind.TEXT: self.message,
            ArgumentKind.SOURCE: self.source,
            ArgumentKind.STAGE: self.stage,
            ArgumentKind.ALIGN: self.alignment,
            ArgumentKind.LOOP_OF_KIND: self.loop_of_kind,
        }
        if Tail in kinds and len(kinds) > 1 and not _is_tail(item):
            kinds = tuple(k for k in kinds if k is not Tail)
        if isinstance(item, Whole) and ArgumentKind.FACTOR in kinds:
            return item.value
        first = kinds[0]
        return readers[first](item) if isinstance(first, ArgumentKind) else self.choice(item, first)

    def choice(self, item: Item, among: type[_C]) -> _C:
        """The member that a word names, however it is qualified, cased and underscored."""
        word = self.word(item, among.called)
        for member in among:
            if plainly(word.last) in (plainly(member.value), plainly(member.spelled)):
                return member
        spellings = [member.spelled for member in among]
        meant = suggestion(word.last, spellings)
        raise Mistake(
            f"{word.last} is not one of {', '.join(spellings)}{meant}.", word.start, word.end
        )

    def word(self, item: Item, expected: str) -> Word:
        if isinstance(item, Word):
            return item
        found = f"the number {item.value}" if isinstance(item, Whole) else "something else"
        raise Mistake(f"Expected {expected} here, not {found}.", item.start, item.end)

    def loop(self, item: Item, single_rvars: Sequence[str] | None = None) -> str:
        """The name of a loop of the selected stage, or of one with these RVars."""
        if is_outermost(item):
            message = (
                "Var::outermost() is no loop that iterates; it says where something is computed, "
                "stored or hoisted, as in compute_at(f, Var::outermost())."
            )
            raise Mistake(message, item.start, item.end)
        word = self.word(item, "the name of a loop")
        name = word.text if word.quoted else self.loop_name(word.text, single_rvars)
        self.places[self.directives.selected, self.directives.stage, name] = word.start, word.end
        return name

    def loop_name(self, text: str, single_rvars: Sequence[str] | None) -> str:
        """What an unquoted name of a loop stands for."""
        text = text.removeprefix("Halide.")
        if text in self.variables:
            return self.variables[text]
        if single_rvars is None:
            selected = [f for f in self.algorithm.functions if f.name == self.directives.selected]
            rvars = selected[0].stages[self.directives.stage].rvars if selected else ()
            single_rvars = [rvars[0].name] if len(rvars) == 1 else []
        return next((r for r in single_rvars if r == f"{text}.x"), text)

    def factor(self, item: Item) -> Factor:
        if isinstance(item, Whole):
            return item.value
        if isinstance(item, Word):
            return item.text
        raise Mistake(
            "A factor is a whole number, such as 8 or 4 * 2, or the name of a parameter of a "
            "family of schedules; it depends on no loop, size or function.",
            item.start,
            item.end,
        )

    def whole(self, item: Item) -> int:
        if isinstance(item, Whole):
            return item.value
        raise Mistake(
            "Expected a whole number here; write the value of an expression of sizes.",
            item.start,
            item.end,
        )

    def truth(self, item: Item) -> bool:
        if isinstance(item, Word) and plainly(item.text) in ("true", "false"):
            return plainly(item.text) == "true"
        raise Mistake("Expected true or false here.", item.start, item.end)

    def source(self, item: Item) -> str:
        return self.func(item)

    def stage(self, item: Item) -> StageOf:
        """``g`` or ``g.update(0)``."""
        if not isinstance(item, StageReference):
            return StageOf(self.func(item))
        *before, last = item.calls
        numbers = last.args or (Whole(0, last.start, last.end),)
        if last.name.text != "update":
            return StageOf(self.func(item))
        if len(numbers) > 1 or not isinstance(numbers[0], Whole):
            raise Mistake("Expected a Func or an update, as in g.update(0).", item.start, item.end)
        of = StageReference(item.head, tuple(before), item.start, item.end) if before else item.head
        return StageOf(self.func(of), numbers[0].value + 1)

    def alignment(self, item: Item) -> LoopAlign | tuple[tuple[str, LoopAlign], ...]:
        """An alignment, or pairs of a loop and one in braces."""
        if not isinstance(item, Braces):
            return self.choice(item, LoopAlign)
        found = []
        for pair in item.items:
            if not isinstance(pair, Braces) or len(pair.items) != 2:
                text = "Expected a loop and its alignment, as in {y, LoopAlignStrategy::AlignEnd}."
                raise Mistake(text, pair.start, pair.end)
            align = self.choice(pair.items[1], LoopAlign)
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

    def loop_of_kind(self, item: Item) -> OrderedLoop | str:
        if not isinstance(item, Applied):
            return self.loop(item)
        kinds = {directive: kind for kind, directive in KIND_DIRECTIVES.items()}
        if item.name.text not in kinds or len(item.args) != 1:
            raise Mistake(
                f"Expected a loop or its kind, as in parallel(x); kinds are {', '.join(kinds)}.",
                item.start,
                item.end,
            )
        return OrderedLoop(self.loop(item.args[0]), kinds[item.name.text])


def flat(items: Sequence[Item]) -> list[Item]:
    """Items without the braces around them."""
    found: list[Item] = []
    for item in items:
        found += flat(item.items) if isinstance(item, Braces) else [item]
    return found


def is_outermost(item: Item) -> bool:
    """``Var::outermost()``: the place just outside the loops of a Func."""
    return isinstance(item, Applied) and item.name.last == "outermost" and not item.args


def is_device_api(item: Item) -> bool:
    """Whether an argument says for which API code is made."""
    return isinstance(item, Word) and not item.quoted and "DeviceAPI" in item.text.split(".")


def _is_tail(item: Item) -> bool:
    return isinstance(item, Word) and not item.quoted and item.text.split(".")[0] in RESERVED
