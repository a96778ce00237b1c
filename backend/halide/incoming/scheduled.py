"""Which Funcs somebody has scheduled in Halide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve

from spaces.backend.halide.file.contents import Contents
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


def scheduled_funcs(
    contents: Contents, names: Mapping[str, str], pipeline: Pipeline, schedule: Schedule
) -> Iterator[str]:
    """The names here of Funcs with directives in Halide; ``names`` gives their names there.

    A place that only this library has given to a Func with updates does not count, nor does the
    place of an output.
    """
    whole = derived(pipeline, schedule)
    plain = Schedule.default(whole)
    tables = {func.name: func.func_schedule for func in contents.funcs}
    for function in whole.functions:
        table = tables.get(names.get(function.name, function.name))
        level = None if table is None else table.compute_level
        is_placed = level is not None and bool(level.func_name or level.var_name)
        entry, default = schedule.of(function.name), plain.of(function.name)
        if function.name in pipeline.outputs:
            is_placed = False
        elif not whole.may_inline(function.name) and not is_placed:
            entry = evolve(entry, compute=default.compute, store=default.store)
        if is_placed or entry != default:
            yield function.name
