"""Applies the directives of a schedule to Halide's objects, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field

from spaces.backend.halide.calls import loops_made
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.names import identifier
from spaces.backend.halide.peer import failing_as, hl
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.declaration import DIRECTIVES, ArgumentKind
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.derivations import Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.writing.calls import Argument, DirectiveCall
from spaces.model.writing.chain import StageCalls


class Objects(Protocol):
    """Halide's objects for a pipeline, by their names in this library."""

    pipeline: Pipeline
    funcs: dict[str, Any]
    images: dict[str, Any]
    vars: dict[str, dict[str, Any]]
    """The Vars of Funcs that have others than their names say."""
    rvars: dict[tuple[str, int], dict[str, Any]]
    """For each stage the RVars of its RDom."""

    def expressions(self, roots: Sequence[Expr], loops: Mapping[str, Any]) -> list[Any]:
        """Expressions as Halide's expressions; ``loops`` are the Vars and RVars."""


@define
class PeerDirectives:
    """Halide's objects for an algorithm, while directives are applied. Derivations add Funcs."""

    algorithm: Objects
    _known: Pipeline = field(init=False)
    """The pipeline with the Funcs that directives have added so far."""
    _vars: dict[str, dict[str, Any]] = field(init=False)
    """The Vars of Funcs that have others than their names say, as those that directives add."""
    _rvars: dict[tuple[str, int], dict[str, Any]] = field(init=False)
    """For each stage its RVars: those of its RDom, and those made of them by splitting and
    fusing.
    """

    def __attrs_post_init__(self) -> None:
        self._known = self.algorithm.pipeline
        self._vars = dict(self.algorithm.vars)
        self._rvars = {stage: dict(rvars) for stage, rvars in self.algorithm.rvars.items()}

    def apply(self, stage_calls: StageCalls) -> None:
        """Applies directives to one stage.

        Raises:
            DirectiveError: Halide refuses one.
        """
        name, index = stage_calls.func, stage_calls.stage
        func = self._source(name)
        stage = func.update(index - 1) if index else func
        rvars = self._rvars.get((name, index), {})
        for call in stage_calls.calls:
            for new in loops_made(call, rvars):
                rvars.setdefault(new, hl.RVar(identifier(new)))
            args = self._arguments(call, self._vars.get(name, {}) | rvars)
            shown = f"{call.name}({', '.join(map(str, call.args))})"
            with failing_as(DirectiveError, f"Halide refuses {name}.{shown}"):
                if stage_calls.adds is not None and call is stage_calls.calls[-1]:
                    self._add(stage, stage_calls.adds, args)
                else:
                    made = getattr(stage, call.name)(*args)
            if call.name == "specialize":
                stage = made  # the next directives schedule the specialization

    def _arguments(self, call: DirectiveCall, loops: Mapping[str, Any]) -> list[Any]:
        """The arguments of a directive as Halide's objects."""
        declared = DIRECTIVES[call.name]
        if declared.takes_level:
            return self._level(call.args)
        kinds = [declared.kinds(place)[0] for place in range(len(call.args))]
        pairs = zip(call.args, kinds, strict=True)
        args = [self._argument(value, kind, loops) for value, kind in pairs]
        if ArgumentKind.STAGE in kinds:
            return [*self._beside(call.args), *args[2:]]
        return [args] if call.name in ("never_partition", "always_partition") else args

    def _argument(self, value: Argument, kind: object, rvars: Mapping[str, Any]) -> Any:
        if kind is ArgumentKind.TEXT:
            return value
        if kind is ArgumentKind.SOURCE:
            return self._source(str(value))
        if isinstance(value, Expr):
            return self.algorithm.expressions([value], {})[0]
        if isinstance(value, tuple):
            return [(_argument(loop, rvars), _argument(align, rvars)) for loop, align in value]
        return _argument(value, rvars)

    def _source(self, name: str) -> Any:
        """The image or Func of that name."""
        return self.algorithm.images.get(name) or self.algorithm.funcs[name]

    def _beside(self, args: Sequence[Argument]) -> list[Any]:
        """The stage with which another stage is computed, and its loop."""
        other, loop = args[:2]
        assert isinstance(other, StageOf)
        func, name = self._level((other.func, loop))
        return [func.update(other.stage - 1) if other.stage else func, name]

    def _add(self, owner: Any, step: Derivation, loops: Sequence[Any]) -> None:
        """Adds a Func to Halide's pipeline, by a directive on ``owner``."""
        given = Schedule((), (*self._known.derivations, step))
        before, self._known = self._known, derived(self._known, given)
        is_refused = self._known is before
        funcs, name = self.algorithm.funcs, step.name
        source = funcs.get(step.func)
        if isinstance(step, RFactor):
            added = owner.rfactor(list(zip(loops[::2], loops[1::2], strict=True)))
        else:
            unknown = [consumer for consumer in step.consumers if consumer not in funcs]
            if unknown:
                raise DirectiveError(f"There is no Func {unknown[0]!r} to read {name}.")
            consumers = [funcs[consumer] for consumer in step.consumers]
            add = owner.in_ if isinstance(step, Wrap) else owner.clone_in
            added = add(consumers) if consumers else add()
        funcs[name] = added
        if is_refused:
            return
        if isinstance(step, RFactor):
            self._adopt_rvars(step.func, source, step.update)
        function = self._known.function(name)
        self._vars[name] = dict(zip(function.args, added.args(), strict=True))
        self._rvars[name, 0] = {}
        for update in range(len(function.stages) - 1):
            self._adopt_rvars(name, added, update)

    def _adopt_rvars(self, name: str, func: Any, update: int) -> None:
        """Takes over the RVars that Halide has made for an update."""
        own = self._known.function(name).stages[update + 1].rvars
        made = dict(zip((r.name for r in own), func.rvars(update), strict=True))
        self._rvars[name, update + 1] = made

    def _level(self, args: tuple[Argument, ...]) -> list[Any]:
        func, loop = str(args[0]), str(args[1])
        if not func and not loop:
            return [hl.LoopLevel.inlined()]
        if func not in self.algorithm.funcs:
            raise DirectiveError(f"There is no Func {func!r} to compute or store anything at.")
        stages = [rvars for (name, _), rvars in self._rvars.items() if name == func]
        rvar = next((rvars[loop] for rvars in stages if loop in rvars), None)
        var = self._vars.get(func, {}).get(loop)
        return [self.algorithm.funcs[func], rvar or var or hl.Var(identifier(loop))]


def _argument(value: Argument, rvars: Mapping[str, Any]) -> Any:
    if isinstance(value, Choice):
        return getattr(getattr(hl, value.halide), value.spelled)
    if isinstance(value, int):
        return value
    return rvars.get(str(value)) or hl.Var(identifier(str(value)))
