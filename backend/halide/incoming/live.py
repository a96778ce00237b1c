"""Pipelines that are in memory, in Halide's own Python package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spaces.backend.halide.incoming.facts import IncomingEstimates
from spaces.backend.halide.incoming.foreign import ForeignCycles, ForeignFacts, ForeignNeeds
from spaces.backend.halide.incoming.program import HalideProgram


def from_halide(
    source: Any,
    *,
    name: str | None = None,
    estimates: IncomingEstimates | None = None,
    needs: ForeignNeeds | None = None,
    cycles: ForeignCycles | None = None,
    ignore_schedule: bool = False,
) -> HalideProgram:
    """A pipeline of Halide's Python package, with the schedule that its Funcs have.

    Args:
        source: a ``halide.Func``, a ``halide.Pipeline``, several Funcs (the outputs), or a class of
            ``halide.Generator``, which takes the defaults of its parameters and this host.
        name: the name of the pipeline; the default is that of its first output.
        estimates: sizes of images and outputs, and values of Params, over those that were set in
            Halide.
        needs: what foreign code needs of its inputs, as :func:`read_hlpipe` takes it.
        cycles: what an element of foreign code costs, as :func:`read_hlpipe` takes it.
        ignore_schedule: whether to leave out the schedule that it has in Halide.

    Raises:
        HalideMissingError: Halide's package, the extra ``halide``, is not installed.
        HalideImportError: the pipeline has parts that cannot come in; it lists all of them.
        HalideFailure: Halide cannot serialize it.
        TypeError: ``source`` or ``estimates`` is something else.
    """
    # Halide's package is optional, and this is the one call that needs it.
    serializing = import_module("spaces.backend.halide.incoming.serializing")
    foreign = ForeignFacts.of(needs, cycles)
    found: HalideProgram = serializing.live_program(
        source, name, estimates, foreign, ignore_schedule
    )
    return found
