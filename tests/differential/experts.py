"""Many pipelines that libraries tune by hand, under schedules as experts write them, against the
reference: ``python -m tests.differential.experts --cases 4000``.
"""

from __future__ import annotations

import argparse
import random
from functools import partial

from spaces import CheckedSchedule, device, verify
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.model.writing.text import format_schedule
from tests.backend.llvm.guarded_scratch import compile_guarded, run_poisoned
from tests.differential.expert_schedules import expert_schedule
from tests.differential.oracle import Oracle
from tests.differential.pipelines import KINDS
from tests.differential.quick_code import quick_code
from tests.differential.subjects import subject_of_family
from tests.differential.tuned import TUNED
from tests.differential.verdict_checks import placed, run_code

UPDATED = ("line", "named domain", "predicate", "reduction", "scan", "scatter", "tuple")
"""Families of the fuzzer that have updates."""

DRAWN = {**TUNED, **{f"{kind} of the fuzzer": KINDS[kind] for kind in UPDATED}}
"""How to draw the pipelines of each kind."""


def legal_case(rng: random.Random, kind: str) -> tuple[Oracle, CheckedSchedule]:
    """A pipeline of a kind of :data:`DRAWN`, and a legal schedule."""
    while True:
        oracle = Oracle(subject_of_family(rng, kind, DRAWN[kind](rng)))
        pipeline = oracle.subject.pipeline
        for _ in range(4):
            verdict = verify(pipeline, expert_schedule(rng, pipeline), device("cpu"))
            if isinstance(verdict, CheckedSchedule):
                return oracle, verdict


def check_case(oracle: Oracle, verdict: CheckedSchedule, optimised: bool) -> CompiledPipeline:
    """The compiled code of a case, once it has computed the reference at several sizes.

    Raises:
        Mismatch: it does not.
        AssertionError: it writes beside an output.
    """
    if optimised:
        compiled = compile_guarded(verdict)
        run_code(oracle, verdict, partial(run_poisoned, compiled))
        return compiled
    with quick_code():
        compiled = compile_cpu(verdict)
        run_code(oracle, verdict, placed(compiled.run, oracle))
    return compiled


def main() -> None:
    """Prints each case that fails; exits with 1 where one does."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.experts")
    parser.add_argument("--cases", type=int, default=1000, help="how many to check")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    given = parser.parse_args()
    failing = 0
    kinds = list(DRAWN)
    for number in range(given.first, given.first + given.cases):
        kind = kinds[number % len(kinds)]
        oracle, verdict = legal_case(random.Random(f"experts {number}"), kind)
        try:
            check_case(oracle, verdict, optimised=number % 5 == 0)
        except Exception as error:
            failing += 1
            text = format_schedule(verdict.schedule, oracle.subject.pipeline)
            print(f"case {number}, {kind}: {type(error).__name__}: {error}\n{text}\n", flush=True)
    print(f"{failing} of {given.cases} cases fail.")
    raise SystemExit(failing > 0)


if __name__ == "__main__":
    main()
