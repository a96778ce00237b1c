"""Rules about what derivations, the directives that add Funcs, may be applied to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from spaces.constraints.rules.rule import VIOLATED, Check, MatchRule, match_rule
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.reductions.accumulation import TUPLE_ACCUMULATIONS
from spaces.model.schedules.schedule import Schedule

_HALIDE = "Halide, Func::in and Func::clone_in."
_RFACTOR = "Halide, Stage::rfactor."


def _rule(id: str, statement: str, source: str) -> MatchRule:
    """The rule that derivations are refused by under this id."""
    return match_rule(id, statement, source)(_refusals(id))


def _refusals(id: str) -> Callable[[tuple[Pipeline, Schedule], str], Iterable[Check]]:
    def check(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
        for refusal in derivation(*subject).refusals:
            if refusal.rule == id:
                told = {"message": refusal.message, "advice": refusal.advice}
                yield Check(refusal.step.func, VIOLATED, "{message}", "{advice}", values=told)

    return check


unknown_func = _rule(
    "derive.unknown-func",
    "What is wrapped or cloned, and the Funcs that are to read it, are parts of the pipeline.",
    _HALIDE,
)

not_read = _rule(
    "derive.not-read",
    "The Funcs that are to read a wrapper or a clone read by themselves what it stands for.",
    _HALIDE,
)

name_taken = _rule(
    "derive.name-taken",
    "The name of a Func that a derivation adds is that of nothing else.",
    "A Func, image or parameter is known by its name.",
)

update = _rule("derive.update", "An update that is factored is one of its Func.", _RFACTOR)

operator = _rule(
    "derive.operator",
    "An update that is factored accumulates by an associative operator: it is f(...) = f(...) op "
    "e, with the same coordinates on both sides, and e not reading f; or several values of a Tuple "
    f"change together: {TUPLE_ACCUMULATIONS}.",
    "Partial results are reduced in another order than the values were (Halide, Stage::rfactor).",
)

order = _rule(
    "derive.order",
    "An update that keeps the first, or the last, of the best, or combines values with those "
    "before them, is factored along outermost loops.",
    "Of equally good values the reference keeps the first, or the last; Halide may keep another.",
)

factored_loop = _rule(
    "derive.factored-loop",
    "Loops that become Vars of partial results walk RVars of the update, and no Vars.",
    _RFACTOR,
)

split = _rule(
    "derive.split",
    "A split of an RVar that is factored has a positive number, and a tail that guards.",
    _RFACTOR,
)

new_var = _rule(
    "derive.new-var",
    "The Vars of partial results have names that no other Var or loop of them has.",
    _RFACTOR,
)

RULES = (
    unknown_func,
    not_read,
    name_taken,
    update,
    operator,
    order,
    factored_loop,
    split,
    new_var,
)
