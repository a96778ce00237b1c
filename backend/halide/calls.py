"""A schedule as directives that Halide knows, in the order in which Halide takes them.

They are the directives of the text form with four differences. Directives that add a Func stand
alone, before all others. The inner loop that Halide makes for ``vectorize(x, 8)`` and similar
directives has no name; if another directive needs its name, the directive becomes a split and a
kind. Funcs that cannot be inlined get an explicit ``compute_root()``, because Halide's default is
inline.
Directives that only this library has are errors.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from attrs import evolve

from spaces.backend.halide.errors import DirectiveError
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.derivations import Clone, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import SINGLE_THREAD, Tail
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.calls import Argument, DirectiveCall
from spaces.model.writing.chain import StageCalls, directive_calls

_SUFFIXES = {"vectorize": "v", "unroll": "u", "parallel": "p"}
"""The name of the inner loop of ``vectorize(x, factor)`` and similar directives: ``x_v``."""


_LEVELS = ("compute_root", "compute_at", "compute_inline")


def halide_calls(pipeline: Pipeline, schedule: Schedule) -> tuple[StageCalls, ...]:
    """The directives of ``schedule``: those that add Funcs, then the others, consumers first.

    Raises:
        DirectiveError: a directive has no counterpart in Halide, or a factor is a parameter.
        ValueError: ``schedule`` is not a schedule of this pipeline's Funcs and stages.
    """
    added: list[StageCalls] = []
    written: dict[tuple[str, int], list[StageCalls]] = {}
    for stage_calls in directive_calls(pipeline, schedule):
        if stage_calls.adds is not None:
            adding, stage_calls = stage_calls.parted()
            added.insert(_place_of(adding, added), adding)
        written.setdefault((stage_calls.func, stage_calls.stage), []).append(stage_calls)
    known, result = derived(pipeline, schedule), added
    for function in reversed(known.functions):
        levels = {
            level.loop
            for func in schedule.funcs
            for level in (func.compute, func.store, func.hoist)
            if level.func == function.name
        }
        for stage in range(len(function.stages)):
            lines = written.get((function.name, stage), [])
            if not lines or _is_special(lines[-1]):
                lines = [*lines, StageCalls(function.name, stage, ())]
            for given in lines:
                mentioned = levels | _loops_split(given.calls)
                calls = [c for one in given.calls for c in _expanded(function.name, one, mentioned)]
                is_output = function.name in known.outputs
                needs_root = not (is_output or known.may_inline(function.name))
                is_first = stage == 0 and not _is_special(given)
                if is_first and needs_root and not any(c.name in _LEVELS for c in calls):
                    calls.insert(0, DirectiveCall("compute_root"))
                if calls:
                    result.append(evolve(given, calls=tuple(calls)))
    return tuple(result)


def _place_of(line: StageCalls, added: Sequence[StageCalls]) -> int:
    """Where a directive that adds a Func goes. Halide clones a Func only before it has wrappers."""
    step = line.adds
    if isinstance(step, Clone):
        for place, other in enumerate(added):
            if isinstance(other.adds, Wrap) and other.adds.func == step.func:
                made = {one.adds.name for one in added[place:] if one.adds is not None}
                return len(added) if made.intersection(step.consumers) else place
    return len(added)


def _is_special(line: StageCalls) -> bool:
    """Whether a line schedules a specialization."""
    return _names(line.calls[:1], "specialize")


def loops_made(call: DirectiveCall, loops: Container[str]) -> Iterator[str]:
    """The loops that a directive makes of ``loops``; loops made of RVars are RVars."""
    names = [str(a) for a in call.args if not isinstance(a, int | Tail)]
    if call.name == "fuse":
        made = [(old, names[2]) for old in names[:2]]
    elif call.name in ("split", "tile", "gpu_tile"):
        width = sum(isinstance(a, int) for a in call.args)
        made = [(names[i % width], new) for i, new in enumerate(names[width:])]
    else:
        return
    yield from (new for old, new in made if old in loops)


def _names(calls: Sequence[DirectiveCall], prefix: str) -> bool:
    return any(call.name.startswith(prefix) for call in calls)


def _loops_split(calls: Sequence[DirectiveCall]) -> set[str]:
    """Loops that directives of a stage name explicitly."""
    return {
        str(a)
        for call in calls
        for a in (call.args[:1] if call.name in _SUFFIXES else call.args)
        if not isinstance(a, int | Tail | Expr)
    }


def _expanded(func: str, call: DirectiveCall, mentioned: set[str]) -> Iterator[DirectiveCall]:
    once = [loop.name for loop in SINGLE_THREAD if loop.name in call.args]
    if once:
        raise DirectiveError(
            f"{call.name} of Func {func} names {once[0]}, but in Halide the loops of "
            "gpu_single_thread() have no names."
        )
    if call.name == "loops":
        raise DirectiveError(
            f"No directives of Halide make the loops of Func {func}: one is lost, doubled "
            "or unknown."
        )
    if _names([call], "split") or call.name in ("tile", "gpu_tile", "fold_storage"):
        _require_numbers(func, call, call.args)
    if call.name not in _SUFFIXES or len(call.args) == 1:
        yield call
        return
    loop, factor, *tail = call.args
    _require_numbers(func, call, (factor,))
    inner = f"{loop}_{_SUFFIXES[call.name]}"
    if inner not in mentioned:
        yield call
        return
    yield DirectiveCall("split", (loop, loop, inner, factor, *tail))
    yield DirectiveCall(call.name, (loop if call.name == "parallel" else inner,))


def _require_numbers(func: str, call: DirectiveCall, args: Sequence[Argument]) -> None:
    """Checks factors: the last argument except a tail is a number; all arguments of a directive
    over several loops are names.
    """
    factor = [a for a in args if not isinstance(a, Tail)][-1]
    if isinstance(factor, str):
        raise DirectiveError(
            f"The factor {factor!r} of {call.name} on Func {func} is a parameter; give it a value."
        )
