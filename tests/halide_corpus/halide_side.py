"""How a case ends in Halide: when Halide refuses it, or which pixels it computes.

Each case has a process of its own, forked from one that has already imported Halide. So a crash or
an endless compilation costs only that case.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection

import numpy as np
from attrs import evolve

from spaces.backend.arguments import Array
from spaces.backend.halide.bridge import STRICT, HalidePipeline, build
from spaces.backend.halide.errors import DirectiveError, LoweringError, RealizationError
from spaces.backend.reference import evaluate
from tests.forked import SERVER
from tests.halide_corpus.algorithms import Algorithm
from tests.halide_corpus.corpus import Case, cases
from tests.halide_corpus.record import End, Outcome

SECONDS = 30.0
"""The time limit of one case; all but endless compilations take a second or two."""

_MARGIN = 64


def outcome(case: Case) -> Outcome:
    """Runs a case in a process of its own."""
    receiver, sender = SERVER.Pipe(duplex=False)
    process = SERVER.Process(target=_answer, args=(case.name, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(SECONDS):
            return Outcome(End.TIMEOUT, f"It was stopped after {SECONDS:g} seconds.")
        end, said = receiver.recv()
        return Outcome(end, said)
    except EOFError:
        process.join()
        return Outcome(End.CRASH, _ending(process.exitcode or 0))
    finally:
        process.kill()
        process.join()
        receiver.close()


def _answer(name: str, sender: Connection) -> None:
    # Halide prints warnings before it refuses a schedule.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    found = observed(cases()[name])
    sender.send((str(found.end), found.said))


def observed(case: Case) -> Outcome:
    """How a case ends in this process."""
    try:
        peer = build(case.algorithm.pipeline, case.schedule)
    except DirectiveError as error:
        return Outcome(End.DIRECTIVE, _plain(error))
    try:
        peer.lowered(_target(case))
    except LoweringError as error:
        return Outcome(End.LOWERING, _plain(error))
    if case.is_gpu:
        return Outcome(End.LOWERS)
    found = _run(peer, case.algorithm)
    if found.end is End.RUN and case.verdict().legal:
        return _on_larger_images(peer, case.algorithm, found)
    return found


def _target(case: Case) -> str:
    """Halide's name of the device; programs for a GPU are lowered and never run."""
    if not case.is_gpu:
        return STRICT
    return f"x86-64-linux-cuda-cuda_capability_{case.device.removeprefix('sm_')}"


def _run(peer: HalidePipeline, given: Algorithm) -> Outcome:
    try:
        run = peer.prepare(given.inputs, sizes=given.sizes, target=STRICT)
    except LoweringError as error:
        return Outcome(End.CODEGEN, _plain(error))
    try:
        theirs = run()
    except RealizationError as error:
        return Outcome(End.RUN, _plain(error))
    said = _differences(theirs, evaluate(given.pipeline, given.inputs, sizes=given.sizes))
    return Outcome(End.WRONG if said else End.EQUAL, said)


def _on_larger_images(peer: HalidePipeline, given: Algorithm, refused: Outcome) -> Outcome:
    """The refusal, with how the case ends on images that are larger on every side."""
    inputs = {name: np.pad(image, _MARGIN) for name, image in given.inputs.items()}
    ranges = {
        name: tuple((-_MARGIN, extent) for extent in image.shape[::-1])
        for name, image in inputs.items()
    }
    larger = evolve(given, inputs=inputs, sizes={**given.sizes, **ranges})
    then = _run(peer, larger).end
    ending = f"is {then}" if then.startswith("refused") else then
    return evolve(
        refused,
        said=f"{refused.said} (On images {_MARGIN} pixels larger on every side it {ending}.)",
    )


def _differences(theirs: Mapping[str, Array], ours: Mapping[str, Array]) -> str:
    """Where outputs differ, bit by bit; empty if nowhere."""
    return " ".join(filter(None, (_difference(name, theirs[name], ours[name]) for name in ours)))


def _difference(name: str, theirs: Array, ours: Array) -> str:
    wrong = theirs.view(f"u{theirs.itemsize}") != ours.view(f"u{ours.itemsize}")
    if not wrong.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0][::-1])
    # Leaves out the values: unwritten storage holds other values in the next run.
    return f"{int(wrong.sum())} of {wrong.size} values of {name} differ, the first at {first}."


def _plain(error: Exception) -> str:
    """Halide's message without the numbers that it appends to names, 300 characters at most."""
    said = re.sub(r"\$\w+", "", str(error))
    return said if len(said) <= 300 else f"{said[:297]}..."


def _ending(code: int) -> str:
    if code >= 0:
        return f"Its process ended with exit status {code}."
    return f"Its process ended with {signal.Signals(-code).name}."
