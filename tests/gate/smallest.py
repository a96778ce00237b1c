"""A failure as somebody wants to get it: small, and ready to be run."""

from __future__ import annotations

from tests.gate.case_source import case_source
from tests.gate.check import Gate
from tests.gate.shrink import shrunk


def smallest(gate: Gate, number: int, seconds: float = 300) -> str:
    """A Python program with the smallest pipeline, schedule and sizes that were found in that time
    to fail as the case of a number does; nothing where it does not fail.
    """
    oracle, case = gate.oracle(number), gate.case(number)
    if not gate.judge(case, oracle).mismatch:
        return ""
    case, oracle = shrunk(gate, case, oracle, seconds)
    wrong = gate.judge(case, oracle).mismatch
    return "\n".join((*(f"# {line}" for line in wrong.splitlines()), case_source(case, oracle)))
