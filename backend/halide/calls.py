"""A schedule as the directives that Halide knows, in the order in which it takes them.

They are the directives of the text form with three differences: ``vectorize(x, 8)`` and its kin
are written as a split and a kind, because the loop that Halide makes then has no name that a level
could mention; Funcs with updates are put at root explicitly, where Halide's default is inline; and
what only this library can say is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from backend.halide.errors import DirectiveError
from spaces.model.chain import Argument, DirectiveCall, StageCalls, directive_calls
from spaces.model.pipeline import Pipeline
from spaces.model.schedule import Schedule, Tail

_SUFFIXES = {"vectorize": "v", "unroll": "u", "parallel": "p"}
"""How the inner loop of ``vectorize(x, factor)`` and its kin is named: ``x_v``."""


def halide_calls(pipeline: Pipeline, schedule: Schedule) -> tuple[StageCalls, ...]:
    """The directives of ``schedule``, consumers first.

    Raises:
        DirectiveError: a directive has no counterpart in Halide, or a factor is a parameter.
        ValueError: ``schedule`` is not one of this pipeline's Funcs and stages.
    """
    written = {(s.func, s.stage): s for s in directive_calls(pipeline, schedule)}
    result = []
    for function in reversed(pipeline.functions):
        for stage in range(len(function.stages)):
            given = written.get((function.name, stage), StageCalls(function.name, stage, ()))
            calls = [c for call in given.calls for c in _expanded(function.name, call)]
            needs_root = not function.is_pure and function.name not in pipeline.outputs
            if stage == 0 and needs_root and not _names(calls, "compute_"):
                calls.insert(0, DirectiveCall("compute_root"))
            if calls:
                result.append(evolve(given, calls=tuple(calls)))
    return tuple(result)


def _names(calls: Sequence[DirectiveCall], prefix: str) -> bool:
    return any(call.name.startswith(prefix) for call in calls)


def _expanded(func: str, call: DirectiveCall) -> Iterator[DirectiveCall]:
    if call.name == "loops":
        raise DirectiveError(
            f"The loops of Func {func} follow from no directives of Halide: one is lost, doubled "
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
    yield DirectiveCall("split", (loop, loop, inner, factor, *tail))
    yield DirectiveCall(call.name, (loop if call.name == "parallel" else inner,))


def _require_numbers(func: str, call: DirectiveCall, args: Sequence[Argument]) -> None:
    """The last argument, a tail aside, is a factor; those of a family are names."""
    factor = [a for a in args if not isinstance(a, Tail)][-1]
    if isinstance(factor, str):
        raise DirectiveError(
            f"The factor {factor!r} of {call.name} on Func {func} is a parameter; give it a value."
        )
