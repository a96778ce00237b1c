"""Decisions about the graph of Funcs: wrappers, clones and factored reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve, frozen

from spaces.enumerate.process.decision import DecisionOption
from spaces.enumerate.process.placing import FuncsTopic
from spaces.enumerate.process.state import ProcessState
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import Schedule


@frozen
class DeriveTopic:
    """Whether each of some derivations rewrites the pipeline; then all Funcs."""

    open: tuple[Derivation, ...]
    func: str = ""

    @property
    def name(self) -> str:
        return f"derive {self.open[0]}" if self.open else "derive"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        if not self.open:
            yield DecisionOption("decide each Func", {}, state.then(FuncsTopic()))
            return
        step, rest = self.open[0], DeriveTopic(self.open[1:])
        yield DecisionOption(f"no {step}", {f"derive {step}": None}, state.then(rest))
        steps = (*state.pipeline.derivations, step)
        found = derivation(state.pipeline, Schedule((), steps))
        if not found.refusals:
            rewritten = evolve(state, pipeline=found.pipeline)
            yield DecisionOption(str(step), {f"derive {step}": 1}, rewritten.then(rest))


def derivations(state: ProcessState) -> tuple[Derivation, ...]:
    """The derivations that the space lets a schedule choose, consumers first."""
    directives = state.choices.directives
    found: list[Derivation] = []
    for directive, makers in _MAKERS.items():
        if directive in directives:
            found += makers(state.pipeline)
    return tuple(
        one for one in found if one not in state.pipeline.derivations and one.func not in state.left
    )


def _wrappers(pipeline: Pipeline) -> Iterator[Derivation]:
    """A wrapper of each Func and image for all its consumers."""
    outputs = set(pipeline.outputs)
    for function in reversed(pipeline.functions):
        if function.name not in outputs:
            yield Wrap(function.name)
    for image in pipeline.images:
        yield Wrap(image.name)


def _clones(pipeline: Pipeline) -> Iterator[Derivation]:
    """A copy of each Func for each of several consumers, or for the wrappers of one."""
    outputs = set(pipeline.outputs)
    for function in reversed(pipeline.functions):
        consumers = pipeline.consumers(function.name)
        if function.name not in outputs and len(consumers) > 1:
            for consumer in consumers:
                yield Clone(function.name, (consumer,))


def _factored(pipeline: Pipeline) -> Iterator[Derivation]:
    """An update of each Func, reduced along all RVars but one first."""
    for function in reversed(pipeline.functions):
        for index, stage in enumerate(function.stages[1:]):
            if len(stage.rvars) > 1:
                for one in stage.rvars:
                    var = one.name.replace(".", "_")
                    yield RFactor(function.name, index, (), ((one.name, var),))


_MAKERS: dict[str, Callable[[Pipeline], Iterator[Derivation]]] = {
    "in_": _wrappers,
    "clone_in": _clones,
    "rfactor": _factored,
}
