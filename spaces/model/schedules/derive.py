"""Pipelines as derivations rewrite them: new Funcs that change no result.

A schedule is always a schedule of the pipeline that its derivations make.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from functools import lru_cache, partial

from attrs import evolve, field, frozen

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.expr import Call, Expr, Variable
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32, Type
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.refusal import Refusal
from spaces.model.schedules.rfactor import factored
from spaces.model.schedules.schedule import Schedule


@frozen
class Derived:
    """The pipeline after derivations; a refused derivation leaves it unchanged."""

    pipeline: Pipeline
    refusals: tuple[Refusal, ...] = field(default=())


def derived(pipeline: Pipeline, schedule: Schedule) -> Pipeline:
    """The pipeline that ``schedule`` has entries for: ``pipeline`` after those derivations that
    were not applied to it before. Derivations that cannot be applied are left out.

    Its outputs, images and parameters are those of ``pipeline``, and so are its results.
    """
    return derivation(pipeline, schedule).pipeline


def derivation(pipeline: Pipeline, schedule: Schedule) -> Derived:
    """The same, with the derivations that cannot be applied."""
    if schedule.derivations == pipeline.derivations:
        return Derived(pipeline)
    steps = schedule.derivations
    for length in range(_STRIDE, len(steps), _STRIDE):
        _applied(pipeline, steps[:length])
    return _applied(pipeline, steps)


_STRIDE = 32
"""At most this many steps are applied by recursion; for longer lists the results of earlier steps
are in the cache already.
"""


@lru_cache(maxsize=256)
def _applied(pipeline: Pipeline, derivations: tuple[Derivation, ...]) -> Derived:
    """The result of the last step on the cached result of the others: directives add Funcs one
    after another.
    """
    if not derivations:
        return Derived(pipeline)
    return _with_step(_applied(pipeline, derivations[:-1]), derivations[-1])


def _with_step(found: Derived, step: Derivation) -> Derived:
    """Apply one more derivation, unless it is applied already."""
    pipeline = found.pipeline
    if step in pipeline.derivations or any(r.step == step for r in found.refusals):
        return found
    try:
        changed = _derive(pipeline, step)
    except Refusal as refusal:
        return evolve(found, refusals=(*found.refusals, refusal))
    return evolve(found, pipeline=evolve(changed, derivations=(*pipeline.derivations, step)))


def _derive(pipeline: Pipeline, step: Derivation) -> Pipeline:
    _require_free_name(pipeline, step)
    match step:
        case Wrap():
            return _wrapped(pipeline, step)
        case Clone():
            return _cloned(pipeline, step)
        case RFactor():
            return factored(pipeline, step)


def _require_free_name(pipeline: Pipeline, step: Derivation) -> None:
    if step.name in {*pipeline.is_image, *(scalar.name for scalar in pipeline.scalars)}:
        raise Refusal(
            "derive.name-taken",
            step,
            f"{step} makes a Func called {step.name}, but something else in the pipeline has that "
            "name.",
            f"Give the other {step.name} another name.",
        )


def _wrapped(pipeline: Pipeline, step: Wrap) -> Pipeline:
    if step.func not in pipeline.is_image:
        raise _unknown(step, step.func, "Func or input image", tuple(pipeline.is_image))
    wraps = [d for d in pipeline.derivations if isinstance(d, Wrap) and d.func == step.func]
    if step.consumers:
        # A consumer with a wrapper of its own reads that one, and not the common wrapper.
        replaced = {step.func, *(d.name for d in wraps if not d.consumers)}
        consumers = _consumers(pipeline, step, replaced)
    else:
        replaced = {step.func}
        wrappers = {d.name for d in wraps}
        consumers = tuple(n for n in pipeline.consumers(step.func) if n not in wrappers)
        if not consumers:
            raise _not_read(step, "no Func reads", "Leave it out")
    changed = _redirected(pipeline, consumers, dict.fromkeys(replaced, step.name))
    return _with_function(changed, _wrapper(pipeline, step), after=step.func)


def _wrapper(pipeline: Pipeline, step: Wrap) -> Function:
    """The Func that equals another Func or an image, with the names that Halide gives its Vars."""
    if pipeline.is_image[step.func]:
        image = pipeline.image(step.func)
        args = tuple(f"_{d}" for d in range(image.dimensions))
        values: dict[int | None, Type] = {None: image.type}
    else:
        function = pipeline.function(step.func)
        args = function.args
        values = dict(zip(function.components, function.types, strict=True))
    at = tuple(Variable(Int32, name) for name in args)
    body = Stage(at, tuple(Call(type, step.func, at, c) for c, type in values.items()))
    return Function(step.name, args, tuple(values.values()), (body,))


def _cloned(pipeline: Pipeline, step: Clone) -> Pipeline:
    known = [f.name for f in pipeline.functions]
    if step.func not in known:
        raise _unknown(step, step.func, "Func", known)
    source = pipeline.function(step.func)
    consumers = _consumers(pipeline, step, {step.func})
    clone = evolve(_calling(source, {step.func: step.name}), name=step.name)
    changed = _redirected(pipeline, consumers, {step.func: step.name})
    return _with_function(changed, clone, after=step.func)


def _consumers(pipeline: Pipeline, step: Wrap | Clone, sources: Set[str]) -> tuple[str, ...]:
    """The named consumers. Each reads one of ``sources``."""
    known = [f.name for f in pipeline.functions]
    if not step.consumers:
        raise _not_read(step, "no Func is named that reads", "Name the Funcs that are to read it")
    for name in step.consumers:
        if name not in known:
            raise _unknown(step, name, "Func", known)
        callees = set(pipeline.function(name).callees)
        if name == step.func or callees.isdisjoint(sources):
            readers = pipeline.consumers(step.func)
            legal = f"Name one that does: {', '.join(readers)}" if readers else "Leave it out"
            raise _not_read(step, f"{name} does not read", legal)
    return step.consumers


def _unknown(step: Derivation, name: str, kind: str, known: Sequence[str]) -> Refusal:
    message = f"{step} names {name!r}, but there is no such {kind} to derive from."
    advice = f"There are {', '.join(known)}."
    return Refusal("derive.unknown-func", step, message, advice)


def _not_read(step: Derivation, reason: str, legal: str) -> Refusal:
    message = f"{step} changes nothing, for {reason} {step.func} itself."
    return Refusal("derive.not-read", step, message, f"{legal}.")


def _redirected(
    pipeline: Pipeline, consumers: Collection[str], targets: Mapping[str, str]
) -> Pipeline:
    """Replace names that ``consumers`` call: ``targets`` gives the new name by the old."""
    return evolve(
        pipeline,
        functions=tuple(
            _calling(f, targets) if f.name in consumers else f for f in pipeline.functions
        ),
    )


def _calling(function: Function, targets: Mapping[str, str]) -> Function:
    def change(node: Expr) -> Expr:
        if isinstance(node, Call) and node.target in targets:
            return Call(node.type, targets[node.target], node.args, node.component)
        return node

    return evolve(
        function,
        stages=tuple(stage.mapped(partial(rewrite, change=change)) for stage in function.stages),
    )


def _with_function(pipeline: Pipeline, new: Function, after: str) -> Pipeline:
    """The pipeline with one more Func, behind the one or the image called ``after``."""
    names = [f.name for f in pipeline.functions]
    place = names.index(after) + 1 if after in names else 0
    functions = (*pipeline.functions[:place], new, *pipeline.functions[place:])
    return evolve(pipeline, functions=functions)
