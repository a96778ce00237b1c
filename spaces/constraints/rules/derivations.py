"""Rules about derivations: the directives that add Funcs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from spaces.constraints.rules.rule import Check, MatchRule, match_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.reductions.accumulation import TUPLE_ACCUMULATIONS
from spaces.model.schedules.schedule import Schedule

_HALIDE = "Halide, Func::in and Func::clone_in."
_RFACTOR = "Halide, Stage::rfactor."


def _rule(id: str, statement: str, source: str) -> MatchRule:
    """The rule that refuses derivations under this id."""
    return match_rule(id, statement, source)(_refusals(id))


def _refusals(id: str) -> Callable[[tuple[Pipeline, Schedule], str], Iterable[Check]]:
    def check(subject: tuple[Pipeline, Schedule], name: str) -> Iterator[Check]:
        for refusal in derivation(*subject).refusals:
            if refusal.rule == id:
                yield refuse(
                    refusal.step.func,
                    "{message}",
                    "{advice}",
                    message=refusal.message,
                    advice=refusal.advice,
                )

    return check


unknown_func = _rule(
    "derive.unknown-func",
    "A wrapper or clone is illegal if the pipeline lacks the Func that it copies or a Func "
    "that shall read it, because nothing then defines or reads the copy.",
    _HALIDE,
)

not_read = _rule(
    "derive.not-read",
    "A wrapper or clone is illegal if a Func that shall read it does not read the original, "
    "because the directive then changes nothing.",
    _HALIDE,
)

name_taken = _rule(
    "derive.name-taken",
    "A directive that adds a Func is illegal if the pipeline already uses the name of the new "
    "Func, because text and messages know each Func by its name.",
    "This library knows each Func, image and parameter by its name.",
)

update = _rule(
    "derive.update",
    "An `rfactor` of an update that its Func does not have is illegal, because there is "
    "nothing to factor.",
    _RFACTOR,
)

operator = _rule(
    "derive.operator",
    "An `rfactor` is illegal unless the update is f(...) = f(...) op e, with the same "
    "coordinates on both sides, an associative op and an e that does not read f (or it "
    f"changes the values of a Tuple together: {TUPLE_ACCUMULATIONS}), because partial results "
    "combine in another order than the values.",
    _RFACTOR,
)

order = _rule(
    "derive.order",
    "An `rfactor` of an update whose result depends on the order of its values, such as the "
    "first of the best, is illegal unless it preserves the outermost reduction loops, because "
    "other loops change that order.",
    "Of equally good values the reference keeps the first, or the last; Halide may keep another.",
)

factored_loop = _rule(
    "derive.factored-loop",
    "An `rfactor` that names a loop which is not over RVars alone is illegal, because only "
    "reduction loops become Vars of partial results.",
    _RFACTOR,
)

split = _rule(
    "derive.split",
    "An `rfactor` after a split of an RVar is illegal if the factor is not positive or the "
    "tail is not guarded, because the partial results would then cover other values than the "
    "reduction.",
    _RFACTOR,
)

new_var = _rule(
    "derive.new-var",
    "An `rfactor` is illegal if a new Var has the name of another Var or loop of the partial "
    "results, because a name would then mean two of them.",
    _RFACTOR,
)

RULES = (unknown_func, not_read, name_taken, update, operator, order, factored_loop, split, new_var)
