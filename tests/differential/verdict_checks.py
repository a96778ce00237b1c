"""Holds a legal verdict against what happens: loop nests, kernels and compiled code, and proofs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.preconditions import SizeError
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.proofs.prove import prove
from spaces.model.formulas.algebra import evaluate as number
from tests.backend.llvm.guarded_scratch import Rubbish
from tests.differential.gpu_machine import GpuMachine
from tests.differential.layouts import run_placed
from tests.differential.oracle import Oracle
from tests.differential.rounding import is_close, tolerances
from tests.differential.shadow import Shadow, TooLong, Trouble
from tests.differential.stored import stored_elements
from tests.differential.subjects import EXACT, LARGE, ODD, Subject

MOST_STORED = 1 << 26
"""Elements of all arrays of a case together, beyond which it is not run."""

OBLIGATION_MS, PROOF_SECONDS = 50, 0.5
"""The time of the solver for one obligation, and the time of all proofs about a schedule."""

PROVEN, UNKNOWN, CASES_PROVEN = "obligations proven", "obligations unknown", "cases proven"
"""Names of counts of proofs."""

REFUTED = "legal, but refuted"
"""How a mismatch begins that a proof shows."""

Outputs = Mapping[str, NDArray[Any]]


class Mismatch(Exception):
    """What happens is not what the verdict says."""


def run_nest(oracle: Oracle, verdict: CheckedSchedule) -> None:
    """The loop nest at the first size that is accepted."""
    size = accepted(oracle, verdict)
    if size is None:
        return
    try:
        values = _whole_values(oracle, size)
        limits = tolerances(verdict, oracle.subject, size)
        oracle.run_shadow(Shadow(verdict.at(values).nest), size, limits)
    except Trouble as trouble:
        raise Mismatch(f"legal, but at size {size}: {trouble}") from trouble
    except TooLong:
        return


def run_kernels(oracle: Oracle, verdict: CheckedSchedule, made: GpuPipeline) -> Counter[str]:
    """The kernels at the first size that is accepted."""
    size = accepted(oracle, verdict)
    if size is None:
        return Counter(refused=1)
    try:
        limits = tolerances(verdict, oracle.subject, size)
        oracle.run_gpu(GpuMachine(made.at(oracle.device_values(size))), size, limits)
    except Trouble as trouble:
        raise Mismatch(f"legal, but its kernels at size {size}: {trouble}") from trouble
    except TooLong:
        return Counter()
    return Counter(interpreted=1)


def placed(run: Callable[..., Outputs], oracle: Oracle) -> Callable[..., Outputs]:
    """``run`` into arrays of the subject's layouts."""
    return partial(run_placed, run, oracle.subject.pipeline, oracle.subject.layouts)


def prove_legal(verdict: CheckedSchedule) -> Counter[str]:
    """How many obligations of a legal schedule were proven, and how many are unknown.

    Raises:
        Mismatch: one is refuted.
    """
    report = prove(verdict, timeout_ms=OBLIGATION_MS, seconds=PROOF_SECONDS)
    for proof in report.refuted:
        raise Mismatch(f"{REFUTED}: {proof.obligation.statement} {proof.outcome}")
    found = Counter({PROVEN: len(report.proven), UNKNOWN: len(report.unknown)})
    return found + Counter({CASES_PROVEN: int(not report.unknown)})


def run_code(
    oracle: Oracle,
    verdict: CheckedSchedule,
    run: Callable[..., Outputs],
    sizes: Sequence[int] | None = None,
) -> Counter[str]:
    """Compiled code at all sizes, or at some: it computes the reference, or refuses a size that the
    verdict's size conditions do not allow.
    """
    runs: Counter[str] = Counter()
    subject = oracle.subject
    for size in _sizes(subject) if sizes is None else sizes:
        if not _is_storable(oracle, verdict, size):
            runs["too large"] += 1
            continue
        try:
            outputs = run(subject.images, sizes=subject.sizes(size))
        except SizeError as error:
            if _size_conditions_hold(oracle, verdict, size):
                raise Mismatch(f"size {size} is refused, but legal: {error}") from error
            runs["refused"] += 1
            continue
        except TooLong:
            continue
        except (Rubbish, Trouble) as found:
            raise Mismatch(f"size {size}: {found}") from found
        allowed = tolerances(verdict, subject, size)
        for name, wanted in oracle.expected(size).items():
            if not is_close(outputs[name], wanted, allowed[name]):
                raise Mismatch(_difference(name, size, outputs[name], wanted))
        runs["ran"] += 1
    return runs


def _sizes(subject: Subject) -> tuple[int, ...]:
    """The sizes that differ."""
    every = (EXACT, ODD, LARGE)
    return tuple(i for i in every if subject.outputs[i] not in subject.outputs[:i])


def accepted(oracle: Oracle, verdict: CheckedSchedule) -> int | None:
    """The first small size that meets the verdict's size conditions."""
    small = (s for s in (EXACT, ODD) if _is_storable(oracle, verdict, s))
    return next((s for s in small if _size_conditions_hold(oracle, verdict, s)), None)


def _is_storable(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    """Whether its arrays fit memory: an update that writes at 0 of what begins at 2^28 needs all
    between.
    """
    nest = verdict.at(_whole_values(oracle, size)).nest
    return stored_elements(nest, _whole_values(oracle, size)) <= MOST_STORED


def _whole_values(oracle: Oracle, size: int) -> dict[str, int]:
    return {n: v for n, v in oracle.values(size).items() if isinstance(v, int)}


def _size_conditions_hold(oracle: Oracle, verdict: CheckedSchedule, size: int) -> bool:
    values = _whole_values(oracle, size)
    return all(number(r.condition, values) for r in verdict.size_conditions)


def _difference(name: str, size: int, found: NDArray[Any], wanted: NDArray[Any]) -> str:
    places = np.argwhere((found != wanted) & ((found == found) | (wanted == wanted)))
    first = tuple(int(i) for i in places[0])
    return (
        f"{name} at size {size} differs in {len(places)} of {wanted.size} values, first at "
        f"[{', '.join(map(str, first))}]: {found[first]}, not {wanted[first]}"
    )
