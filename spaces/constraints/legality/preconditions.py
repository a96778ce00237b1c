"""The sizes under which a schedule is legal: the conditions its rules leave, made simple.

The rules give their conditions on sizes one by one. This module makes their conjunction readable:
it orders sums, takes minima and maxima apart, clears quotients, and drops conditions that follow
from the others. The conjunction stays the same set of sizes, so that it is the weakest condition
under which :func:`spaces.verify` finds the schedule legal. Sizes are int32, and extents at least 1:
a call with empty outputs computes nothing. A condition that applies only under another one about
floats, wrapping numbers or strides is left out: the compiled pipeline tests it when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.constraints.legality.verdict import CheckedSchedule, SizeCondition
from spaces.constraints.rules.catalogue import rule
from spaces.constraints.rules.findings import sentence_at
from spaces.constraints.sizes.forms import AtLeastZero, Condition, Divisible, Forms
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr, Op, walk
from spaces.model.expressions.operators import ARITHMETIC
from spaces.model.expressions.rewrite import variables
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate


@frozen
class Precondition:
    """A condition on the sizes of a call.

    Attributes:
        condition: what must hold, over sizes (``out.extent.0``) and scalar parameters.
        words: the same as a clause.
        source: the rule that requires it, and the Func or image concerned.
    """

    condition: Expr
    words: str
    source: SizeCondition

    def __str__(self) -> str:
        return f"{self.condition}: {self.words}"

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it holds at these sizes and parameters."""
        return bool(evaluate(self.condition, values))

    def refusal(self, values: Mapping[str, int]) -> str:
        """The message for a call at sizes where it fails: what is wrong, and what to change."""
        shown = ", ".join(f"{name} is {values[name]}" for name in variables(self.condition))
        stated = sentence_at(self.source.check, values)
        return f"{stated} This needs {self.condition}, but {shown}."

    def json(self) -> dict[str, str]:
        """As a dictionary of JSON's types."""
        return {
            "condition": str(self.condition),
            "words": self.words,
            "rule": self.source.rule,
            "func": self.source.func,
        }


def size_preconditions(checked: CheckedSchedule) -> tuple[Precondition, ...]:
    """The weakest condition on sizes under which a schedule is legal, as a conjunction.

    They come in the order of the rules; conditions in other types than int32 come last. No int32
    condition follows from one or two others. To ask about a schedule that is illegal only at the
    estimates of its pipeline, verify it for the pipeline without them: ``attrs.evolve(pipeline,
    estimates=())``.

    Raises:
        TypeError: the schedule is not verified, or illegal.
    """
    if not isinstance(checked, CheckedSchedule):
        raise TypeError(
            f"size_preconditions takes what verify(pipeline, schedule, device) returns for a legal "
            f"schedule, not {type(checked).__name__}: sizes depend on the pipeline and the device."
        )
    forms = Forms(checked.pipeline)
    formulas = tuple(r for r in checked.size_conditions if not _is_about_strides(r))
    whole = [r for r in formulas if not _is_typed(r)]
    asked = [(c, r) for r in whole for c in forms.parts(r.condition)]
    exact = [c for c, _ in asked if isinstance(c, Divisible) and c.most == 0]
    simple: dict[Condition, SizeCondition] = {}
    for condition, source in asked:
        for part in forms.given(condition, exact):
            simple.setdefault(part, source)
    plain = tuple(
        Precondition(
            forms.expr(condition),
            _words(condition, simple[condition], checked.pipeline, forms),
            simple[condition],
        )
        for condition in forms.irredundant(tuple(simple))
    )
    typed = (r for r in formulas if _is_typed(r) and not r.condition.has_floats)
    return (*plain, *(Precondition(r.condition, _statement(r), r) for r in typed))


def _is_about_strides(source: SizeCondition) -> bool:
    return any(".stride." in name for name in variables(source.condition))


def _is_typed(source: SizeCondition) -> bool:
    """Whether the condition calculates with numbers that may wrap or are floats."""
    nodes = walk(source.condition)
    return source.condition.has_floats or any(
        isinstance(n, Op) and n.name in ARITHMETIC and n.type != Int32 for n in nodes
    )


def _words(condition: Condition, source: SizeCondition, pipeline: Pipeline, forms: Forms) -> str:
    """The condition as a clause: a plain limit, or else the words of its rule."""
    limit = forms.single(condition) if isinstance(condition, AtLeastZero) else None
    if limit is not None:
        size, coefficient, number = limit
        if size.split(".")[1:2] == ["min"]:
            allowed = f"{number} or {'above' if coefficient > 0 else 'below'}"
        else:
            allowed = f"{'at least' if coefficient > 0 else 'at most'} {number}"
        return f"{_subject(size, pipeline)} {allowed}"
    whole = isinstance(condition, Divisible) and condition.most == 0
    alone = forms.alone(condition.dividend) if isinstance(condition, Divisible) and whole else None
    if isinstance(condition, Divisible) and alone is not None:
        return f"{_subject(alone, pipeline)} a multiple of {condition.divisor}"
    about = source.check.values
    if "image" in about and "dimension" in about:
        image, dimension = about["image"], about["dimension"]
        return f"image {image} must hold all that is read of it in dimension {dimension}"
    return _statement(source)


def _statement(source: SizeCondition) -> str:
    """The requirement of a rule, as a clause."""
    statement = rule(source.rule).statement.rstrip(".")
    return statement[:1].lower() + statement[1:]


def _subject(name: str, pipeline: Pipeline) -> str:
    """``blur_y must have an extent along x of``, for that size variable."""
    parts = name.split(".")
    if len(parts) != 3:
        return f"parameter {name} must be"
    buffer, part, d = parts
    what = "begin" if part == "min" else "have an extent"
    outputs = {f.name: f.args for f in pipeline.functions}
    along = f"along {outputs[buffer][int(d)]}" if buffer in outputs else f"in dimension {d}"
    joint = "at" if part == "min" else "of"
    return f"{buffer} must {what} {along} {joint}"


def unmet(
    preconditions: tuple[Precondition, ...], values: Mapping[str, int]
) -> Iterator[Precondition]:
    """The preconditions that fail at these sizes and parameters."""
    return (p for p in preconditions if not p.holds(values))
