"""Decisions about the graph of Funcs: wrappers, clones and factored reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

from attrs import evolve, frozen

from spaces.enumerate.space.estimated_boxes import rvar_extents
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.exactness import must_keep_its_order
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.placing import FuncsTopic
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.schedule import Schedule, StageOf

LONG = 256
"""From this many terms on an update with a single RVar is factored in parts."""


def _wrappers(state: ProcessState) -> Iterator[Wrap]:
    """A wrapper of each Func and image for all its consumers."""
    outputs = set(state.pipeline.outputs)
    for function in reversed(state.pipeline.functions):
        if function.name not in outputs:
            yield Wrap(function.name)
    for image in state.pipeline.images:
        yield Wrap(image.name)


def _clones(state: ProcessState) -> Iterator[Clone]:
    """Copies of each Func for some of its consumers."""
    for function in reversed(state.pipeline.functions):
        yield from _clones_of(state, function)


def _clones_of(state: ProcessState, function: Function) -> Iterator[Clone]:
    """A copy of a Func for each of its consumers, for each two, and so on, but not for all. Those
    that have a copy together are named in alphabetical order.
    """
    if function.name not in state.pipeline.outputs:
        consumers = sorted(state.pipeline.consumers(function.name))
        for size in range(1, min(len(consumers), state.choices.clone_consumers + 1)):
            for some in combinations(consumers, size):
                yield Clone(function.name, some)


def _factorings(state: ProcessState) -> Iterator[RFactor]:
    for function in reversed(state.pipeline.functions):
        yield from _factorings_of(state, function)


def _factorings_of(state: ProcessState, function: Function) -> Iterator[RFactor]:
    """For each update of a Func that need not keep its order: first reduce along all RVars but one.
    An update with a single long RVar is reduced along the parts of that RVar.
    """
    for index, stage in enumerate(function.stages[1:]):
        keeps_order = must_keep_its_order(state, StageOf(function.name, index + 1))
        if keeps_order:
            continue
        if len(stage.rvars) > 1:
            for one in stage.rvars:
                var = one.name.replace(".", "_")
                yield RFactor(function.name, index, (), ((one.name, var),))
        for name, extent in rvar_extents(state.pipeline, stage).items():
            if len(stage.rvars) == 1 and extent >= LONG:
                yield _in_parts(function.name, index, name, extent)


def _in_parts(func: str, update: int, rvar: str, extent: int) -> RFactor:
    """An update with one partial result for each group of terms. There are about as many partial
    results as each has terms, so to combine them takes no longer than to make one.
    """
    parts = 1 << round(math.log2(extent) / 2)
    name = rvar.replace(".", "_")
    split = Split(rvar, f"{name}o", f"{name}i", parts)
    return RFactor(func, update, (split,), ((split.inner, name),))


_KINDS: dict[str, Callable[[ProcessState], Iterator[Derivation]]] = {
    "clone_in": _clones,
    "rfactor": _factorings,
    "in_": _wrappers,
}
"""The derivations of each kind, in the order in which kinds are decided: reductions of clones may
be factored, and all of them wrapped.
"""

KINDS = tuple(_KINDS)
"""The kinds of derivations, by directive."""


@frozen
class DeriveTopic:
    """Decides for each of some derivations whether it rewrites the pipeline. Derivations that
    another one makes possible follow it at once, so that each is decided only once. The next kind
    of derivations follows, and then all Funcs.

    Attributes:
        kinds: the kinds of derivations that come later.
        open: the derivations, each with the length of the longest row that it may begin.
    """

    kinds: tuple[str, ...] = KINDS
    open: tuple[tuple[Derivation, int], ...] = ()
    func: str = ""

    @property
    def name(self) -> str:
        return f"derive {self.open[0][0]}" if self.open else "derive"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        if not self.open:
            yield self._next_kind(state)
            return
        step, _ = self.open[0]
        yield DecisionOption(f"no {step}", {f"derive {step}": None}, state, change=self._leave_out)
        found = derivation(state.pipeline, Schedule((), (step,)))
        if not found.refusals:
            change = partial(self._rewrite, found.pipeline)
            yield DecisionOption(str(step), {f"derive {step}": 1}, state, change=change)

    def _leave_out(self, state: ProcessState) -> ProcessState:
        """The state without the next derivation."""
        return state.then(evolve(self, open=self.open[1:]))

    def _rewrite(self, pipeline: Pipeline, state: ProcessState) -> ProcessState:
        """The state with the pipeline that the next derivation makes."""
        (step, longest), *others = self.open
        rewritten = state.replace(pipeline=pipeline)
        next_ = next_derivations(rewritten, step) if longest > 1 else ()
        open_ = (*((one, longest - 1) for one in next_), *others)
        return rewritten.then(evolve(self, open=open_))

    def _next_kind(self, state: ProcessState) -> DecisionOption:
        if not self.kinds:
            return DecisionOption("decide each Func", {}, state.then(FuncsTopic()))
        kind, *later = self.kinds
        open_ = tuple((one, state.choices.derivations) for one in derivations(state, kind))
        return DecisionOption(kind, {}, state.then(DeriveTopic(tuple(later), open_)))


def derivations(state: ProcessState, kind: str) -> tuple[Derivation, ...]:
    """The derivations by one directive that a schedule may choose first, consumers first."""
    if kind not in state.choices.directives:
        return ()
    return tuple(one for one in _KINDS[kind](state) if _is_open(state, one))


def next_derivations(state: ProcessState, step: Derivation) -> tuple[Derivation, ...]:
    """The derivations of the same kind that the last one makes possible. A wrapper may have a
    wrapper; producers of a clone may be cloned, for it and for others; the reduction of partial
    results may be factored again.
    """
    pipeline = state.pipeline
    match step:
        case Wrap():
            found: list[Derivation] = [Wrap(step.name)]
        case Clone():
            callees = pipeline.function(step.name).callees
            producers = (f for f in reversed(pipeline.functions) if f.name in callees)
            clones = (one for function in producers for one in _clones_of(state, function))
            found = [one for one in clones if step.name in one.consumers]
        case RFactor():
            found = list(_factorings_of(state, pipeline.function(step.name)))
    return tuple(one for one in found if _is_open(state, one))


def _is_open(state: ProcessState, step: Derivation) -> bool:
    return step not in state.pipeline.derivations and step.func not in state.left
