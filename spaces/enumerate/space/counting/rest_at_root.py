"""Whether half-decided schedules go with the plainest schedule of the open Funcs: all of these at
root, as written.

Rules say too little about a half-decided schedule. Tiles that are rounded up need values that the
images may not have, and a coordinate that reads an open Func has no limits yet. Random schedules
rarely go on where the plainest rest breaks a rule, for other rests seldom mend it.
"""

from __future__ import annotations

from collections.abc import Mapping

from spaces.constraints.legality.judge import ask_bounds, bounds_of
from spaces.constraints.rules.findings import Asked, failing
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.process.final_funcs import funcs_around, unknown_reads
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.algorithm.inlined import live_functions
from spaces.model.formulas.algebra import INTEGERS, FormulaError, read_all
from spaces.model.formulas.interval import Box
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def suits_rest_at_root(state: ProcessState) -> bool:
    """Whether the decided Funcs, with numbers, break no rule if all open Funcs are computed at root
    as written.

    Args:
        state: one that may become legal.
    """
    pipeline = state.pipeline
    unknown = unknown_reads(pipeline, state.entries)
    if not unknown and (state.has_structure or _needs_little(state)):
        return True
    decided = {entry.name: entry for entry in bind(Schedule(state.entries), state.numbers).funcs}
    read = {*pipeline.outputs, *_read(state)}
    plain = (FuncSchedule.default(f, stored=f.name in read) for f in pipeline.functions)
    entries = tuple(decided.get(entry.name, entry) for entry in plain)
    try:
        bounds = bounds_of(pipeline, Schedule(entries, pipeline.derivations), memo=state.nests)
    except LevelError:  # an open Func reads one stage of fused loops, and another stage reads it
        return False
    if isinstance(bounds, Asked):
        return False
    changing = funcs_around(pipeline, state.entries, unknown).intersection(decided)
    judged = {pipeline.outputs[0], *changing}  # the first output has the checks of images
    funcs = [name for name in bounds.placements if name in judged]
    asked = ask_bounds(bounds, state.device, funcs)
    return not any(True for _ in failing(asked, pipeline.usual_values()))


def _needs_little(state: ProcessState) -> bool:
    """Whether the decided Funcs need no more values of the open ones than if all were computed at
    root as written. Then they need no more of the images.
    """
    part = decided_part(state.pipeline, frozenset(entry.name for entry in state.entries))
    schedule = bind(Schedule(state.entries, part.derivations), state.numbers)
    bounds = bounds_of(part, schedule, memo=state.nests)
    if isinstance(bounds, Asked):
        return False
    is_image, boxes, sizes = state.pipeline.is_image, state.sizes.boxes, part.usual_values()
    return all(
        is_image.get(name, False) or _lies_in(box, boxes.get(name, {}), sizes)
        for name, box in bounds.inputs.items()
    )


def _lies_in(box: Box, known: Mapping[str, tuple[int, int]], sizes: Mapping[str, float]) -> bool:
    """Whether a box lies in another one, given by dimension as (min, extent)."""
    if len(known) < len(box):
        return False
    for interval, (low, extent) in zip(box, known.values(), strict=False):
        if interval.min is None or interval.max is None:
            return False
        try:
            first, last = read_all((interval.min, interval.max), sizes, INTEGERS)
        except FormulaError:
            return False
        if not low <= first <= last < low + extent:
            return False
    return True


def _read(state: ProcessState) -> set[str]:
    """The Funcs that others read once the decided ones are inlined or not."""
    inlined = frozenset(entry.name for entry in state.entries if entry.compute.is_inline)
    functions = live_functions(state.pipeline, inlined)
    return set[str]().union(*(function.callees for function in functions))
