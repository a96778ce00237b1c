"""Pipelines with a part less: what a failing case is tried with, the largest parts first."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from spaces import Expr, Int32, Pipeline, Schedule, derived
from spaces.model.algorithm.pipeline import Function, ReductionVar, Stage
from spaces.model.expressions.expr import Call, Const, Variable, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.schedules.schedule import FuncSchedule
from tests.differential.layouts import DENSE, placed
from tests.differential.pipeline_source import rewritten
from tests.differential.subjects import Sizes, Subject

Part = tuple[Pipeline, Schedule]


def smaller_subjects(subject: Subject, schedule: Schedule) -> Iterator[tuple[Subject, Schedule]]:
    """Subjects with a smaller pipeline, or smaller outputs, and the schedule without what it says
    of parts that are gone.
    """
    for name in [n for n, layout in subject.layouts.items() if layout != DENSE]:
        yield _dense(subject, name), schedule
    if subject.pipeline.estimates:
        yield evolve(subject, pipeline=evolve(subject.pipeline, estimates=())), schedule
    for pipeline, kept in _smaller(subject.pipeline, schedule):
        smaller = rewritten(evolve(pipeline, estimates=()))
        if smaller is not None:
            yield _limited(subject, smaller), _fitting(kept, smaller)
    yield from ((smaller, schedule) for smaller in _smaller_outputs(subject))


def _dense(subject: Subject, name: str) -> Subject:
    """The subject with a dense image, or with a dense array for an output."""
    layouts, images = {**subject.layouts, name: DENSE}, dict(subject.images)
    if name in images:
        images[name] = placed(images[name], DENSE).array
    return evolve(subject, layouts=layouts, images=images)


def _limited(subject: Subject, pipeline: Pipeline) -> Subject:
    """The subject with a pipeline that has some of its images and outputs."""
    kept = {image.name for image in pipeline.images}
    return evolve(
        subject,
        pipeline=pipeline,
        images={n: array for n, array in subject.images.items() if n in kept},
        places={n: place for n, place in subject.places.items() if n in kept},
        layouts={n: one for n, one in subject.layouts.items() if n in {*kept, *pipeline.outputs}},
        outputs=tuple({n: sizes[n] for n in pipeline.outputs} for sizes in subject.outputs),
    )


def _fitting(schedule: Schedule, pipeline: Pipeline) -> Schedule:
    """What ``schedule`` says of the Funcs that there are still, and defaults of stages whose loops
    are others now.
    """
    default = Schedule.default(derived(pipeline, schedule))
    entries = {func.name: func for func in schedule.funcs}
    return schedule.with_funcs(_entry(entries.get(f.name, f), f) for f in default.funcs)


def _entry(func: FuncSchedule, default: FuncSchedule) -> FuncSchedule:
    return func if len(func.stages) == len(default.stages) else default


def _smaller(pipeline: Pipeline, schedule: Schedule) -> Iterator[Part]:
    for output in pipeline.outputs if len(pipeline.outputs) > 1 else ():
        outputs = tuple(name for name in pipeline.outputs if name != output)
        yield evolve(pipeline, outputs=outputs), schedule
    for function in pipeline.functions:
        if function.name not in pipeline.outputs:
            yield _without(pipeline, function), schedule
    for function in pipeline.functions:
        for index in range(len(function.stages) - 1, 0, -1):
            stages = (*function.stages[:index], *function.stages[index + 1 :])
            kept = _without_stage(schedule, function.name, index)
            yield _replaced(pipeline, evolve(function, stages=stages)), kept
    for function in pipeline.functions:
        for index, stage in enumerate(function.stages):
            for smaller in _smaller_stages(stage):
                stages = (*function.stages[:index], smaller, *function.stages[index + 1 :])
                yield _replaced(pipeline, evolve(function, stages=stages)), schedule


def _replaced(pipeline: Pipeline, function: Function) -> Pipeline:
    functions = tuple(function if f.name == function.name else f for f in pipeline.functions)
    return evolve(pipeline, functions=functions)


def _without(pipeline: Pipeline, function: Function) -> Pipeline:
    """Reads of ``function`` give 1, so that nothing depends on it."""

    def one(node: Expr) -> Expr:
        is_read = isinstance(node, Call) and node.target == function.name
        return constant(1, node.type) if is_read else node

    functions = tuple(
        f
        if f.name == function.name
        else evolve(f, stages=tuple(s.mapped(lambda e: rewrite(e, one)) for s in f.stages))
        for f in pipeline.functions
    )
    return evolve(pipeline, functions=functions)


def _without_stage(schedule: Schedule, name: str, index: int) -> Schedule:
    func = schedule.of(name)
    stages = (*func.stages[:index], *func.stages[index + 1 :])
    atomic = tuple(s - (s > index) for s in func.atomic if s != index)
    return schedule.replace(evolve(func, stages=stages, atomic=atomic))


def _smaller_stages(stage: Stage) -> Iterator[Stage]:
    for index in range(len(stage.predicates)):
        rest = (*stage.predicates[:index], *stage.predicates[index + 1 :])
        yield evolve(stage, predicates=rest)
    for index, rvar in enumerate(stage.rvars):
        for smaller in _smaller_ranges(rvar):
            rvars = (*stage.rvars[:index], smaller, *stage.rvars[index + 1 :])
            yield evolve(stage, rvars=rvars)
    for index, value in enumerate(stage.values):
        for simpler in _simpler(value):
            values = (*stage.values[:index], simpler, *stage.values[index + 1 :])
            yield evolve(stage, values=values)
    for index, arg in enumerate(stage.args):
        for simpler in _simpler(arg):
            yield evolve(stage, args=(*stage.args[:index], simpler, *stage.args[index + 1 :]))
    for index, predicate in enumerate(stage.predicates):
        for simpler in _simpler(predicate):
            rest = (*stage.predicates[:index], simpler, *stage.predicates[index + 1 :])
            yield evolve(stage, predicates=rest)


def _smaller_ranges(rvar: ReductionVar) -> Iterator[ReductionVar]:
    match rvar:
        case ReductionVar(min=Const(value=low), extent=Const(value=extent)):
            extents = dict.fromkeys((1, extent // 2, extent - 1))
            yield from (evolve(rvar, extent=constant(e, Int32)) for e in extents if 0 < e < extent)
            if low:
                yield evolve(rvar, min=constant(0, Int32))


def _simpler(root: Expr) -> Iterator[Expr]:
    """The expression with one of its parts, the largest first, replaced by a part of that or by a
    number.
    """
    for node in reversed(list(walk(root))):
        for simple in _parts(node):
            yield rewrite(root, lambda n, old=node, new=simple: new if n is old else n)


def _parts(node: Expr) -> Iterator[Expr]:
    if isinstance(node, Const | Variable):
        return
    yield from dict.fromkeys(c for c in node.children if c.type == node.type)
    if not node.type.is_bool:
        yield from (constant(value, node.type) for value in (0, 1))


def _smaller_outputs(subject: Subject) -> Iterator[Subject]:
    """One size in place of all, and in it one dimension of an output, or of all, shorter, or begun
    at 0.
    """
    distinct = [s for n, s in enumerate(subject.outputs) if s not in subject.outputs[:n]]
    for sizes in distinct if len(distinct) > 1 else ():
        yield evolve(subject, outputs=(sizes,) * len(subject.outputs))
    for sizes in distinct:
        for d in range(max(map(len, sizes.values()))):
            for names in dict.fromkeys((tuple(sizes), *((name,) for name in sizes))):
                for changed in _smaller_sizes(sizes, d, names):
                    yield evolve(subject, outputs=(changed,) * len(subject.outputs))


def _smaller_sizes(sizes: Sizes, dimension: int, names: tuple[str, ...]) -> Iterator[Sizes]:
    """The outputs named get a range less in a dimension."""
    having = [sizes[n][dimension] for n in names if len(sizes[n]) > dimension]
    for low, extent in having[:1]:
        for new in dict.fromkeys(((low, extent // 2), (low, extent - 1), (0, extent))):
            if new[1] > 0 and new != (low, extent):
                yield {
                    name: (*ranges[:dimension], new, *ranges[dimension + 1 :])
                    if name in names and len(ranges) > dimension
                    else ranges
                    for name, ranges in sizes.items()
                }
