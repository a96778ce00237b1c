"""Halide's scheduling directives, each a function from a schedule to a new schedule.

``schedule(pipeline)`` starts from the default schedule::

    s = schedule(p).func("blur_y").tile("x", "y", "xi", "yi", 256, 32).parallel("y")
    s = s.func("blur_x").compute_at("blur_y", "x").vectorize("x", 8)
    s.schedule  # the Schedule record

Directives record what was written, unknown names included; ``verify`` says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Self

import attrs
from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.directives.call_directives import CallDirectives
from spaces.model.directives.declaration import directive
from spaces.model.directives.directive_arguments import Name, loops_and_vars, names_of
from spaces.model.directives.loop_directives import LoopDirectives
from spaces.model.expressions.expr import Expr, ExprLike, Op, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.argument_checks import check_pipeline, check_schedule
from spaces.model.schedules.conditions import plain_condition
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.derived_schedule import with_derivation
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.rfactor import parted_splits
from spaces.model.schedules.schedule import Schedule, Specialization
from spaces.model.suggestions import suggestion


def schedule(pipeline: Pipeline, base: Schedule | None = None) -> Directives:
    """Directives on ``base``, or on the default schedule; the last output is selected first.

    Raises:
        TypeError: something else is given than a Pipeline and a Schedule.
    """
    check_pipeline("schedule", pipeline)
    if base is not None:
        check_schedule("schedule", base)
    return Directives(pipeline, base or Schedule.default(pipeline), pipeline.outputs[-1])


@frozen
class Directives(LoopDirectives, CallDirectives):
    """All directives: on loops, on where values are computed and stored, and here those that add
    Funcs or schedule the selected stage several times.
    """

    if not TYPE_CHECKING:  # a type checker knows by itself what there is

        def __getattr__(self, name: str) -> NoReturn:
            if name == "nest" or hasattr(Schedule, name):
                raise AttributeError(
                    "A Schedule is expected here, and directives are on the way to one: write "
                    ".schedule after the last."
                )
            known = [n for n in dir(type(self)) if not n.startswith("_")]
            raise AttributeError(f"There is no directive {name!r}{suggestion(name, known)}.")

    @directive(Wrap)
    def in_(self, *consumers: str | Func | Sequence[str | Func]) -> Self:
        """Put a new Func with the same values between this one and ``consumers``, or all its
        readers, and select the new Func. Its name is ``f_in_g``, or ``f_in``. A second call selects
        it again.
        """
        return self.derive(Wrap(self.selected, names_of(consumers)))

    @directive(Clone)
    def clone_in(self, *consumers: str | Func | Sequence[str | Func]) -> Self:
        """Let ``consumers`` read a copy of this Func, and select the copy. Its name is
        ``f_clone_in_g``, and its schedule is that of this Func now.
        """
        return self.derive(Clone(self.selected, names_of(consumers)))

    @directive(RFactor)
    def rfactor(self, *pairs: Name | Sequence[tuple[Name, Name]]) -> Self:
        """Reduce in two steps: ``rfactor(r.y, u)``, or ``rfactor([(r.y, u), (r.z, v)])``, makes a
        Func ``f_intm`` of partial results. It has a Var for each of these loops over RVars of the
        selected update. The update then reduces along them only. Both keep the other loops. The new
        Func is selected; its reduction is its ``update(0)``.
        """
        names = tuple(loops_and_vars(pairs))
        if self.stage == 0 or len(names) % 2 or not names:
            raise TypeError(
                f"rfactor takes loops over RVars of an update, each with a new Var, as in "
                f"{self.selected}.update(0).rfactor(r.x, u); it was given ({', '.join(names)})"
                f"{' and no update' if self.stage == 0 else ''}."
            )
        stage = self._definition.stages[self.stage]
        _, splits = parted_splits(stage, self._order)
        preserved = tuple(zip(names[::2], names[1::2], strict=True))
        return self.derive(RFactor(self.selected, self.stage - 1, splits, preserved))

    @directive()
    def atomic(self) -> Self:
        """Change each element in one step, so that loops over RVars may be parallel or vectorized
        although iterations change the same element.
        """
        atomic = (*self._func.atomic, self.stage)
        return self._with_func(attrs.evolve(self._func, atomic=atomic))

    def derive(self, step: Derivation) -> Self:
        """Rewrite the pipeline by ``step``, and select the Func that it adds."""
        schedule = self.schedule
        if step not in schedule.derivations:
            start = self._with_splits_of(step) if isinstance(step, RFactor) else self
            schedule = with_derivation(self.pipeline, start.schedule, step)
        return attrs.evolve(self, schedule=schedule, selected=step.name, stage=0, within=None)

    @directive()
    def specialize(self, condition: ExprLike) -> Self:
        """Schedule the selected stage anew where ``condition`` holds, beginning with its schedule
        as it is; a specialization of a specialization is one where both conditions hold. The
        directives that follow apply to the specialization, until a stage is selected again.

        Where several conditions hold, the one that was written first counts. They are over scalar
        parameters and the sizes and strides of images and outputs. For a GPU each case has kernels
        of its own; the host launches the kernels of the case that holds.

        Raises:
            ConditionError: the condition is too large to be written as text.
        """
        return self._specialized(plain_condition(condition), "")

    @directive()
    def specialize_fail(self, message: str) -> Self:
        """Stop the pipeline with a message where no condition of the stage's specializations
        holds.
        """
        return self._specialized(constant(True, Bool), message)

    def _specialized(self, condition: Expr, failure: str) -> Self:
        known, place = list(self._func.specializations), len(self._func.specializations)
        if self.within is not None and failure:
            known[self.within] = attrs.evolve(known[self.within], failure=failure)
            return self._with_specializations(known, self.within)
        if self.within is not None:
            place = self.within
            condition = Op(Bool, "and", (known[place].condition, condition))
        for number, one in enumerate(known):
            if (one.stage, one.condition) == (self.stage, condition):
                return attrs.evolve(self, within=number)
        known.insert(place, Specialization(self.stage, condition, self._order, failure))
        return self._with_specializations(known, place)

    def _with_splits_of(self, step: RFactor) -> Self:
        """Add the splits that a factorization needs and that are still missing."""
        known = [f.name for f in derived(self.pipeline, self.schedule).functions]
        result = attrs.evolve(self, selected=step.func, stage=step.update + 1)
        if step.func not in known or not 0 < result.stage < len(result._func.stages):
            return self
        _, made = parted_splits(result._definition.stages[result.stage], result._order)
        for record in step.splits if made != step.splits else ():
            if isinstance(record, Split):
                result = result.split(
                    record.old, record.outer, record.inner, record.factor, record.tail
                )
            else:
                result = result.fuse(record.inner, record.outer, record.fused)
        return result

    @property
    def _definition(self) -> Function:
        return derived(self.pipeline, self.schedule).function(self.selected)
