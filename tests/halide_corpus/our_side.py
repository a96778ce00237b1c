"""Runs our own code under a legal schedule: on the CPU, or on the emulator of a GPU."""

from __future__ import annotations

import numpy as np

from spaces import CheckedSchedule, Emulator, compile_cpu, compile_gpu, evaluate
from tests.halide_corpus.corpus import Case


def wrong_outputs(case: Case, checked: CheckedSchedule) -> list[str]:
    """The outputs that differ from the reference in any bit."""
    given = case.algorithm
    if case.is_gpu:
        program = compile_gpu(checked)
        emulator = Emulator("shuffled", seed=7)
        found = program.run(given.inputs, sizes=given.sizes, executor=emulator)
    else:
        found = compile_cpu(checked).run(given.inputs, sizes=given.sizes)
    expected = evaluate(given.pipeline, given.inputs, sizes=given.sizes)
    return [
        name
        for name, values in expected.items()
        if np.ascontiguousarray(found[name]).tobytes() != np.ascontiguousarray(values).tobytes()
    ]
