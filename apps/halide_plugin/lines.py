"""A schedule as lines of words, which the autoscheduler in C++ reads.

A line is ``func NAME NAME_IN_HALIDE``, or ``FUNC STAGE DIRECTIVE ARGUMENT...``, with tabs between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from attrs import define, field

from spaces.backend.halide.calls import halide_calls, loops_made
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.declaration import DIRECTIVES, ArgumentKind
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.writing.calls import Argument, DirectiveCall
from spaces.model.writing.chain import StageCalls


def schedule_lines(
    pipeline: Pipeline,
    schedule: Schedule,
    theirs: Mapping[str, str],
    leave: Collection[str] = (),
) -> Iterator[str]:
    """The lines of a schedule.

    Args:
        pipeline: the pipeline.
        schedule: its schedule.
        theirs: the names in Halide of Funcs, and of the Funcs that Halide makes of images.
        leave: Funcs that have their schedule in Halide already.

    Raises:
        DirectiveError: a directive takes an expression, which lines do not have.
    """
    for ours, name in theirs.items():
        yield "\t".join(("func", ours, name))
    writer = _Writer(pipeline)
    for calls in halide_calls(pipeline, schedule):
        lines = tuple(writer.lines(calls))  # also tells the writer which loops there are
        if calls.adds is not None or calls.func not in leave:
            yield from lines


@define
class _Writer:
    known: Pipeline
    """With the Funcs that directives have added so far."""
    _made: dict[tuple[str, int], set[str]] = field(factory=dict)
    """For each stage, the RVars that directives have made of its own."""

    def lines(self, stage_calls: StageCalls) -> Iterator[str]:
        func, stage, step = stage_calls.func, stage_calls.stage, stage_calls.adds
        made = self._made.setdefault((func, stage), set())
        for call in stage_calls.calls:
            own = self._own(func, stage)
            made.update(name for name in loops_made(call, {*own, *made}) if name not in own)
            words = self._words(call, func, stage)
            if step is not None and call is stage_calls.calls[-1]:
                words.insert(0, step.name)
                self.known = derived(self.known, Schedule((), (*self.known.derivations, step)))
            yield "\t".join((func, str(stage), call.name, *words))

    def _own(self, func: str, stage: int) -> tuple[str, ...]:
        """The RVars of a stage."""
        if func not in self.known.places:  # an image
            return ()
        return tuple(r.name for r in self.known.function(func).stages[stage].rvars)

    def _words(self, call: DirectiveCall, func: str, stage: int) -> list[str]:
        declared = DIRECTIVES[call.name]
        if declared.takes_level:
            owner, loop = map(str, call.args)
            if not owner:
                raise DirectiveError(f"{call.name} of Func {func} names no Func.")
            stages = range(len(self.known.function(owner).stages))
            inside = (n for n in stages if loop in self._rvars(owner, n))
            return [owner, self._loop(loop, owner, next(inside, 0))]
        kinds = [declared.kinds(place)[0] for place in range(len(call.args))]
        return [
            self._word(value, kind, call, func, stage)
            for value, kind in zip(call.args, kinds, strict=True)
        ]

    def _word(
        self, value: Argument, kind: object, call: DirectiveCall, func: str, stage: int
    ) -> str:
        if isinstance(value, Choice):
            return value.spelled
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, Expr | StageOf | tuple) or kind is ArgumentKind.TEXT:
            raise DirectiveError(f"{call.name} of Func {func} is not for an autoscheduler.")
        if kind in (ArgumentKind.FUNC, ArgumentKind.SOURCE):
            return str(value)
        return self._loop(str(value), func, stage)

    def _rvars(self, func: str, stage: int) -> set[str]:
        return {*self._own(func, stage), *self._made.get((func, stage), ())}

    def _loop(self, loop: str, func: str, stage: int) -> str:
        own = self._own(func, stage)
        if loop in own:
            return f"d:{stage}:{own.index(loop)}:{func}"
        if loop in self._made.get((func, stage), ()):
            return f"r:{identifier(loop)}"
        args = self.known.function(func).args if func in self.known.places else ()
        if loop in args:
            return f"a:{args.index(loop)}:{func}"
        return f"v:{identifier(loop)}"
