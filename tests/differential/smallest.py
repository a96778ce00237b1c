"""A failure as somebody wants to get it: small, and ready to be run."""

from __future__ import annotations

from tests.differential.case_source import case_source
from tests.differential.check import Fuzzer
from tests.differential.shrink import shrunk


def smallest(fuzzer: Fuzzer, number: int, seconds: float = 300) -> str:
    """A Python program with the smallest pipeline, schedule and sizes that were found in that time
    to fail as the case of a number does; nothing where it does not fail.
    """
    oracle, case = fuzzer.oracle(number), fuzzer.case(number)
    if not fuzzer.judge(case, oracle).mismatch:
        return ""
    case, oracle = shrunk(fuzzer, case, oracle, seconds)
    wrong = fuzzer.judge(case, oracle).mismatch
    return "\n".join((*(f"# {line}" for line in wrong.splitlines()), case_source(case, oracle)))
